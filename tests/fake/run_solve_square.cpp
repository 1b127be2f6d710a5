/* solve.cu: whole sequences, as many latent units as variables. */
#define VARIANT   solve_square
#define REAL_BITS 64
#define M         3
#define N         3
#define L         8
#define K         0
#define CLIPPED   0
#define WARPS     8
#define NEWTON    0
#define CHUNKED   0
#include "run_solve.h"
