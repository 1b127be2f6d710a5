/* update.cu: for run_solve_tensor.cpp. */
#define REAL_BITS 32
#define M 11
#define N 2
#define L 40
#define K 1
#define CLIPPED 1
#define RANK 0
#define LEARN_THREADS 256
#define prepare       prepare_tensor
#define update        update_tensor
#define learn_problem learn_problem_tensor
#define update_facts  update_facts_tensor
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/update.cu"

#define OPTIONS "-DREAL_BITS=32 -DM=11 -DN=2 -DL=40 -DK=1 -DCLIPPED=1 -DRANK=0 -DLEARN_THREADS=256"
EMULATE("update.cu", OPTIONS, prepare, "prepare")
EMULATE("update.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("update.cu", OPTIONS, update_facts, "update_facts")
