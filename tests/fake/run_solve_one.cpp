/* solve.cu: one latent unit, without stretches. */
#define VARIANT   solve_one
#define REAL_BITS 64
#define M         1
#define N         1
#define L         3
#define K         0
#define CLIPPED   0
#define WARPS     4
#define NEWTON    0
#define CHUNKED   0
#include "run_solve.h"
