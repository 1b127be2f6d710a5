/* solve.cu: in stretches, with so many latent units that tiles are large and hidden units are kept for the sums. */
#define VARIANT   solve_large
#define REAL_BITS 64
#define M         18
#define N         9
#define L         70
#define K         0
#define CLIPPED   0
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "run_solve.h"
