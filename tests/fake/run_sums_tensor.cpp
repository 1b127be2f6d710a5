/* sums.cu: after run_solve_tensor.cpp. */
#define VARIANT   sums_tensor
#define REAL_BITS 32
#define M         11
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#include "run_sums.h"
