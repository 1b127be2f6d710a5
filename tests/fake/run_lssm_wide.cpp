/* lssm.cu in float: inputs, fewer latent units than variables, hidden units that fill more than one
   word; as if shared memory were not enough for the step. */
#define VARIANT   lssm_wide
#define REAL_BITS 32
#define M         2
#define N         3
#define L         37
#define K         1
#define LEARN_THREADS 320
#define HELD_ROOM 0
#include "run_lssm.h"
