/* run_deer.h - deer.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#define deer          JOIN(deer, VARIANT)
#define deer_problem  JOIN(deer_problem, VARIANT)
#define deer_facts    JOIN(deer_facts, VARIANT)
#define solve_problem JOIN(solve_problem, VARIANT)

#define ROOM 232448 /* as the fake driver says */

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
static const char options[] =
    SHAPE " -DCLIPPED=" TEXT(CLIPPED) " -DDIAGONAL=" TEXT(DIAGONAL) " -DROOM=" TEXT(ROOM);

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/deer.cu"
}

EMULATE("deer.cu", options, deer, "deer")
EMULATE_VARIABLE("deer.cu", options, deer_facts, "deer_facts")
