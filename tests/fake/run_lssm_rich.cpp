/* lssm.cu in float: inputs, hidden units that fill more than one word, fewer latent units than variables. */
#define REAL_BITS 32
#define M 2
#define N 3
#define L 37
#define K 1
#define LEARN_THREADS 256
#define enter         enter_lssm_rich
#define cross         cross_lssm_rich
#define leave         leave_lssm_rich
#define gather        gather_lssm_rich
#define lssm_problem  lssm_problem_rich
#define lssm_facts    lssm_facts_rich
#define prepare       prepare_lssm_rich
#define update        update_lssm_rich
#define learn_problem learn_problem_lssm_rich
#define update_facts  update_facts_lssm_rich
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/lssm.cu"

#define OPTIONS "-DREAL_BITS=32 -DM=2 -DN=3 -DL=37 -DK=1 -DCLIPPED=0 -DLEARN_THREADS=256"
EMULATE("lssm.cu", OPTIONS, enter, "enter")
EMULATE("lssm.cu", OPTIONS, cross, "cross")
EMULATE("lssm.cu", OPTIONS, leave, "leave")
EMULATE("lssm.cu", OPTIONS, gather, "gather")
EMULATE("lssm.cu", OPTIONS, prepare, "prepare")
EMULATE("lssm.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("lssm.cu", OPTIONS, lssm_facts, "lssm_facts")
EMULATE_VARIABLE("lssm.cu", OPTIONS, update_facts, "update_facts")
