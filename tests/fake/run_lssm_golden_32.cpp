/* lssm.cu for the golden vectors lssm. */
#define VARIANT   lssm_golden_32
#define REAL_BITS 32
#define M         6
#define N         3
#define L         16
#define K         0
#include "run_lssm.h"
