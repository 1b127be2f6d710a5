/* sums.cu: after run_solve_tensor.cpp; as if rows were so long that two warps had room for theirs. */
#define VARIANT   sums_tensor
#define REAL_BITS 32
#define M         11
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define LATENT_BYTES 1300
#include "run_sums.h"
