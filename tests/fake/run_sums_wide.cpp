/* sums.cu: after run_solve_diagonal.cpp and run_guessed_wide.cpp. */
#define VARIANT   sums_wide
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#include "run_sums.h"
