/* mamba2.cu: 7,038 parameters, in double. */
#define VARIANT 7k_double
#define REAL_BITS 64
#define M 16
#define N 6
#define L 128
#define K 0
#define COLUMNS 32
#define LEARN_THREADS 768
#include "run_mamba2.h"
