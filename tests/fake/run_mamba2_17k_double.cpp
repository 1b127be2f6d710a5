/* mamba2.cu: 16,830 parameters, in double. */
#define VARIANT 17k_double
#define REAL_BITS 64
#define M 32
#define N 6
#define L 128
#define K 0
#define COLUMNS 32
#define LEARN_THREADS 768
#include "run_mamba2.h"
