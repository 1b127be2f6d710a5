/*
 * run_mamba2.h - the kernels of mamba2.cu in one variant: VARIANT names it, and the macros of the host are
 * set.
 */
#include "emulate_dynamic.h"

#define JOIN_NAMES(a, b) a##_##b
#define NAME_OF(a, b)    JOIN_NAMES(a, b)
#define TEXT_OF(...)     #__VA_ARGS__
#define VALUE_OF(macro)  TEXT_OF(macro)
#define enter            NAME_OF(enter, VARIANT)
#define scan             NAME_OF(scan, VARIANT)
#define cross            NAME_OF(cross, VARIANT)
#define leave            NAME_OF(leave, VARIANT)
#define gather           NAME_OF(gather, VARIANT)
#define prepare          NAME_OF(prepare, VARIANT)
#define update           NAME_OF(update, VARIANT)
#define mamba2_problem   NAME_OF(problem, VARIANT)
#define learn_problem    NAME_OF(learn_problem, VARIANT)
#define mamba2_facts     NAME_OF(facts, VARIANT)
#define update_facts     NAME_OF(update_facts, VARIANT)
#define CLIPPED          0
#define ROOM             232448
namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/mamba2.cu"
}

#define OPTIONS                                                                                              \
    "-DREAL_BITS=" VALUE_OF(REAL_BITS) " -DM=" VALUE_OF(M) " -DN=" VALUE_OF(N) " -DL=" VALUE_OF(             \
        L) " -DK=" VALUE_OF(K) " -DCLIPPED=0 -DCOLUMNS=" VALUE_OF(COLUMNS) " -DROOM=232448 "                 \
                                                                           "-DLEARN_THREADS=" VALUE_OF(      \
                                                                               LEARN_THREADS)
EMULATE("mamba2.cu", OPTIONS, enter, "enter")
EMULATE("mamba2.cu", OPTIONS, scan, "scan")
EMULATE("mamba2.cu", OPTIONS, cross, "cross")
EMULATE("mamba2.cu", OPTIONS, leave, "leave")
EMULATE("mamba2.cu", OPTIONS, gather, "gather")
EMULATE("mamba2.cu", OPTIONS, prepare, "prepare")
EMULATE("mamba2.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("mamba2.cu", OPTIONS, mamba2_facts, "mamba2_facts")
EMULATE_VARIABLE("mamba2.cu", OPTIONS, update_facts, "update_facts")
