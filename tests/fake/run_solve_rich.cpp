/* solve.cu: fewer latent units than variables, inputs, clipped. */
#define REAL_BITS 64
#define M 2
#define N 3
#define L 6
#define K 1
#define CLIPPED 1
#define WARPS 4
#define NEWTON 0
#define CHUNKED 0
#define solve         solve_rich
#define solve_problem solve_problem_rich
#define solve_facts   solve_facts_rich
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=2 -DN=3 -DL=6 -DK=1 -DCLIPPED=1 -DWARPS=4 -DNEWTON=0 -DCHUNKED=0"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
