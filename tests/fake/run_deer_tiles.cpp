/* deer.cu: several words of hidden units, inputs, clipped. */
#define VARIANT   deer_tiles
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define DIAGONAL  0
#include "run_deer.h"
