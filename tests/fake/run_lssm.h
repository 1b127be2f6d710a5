/* run_lssm.h - lssm.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#ifndef LEARN_THREADS
#define LEARN_THREADS 256
#endif
#define enter         JOIN(enter, VARIANT)
#define cross         JOIN(cross, VARIANT)
#define leave         JOIN(leave, VARIANT)
#define gather        JOIN(gather, VARIANT)
#define prepare       JOIN(prepare, VARIANT)
#define update        JOIN(update, VARIANT)
#define lssm_problem  JOIN(lssm_problem, VARIANT)
#define lssm_facts    JOIN(lssm_facts, VARIANT)
#define learn_problem JOIN(learn_problem, VARIANT)
#define update_facts  JOIN(update_facts, VARIANT)

/* As the fake compiler writes them. */
static const char options[] = "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(
    L) " -DK=" TEXT(K) " -DCLIPPED=0 -DLEARN_THREADS=" TEXT(LEARN_THREADS);

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/lssm.cu"
}

EMULATE("lssm.cu", options, enter, "enter")
EMULATE("lssm.cu", options, cross, "cross")
EMULATE("lssm.cu", options, leave, "leave")
EMULATE("lssm.cu", options, gather, "gather")
EMULATE("lssm.cu", options, prepare, "prepare")
EMULATE("lssm.cu", options, update, "update")
EMULATE_VARIABLE("lssm.cu", options, lssm_facts, "lssm_facts")
EMULATE_VARIABLE("lssm.cu", options, update_facts, "update_facts")
