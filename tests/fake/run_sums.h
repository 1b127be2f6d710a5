/* run_sums.h - sums.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#ifndef THREADS_MOST
#define THREADS_MOST 128 /* seventeen blocks of them run side by side */
#endif
#define sum_gradient JOIN(sum_gradient, VARIANT)
#define solve_args   JOIN(solve_args, VARIANT)
#define sum_facts    JOIN(sum_facts, VARIANT)

/* As the fake compiler writes them. */
static const char options[] = "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(
    L) " -DK=" TEXT(K) " -DCLIPPED=" TEXT(CLIPPED) LACKING FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/sums.cu"
}

EMULATE("sums.cu", options, sum_gradient, "sum_gradient")
EMULATE_VARIABLE("sums.cu", options, sum_facts, "sum_facts")
