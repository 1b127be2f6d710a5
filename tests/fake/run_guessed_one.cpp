/* solve.cu: after run_deer_one.cpp. */
#define VARIANT   guessed_one
#define REAL_BITS 64
#define M         1
#define N         1
#define L         3
#define K         0
#define CLIPPED   0
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "run_solve.h"
