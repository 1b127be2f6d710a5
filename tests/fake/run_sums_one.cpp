/* sums.cu: after run_solve_one.cpp. */
#define VARIANT   sums_one
#define REAL_BITS 64
#define M         1
#define N         1
#define L         3
#define K         0
#define CLIPPED   0
#include "run_sums.h"
