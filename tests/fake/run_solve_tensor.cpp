/* solve.cu: in stretches, X by tensor cores; inputs, clipped. */
#define REAL_BITS 32
#define M 11
#define N 2
#define L 40
#define K 1
#define CLIPPED 1
#define WARPS 8
#define NEWTON 1
#define CHUNKED 1
#define solve         solve_tensor
#define solve_problem solve_problem_tensor
#define solve_facts   solve_facts_tensor
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=32 -DM=11 -DN=2 -DL=40 -DK=1 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
