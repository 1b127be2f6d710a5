/* solve.cu: one latent unit, without stretches. */
#define REAL_BITS 64
#define M 1
#define N 1
#define L 3
#define K 0
#define CLIPPED 0
#define WARPS 4
#define NEWTON 0
#define CHUNKED 0
#define solve         solve_one
#define solve_problem solve_problem_one
#define solve_facts   solve_facts_one
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=1 -DN=1 -DL=3 -DK=0 -DCLIPPED=0 -DWARPS=4 -DNEWTON=0 -DCHUNKED=0"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
