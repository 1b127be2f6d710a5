/* solve.cu: more latent units than a warp has lanes: stretches that are joined with diagonals. */
#define REAL_BITS 64
#define M 33
#define N 2
#define L 8
#define K 0
#define CLIPPED 0
#define WARPS 8
#define NEWTON 0
#define CHUNKED 1
#define solve         solve_diagonal
#define solve_problem solve_problem_diagonal
#define solve_facts   solve_facts_diagonal
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=33 -DN=2 -DL=8 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=0 -DCHUNKED=1"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
