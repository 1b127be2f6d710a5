/* sums.cu: after run_solve_square.cpp. */
#define VARIANT   sums_square
#define REAL_BITS 64
#define M         3
#define N         3
#define L         8
#define K         0
#define CLIPPED   0
#include "run_sums.h"
