/* run_strength.h - strength.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#define UPDATE_THREADS 128
#define FORCING        1
#define estimate       JOIN(estimate, VARIANT)
#define strength_args  JOIN(strength_args, VARIANT)
#define strength_facts JOIN(strength_facts, VARIANT)

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
#define PLAN  " -DRANK=" TEXT(RANK) " -DUPDATE_THREADS=" TEXT(UPDATE_THREADS) " -DMETHOD=" TEXT(METHOD)
static const char options[] = SHAPE " -DCLIPPED=" TEXT(CLIPPED) PLAN LACKING " -DFORCING=" TEXT(FORCING);

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/strength.cu"
}

EMULATE("strength.cu", options, estimate, "estimate")
EMULATE_VARIABLE("strength.cu", options, strength_facts, "strength_facts")
