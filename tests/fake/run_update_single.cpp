/* update.cu: for run_solve_single.cpp. */
#define REAL_BITS 32
#define M 3
#define N 2
#define L 8
#define K 0
#define CLIPPED 0
#define RANK 0
#define LEARN_THREADS 256
#define prepare       prepare_single
#define update        update_single
#define learn_problem learn_problem_single
#define update_facts  update_facts_single
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/update.cu"

#define OPTIONS "-DREAL_BITS=32 -DM=3 -DN=2 -DL=8 -DK=0 -DCLIPPED=0 -DRANK=0 -DLEARN_THREADS=256"
EMULATE("update.cu", OPTIONS, prepare, "prepare")
EMULATE("update.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("update.cu", OPTIONS, update_facts, "update_facts")
