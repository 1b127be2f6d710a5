/* update.cu: for run_solve_large.cpp. */
#define VARIANT   update_large
#define REAL_BITS 64
#define M         18
#define N         9
#define L         70
#define K         0
#define CLIPPED   0
#define RANK      0
#define LEARN_THREADS 768
#include "run_update.h"
