/* solve.cu: after run_deer_single.cpp. */
#define VARIANT   guessed_single
#define REAL_BITS 32
#define M         3
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "run_solve.h"
