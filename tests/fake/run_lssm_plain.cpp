/* lssm.cu in double. */
#define VARIANT   lssm_plain
#define REAL_BITS 64
#define M         3
#define N         2
#define L         8
#define K         0
#include "run_lssm.h"
