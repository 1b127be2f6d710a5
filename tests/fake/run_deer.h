/* run_deer.h - deer.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#define deer       JOIN(deer, VARIANT)
#define deer_args  JOIN(deer_args, VARIANT)
#define deer_facts JOIN(deer_facts, VARIANT)
#define solve_args JOIN(solve_args, VARIANT)

#define SHARED_LIMIT 232448 /* as the fake driver says */

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
static const char options[] =
    SHAPE " -DCLIPPED=" TEXT(CLIPPED) " -DDIAGONAL=" TEXT(DIAGONAL) " -DSHARED_LIMIT=" TEXT(SHARED_LIMIT)
        LACKING FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/deer.cu"
}

EMULATE("deer.cu", options, deer, "deer")
EMULATE_VARIABLE("deer.cu", options, deer_facts, "deer_facts")
