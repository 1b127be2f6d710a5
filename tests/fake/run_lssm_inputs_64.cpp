/* lssm.cu for the golden vectors lssm_inputs. */
#define VARIANT   lssm_inputs_64
#define REAL_BITS 64
#define M         5
#define N         2
#define L         9
#define K         3
#include "run_lssm.h"
