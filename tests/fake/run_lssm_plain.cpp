/* lssm.cu in double. */
#define REAL_BITS 64
#define M 3
#define N 2
#define L 8
#define K 0
#define LEARN_THREADS 256
#define enter         enter_lssm_plain
#define cross         cross_lssm_plain
#define leave         leave_lssm_plain
#define gather        gather_lssm_plain
#define lssm_problem  lssm_problem_plain
#define lssm_facts    lssm_facts_plain
#define prepare       prepare_lssm_plain
#define update        update_lssm_plain
#define learn_problem learn_problem_lssm_plain
#define update_facts  update_facts_lssm_plain
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/lssm.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=3 -DN=2 -DL=8 -DK=0 -DCLIPPED=0 -DLEARN_THREADS=256"
EMULATE("lssm.cu", OPTIONS, enter, "enter")
EMULATE("lssm.cu", OPTIONS, cross, "cross")
EMULATE("lssm.cu", OPTIONS, leave, "leave")
EMULATE("lssm.cu", OPTIONS, gather, "gather")
EMULATE("lssm.cu", OPTIONS, prepare, "prepare")
EMULATE("lssm.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("lssm.cu", OPTIONS, lssm_facts, "lssm_facts")
EMULATE_VARIABLE("lssm.cu", OPTIONS, update_facts, "update_facts")
