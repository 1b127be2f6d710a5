/* run_update.h - update.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#ifndef UPDATE_THREADS
#define UPDATE_THREADS 256
#endif
#define prepare      JOIN(prepare, VARIANT)
#define update       JOIN(update, VARIANT)
#define update_args  JOIN(update_args, VARIANT)
#define update_facts JOIN(update_facts, VARIANT)

/* As the fake compiler writes them. */
static const char options[] =
    "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(L) " -DK=" TEXT(
        K) " -DCLIPPED=" TEXT(CLIPPED) " -DRANK=" TEXT(RANK) " -DUPDATE_THREADS=" TEXT(UPDATE_THREADS) FORCED;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/update.cu"
}

EMULATE("update.cu", options, prepare, "prepare")
EMULATE("update.cu", options, update, "update")
EMULATE_VARIABLE("update.cu", options, update_facts, "update_facts")
