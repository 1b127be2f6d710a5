/* mamba2.cu: a narrow one with inputs, in double. */
#define VARIANT small_double
#define REAL_BITS 64
#define M 4
#define N 1
#define L 5
#define K 1
#define COLUMNS 32
#define LEARN_THREADS 640
#include "run_mamba2.h"
