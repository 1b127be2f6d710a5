/* solve.cu: in stretches, with too many latent units for J in registers; inputs, clipped; it goes back often. */
#define VARIANT   solve_tiles
#define HASTY     1
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "run_solve.h"
