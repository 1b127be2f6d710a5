/* run_guessed.h - solve.cu after deer.cu, for the sizes, NEWTON and the VARIANT (a name) that the including
 * file defines. */
#define JOIN_(a, b)   a##_##b
#define JOIN(a, b)    JOIN_(a, b)
#define TEXT_(a)      #a
#define TEXT(a)       TEXT_(a)
#define WARPS         8
#define CHUNKED       1
#define GUESSED       1
#define solve         JOIN(solve, VARIANT)
#define solve_problem JOIN(solve_problem, VARIANT)
#define solve_facts   JOIN(solve_facts, VARIANT)

/* As the fake compiler writes them. */
static const char options[] =
    "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(
        K) " -DCLIPPED=" TEXT(CLIPPED) " -DWARPS=8 -DNEWTON=" TEXT(NEWTON) " -DCHUNKED=1 -DGUESSED=1";

#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/solve.cu"

EMULATE("solve.cu", options, solve, "solve")
EMULATE_VARIABLE("solve.cu", options, solve_facts, "solve_facts")
