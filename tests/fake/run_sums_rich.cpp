/* sums.cu: after run_solve_rich.cpp. */
#define VARIANT   sums_rich
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
#include "run_sums.h"
