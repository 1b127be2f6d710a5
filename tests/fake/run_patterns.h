/* run_patterns.h - patterns.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#define find_patterns JOIN(find_patterns, VARIANT)
#define pattern_args  JOIN(pattern_args, VARIANT)
#define pattern_facts JOIN(pattern_facts, VARIANT)

/* As the fake compiler writes them. */
#define SHAPE "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(K)
static const char options[] = SHAPE " -DCLIPPED=" TEXT(CLIPPED) LACKING FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/patterns.cu"
}

EMULATE("patterns.cu", options, find_patterns, "find_patterns")
EMULATE_VARIABLE("patterns.cu", options, pattern_facts, "pattern_facts")
