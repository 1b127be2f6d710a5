/* update.cu: for run_guessed_one.cpp. */
#define VARIANT   update_one
#define REAL_BITS 64
#define M         1
#define N         1
#define L         3
#define K         0
#define CLIPPED   0
#define RANK      0
#include "run_update.h"
