/* solve.cu: more latent units than a warp has lanes: stretches that are joined with diagonals. */
#define VARIANT   solve_diagonal
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define WARPS     8
#define NEWTON    0
#define CHUNKED   1
#include "run_solve.h"
