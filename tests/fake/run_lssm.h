/* run_lssm.h - lssm.cu for the sizes and the VARIANT (a name) that the including file defines. */
#include "variant.h"

#ifndef UPDATE_THREADS
#define UPDATE_THREADS 256
#endif
#define fill_gaps         JOIN(fill_gaps, VARIANT)
#define forward_segments  JOIN(forward_segments, VARIANT)
#define readout_segments  JOIN(readout_segments, VARIANT)
#define backward_segments JOIN(backward_segments, VARIANT)
#define reduce_blocks     JOIN(reduce_blocks, VARIANT)
#define prepare           JOIN(prepare, VARIANT)
#define update            JOIN(update, VARIANT)
#define lssm_args         JOIN(lssm_args, VARIANT)
#define lssm_facts        JOIN(lssm_facts, VARIANT)
#define update_args       JOIN(update_args, VARIANT)
#define update_facts      JOIN(update_facts, VARIANT)

#ifdef GAPS
#define LACKS " -DGAPS=" TEXT(GAPS)
#else
#define LACKS ""
#endif

/* As the fake compiler writes them. */
static const char options[] = "-DREAL_BITS=" TEXT(REAL_BITS) " -DM=" TEXT(M) " -DN=" TEXT(N) " -DL=" TEXT(
    L) " -DK=" TEXT(K) " -DCLIPPED=0 -DUPDATE_THREADS=" TEXT(UPDATE_THREADS) LACKS;

#include "emulate_dynamic.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/lssm.cu"
}

#if GAPS
EMULATE("lssm.cu", options, fill_gaps, "fill_gaps")
#endif
EMULATE("lssm.cu", options, forward_segments, "forward_segments")
EMULATE("lssm.cu", options, readout_segments, "readout_segments")
EMULATE("lssm.cu", options, backward_segments, "backward_segments")
EMULATE("lssm.cu", options, reduce_blocks, "reduce_blocks")
EMULATE("lssm.cu", options, prepare, "prepare")
EMULATE("lssm.cu", options, update, "update")
EMULATE_VARIABLE("lssm.cu", options, lssm_facts, "lssm_facts")
EMULATE_VARIABLE("lssm.cu", options, update_facts, "update_facts")
