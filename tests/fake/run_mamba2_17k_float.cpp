/* mamba2.cu: 16,830 parameters, in float. */
#define VARIANT 17k_float
#define REAL_BITS 32
#define M 32
#define N 6
#define L 128
#define K 0
#define COLUMNS 64
#define LEARN_THREADS 768
#include "run_mamba2.h"
