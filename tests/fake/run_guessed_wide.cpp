/* solve.cu: after run_deer_wide.cpp. */
#define VARIANT   guessed_wide
#define REAL_BITS 64
#define M         33
#define N         2
#define L         8
#define K         0
#define CLIPPED   0
#define NEWTON    0
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "run_solve.h"
