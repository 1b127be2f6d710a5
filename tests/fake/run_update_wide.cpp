/* update.cu: for run_solve_diagonal.cpp and run_guessed_wide.cpp. */
#define VARIANT   update_wide
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define RANK      0
#define LEARN_THREADS 736
#include "run_update.h"
