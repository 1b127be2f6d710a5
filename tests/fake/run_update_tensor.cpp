/* update.cu: for run_solve_tensor.cpp. */
#define VARIANT   update_tensor
#define REAL_BITS 32
#define M         11
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define RANK      0
#define LEARN_THREADS 768
#include "run_update.h"
