/* mamba2.cu: 7,038 parameters, in float. */
#define VARIANT 7k_float
#define REAL_BITS 32
#define M 16
#define N 6
#define L 128
#define K 0
#define COLUMNS 64
#define LEARN_THREADS 768
#include "run_mamba2.h"
