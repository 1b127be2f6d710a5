/* deer.cu: fewer latent units than variables, inputs, clipped. */
#define VARIANT   deer_rich
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
#define DIAGONAL  0
#include "run_deer.h"
