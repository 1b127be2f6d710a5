/* sums.cu: after run_solve_large.cpp; more small sums than a warp has at a time. */
#define VARIANT   sums_large
#define REAL_BITS 64
#define M         18
#define N         9
#define L         70
#define K         0
#define CLIPPED   0
#include "run_sums.h"
