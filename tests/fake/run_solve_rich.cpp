/* solve.cu: fewer latent units than variables, inputs, clipped. */
#define VARIANT   solve_rich
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
#define WARPS     4
#define NEWTON    0
#define CHUNKED   0
#include "run_solve.h"
