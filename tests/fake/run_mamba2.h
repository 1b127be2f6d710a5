/*
 * run_mamba2.h - the kernels of mamba2.cu in one variant: VARIANT names it, and the macros of the host are
 * set.
 */
#include "emulate_dynamic.h"

#define JOIN_NAMES(a, b)  a##_##b
#define NAME_OF(a, b)     JOIN_NAMES(a, b)
#define TEXT_OF(...)      #__VA_ARGS__
#define VALUE_OF(macro)   TEXT_OF(macro)
#define fill_gaps         NAME_OF(fill_gaps, VARIANT)
#define forward_segments  NAME_OF(forward_segments, VARIANT)
#define scan              NAME_OF(scan, VARIANT)
#define readout_segments  NAME_OF(readout_segments, VARIANT)
#define backward_segments NAME_OF(backward_segments, VARIANT)
#define reduce_blocks     NAME_OF(reduce_blocks, VARIANT)
#define prepare           NAME_OF(prepare, VARIANT)
#define update            NAME_OF(update, VARIANT)
#define mamba2_args       NAME_OF(args, VARIANT)
#define update_args       NAME_OF(update_args, VARIANT)
#define mamba2_facts      NAME_OF(facts, VARIANT)
#define update_facts      NAME_OF(update_facts, VARIANT)
#define CLIPPED           0
#define SHARED_LIMIT      232448
namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/mamba2.cu"
}

#if GAPS
#define LACKS " -DGAPS=1"
#else
#define LACKS ""
#endif
#define OPTIONS                                                                                              \
    "-DREAL_BITS=" VALUE_OF(REAL_BITS) " -DM=" VALUE_OF(M) " -DN=" VALUE_OF(N) " -DL=" VALUE_OF(             \
        L) " -DK=" VALUE_OF(K) " -DCLIPPED=0 -DCOLUMNS=" VALUE_OF(COLUMNS) " -DSHARED_LIMIT=232448 "         \
                                                                           "-DUPDATE_THREADS=" VALUE_OF(     \
                                                                               UPDATE_THREADS) LACKS
#if GAPS
EMULATE("mamba2.cu", OPTIONS, fill_gaps, "fill_gaps")
#endif
EMULATE("mamba2.cu", OPTIONS, forward_segments, "forward_segments")
EMULATE("mamba2.cu", OPTIONS, scan, "scan")
EMULATE("mamba2.cu", OPTIONS, readout_segments, "readout_segments")
EMULATE("mamba2.cu", OPTIONS, backward_segments, "backward_segments")
EMULATE("mamba2.cu", OPTIONS, reduce_blocks, "reduce_blocks")
EMULATE("mamba2.cu", OPTIONS, prepare, "prepare")
EMULATE("mamba2.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("mamba2.cu", OPTIONS, mamba2_facts, "mamba2_facts")
EMULATE_VARIABLE("mamba2.cu", OPTIONS, update_facts, "update_facts")
