/* deer.cu: in single precision. */
#define VARIANT   deer_single
#define REAL_BITS 32
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define DIAGONAL  0
#include "run_deer.h"
