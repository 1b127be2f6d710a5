/* sums.cu: after run_solve_single.cpp. */
#define VARIANT   sums_single
#define REAL_BITS 32
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#include "run_sums.h"
