/* mamba2.cu: an odd shape with inputs, in float. */
#define VARIANT odd_float
#define REAL_BITS 32
#define M 12
#define N 3
#define L 37
#define K 2
#define COLUMNS 64
#define LEARN_THREADS 768
#include "run_mamba2.h"
