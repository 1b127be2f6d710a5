/* solve.cu: in stretches, in single precision. */
#define REAL_BITS 32
#define M 3
#define N 2
#define L 8
#define K 0
#define CLIPPED 0
#define WARPS 8
#define NEWTON 1
#define CHUNKED 1
#define solve         solve_single
#define solve_problem solve_problem_single
#define solve_facts   solve_facts_single
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=32 -DM=3 -DN=2 -DL=8 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
