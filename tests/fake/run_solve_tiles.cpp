/* solve.cu: in stretches, with too many latent units for J in registers; inputs, clipped; it goes back often. */
#define HASTY     1
#define REAL_BITS 64
#define M 7
#define N 2
#define L 40
#define K 1
#define CLIPPED 1
#define WARPS 8
#define NEWTON 1
#define CHUNKED 1
#define solve         solve_tiles
#define solve_problem solve_problem_tiles
#define solve_facts   solve_facts_tiles
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=7 -DN=2 -DL=40 -DK=1 -DCLIPPED=1 -DWARPS=8 -DNEWTON=1 -DCHUNKED=1"
EMULATE("solve.cu", OPTIONS, solve, "solve")
EMULATE_VARIABLE("solve.cu", OPTIONS, solve_facts, "solve_facts")
