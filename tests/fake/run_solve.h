/* run_solve.h - solve.cu for the sizes, WARPS, NEWTON, SEGMENTED and the VARIANT (a name) that the including
 * file defines; with GUESSED it follows deer.cu. */
#include "variant.h"

#define solve       JOIN(solve, VARIANT)
#define solve_args  JOIN(solve_args, VARIANT)
#define solve_facts JOIN(solve_facts, VARIANT)
#ifndef SHARED_LIMIT
#define SHARED_LIMIT 232448 /* as the fake driver says */
#endif
#ifdef GUESSED
#define AFTER " -DGUESSED=1"
#else
#define AFTER ""
#endif

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
#define PLAN  " -DWARPS=" TEXT(WARPS) " -DNEWTON=" TEXT(NEWTON) " -DSEGMENTED=" TEXT(SEGMENTED)
static const char options[] =
    SHAPE " -DCLIPPED=" TEXT(CLIPPED) PLAN " -DSHARED_LIMIT=" TEXT(SHARED_LIMIT) AFTER LACKING FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/solve.cu"
}

EMULATE("solve.cu", options, solve, "solve")
EMULATE_VARIABLE("solve.cu", options, solve_facts, "solve_facts")
