/* update.cu: a W of two factors, inputs. */
#define REAL_BITS 64
#define M 2
#define N 3
#define L 6
#define K 1
#define CLIPPED 1
#define RANK 2
#define LEARN_THREADS 256
#define prepare       prepare_rich
#define update        update_rich
#define learn_problem learn_problem_rich
#define update_facts  update_facts_rich
#include "emulate_dynamic.h"

#include "../../src/engine/cuda/kernels/update.cu"

#define OPTIONS "-DREAL_BITS=64 -DM=2 -DN=3 -DL=6 -DK=1 -DCLIPPED=1 -DRANK=2 -DLEARN_THREADS=256"
EMULATE("update.cu", OPTIONS, prepare, "prepare")
EMULATE("update.cu", OPTIONS, update, "update")
EMULATE_VARIABLE("update.cu", OPTIONS, update_facts, "update_facts")
