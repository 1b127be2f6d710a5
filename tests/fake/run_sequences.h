/* run_sequences.h - sequences.cu for the sizes, WARPS and the VARIANT (a name) that the including file
 * defines. */
#include "variant.h"

#define solve       JOIN(solve, VARIANT)
#define solve_args  JOIN(solve_args, VARIANT)
#define solve_facts JOIN(solve_facts, VARIANT)

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
static const char options[] = SHAPE " -DCLIPPED=" TEXT(CLIPPED) " -DWARPS=" TEXT(WARPS) FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/sequences.cu"
}

EMULATE("sequences.cu", options, solve, "solve")
EMULATE_VARIABLE("sequences.cu", options, solve_facts, "solve_facts")
