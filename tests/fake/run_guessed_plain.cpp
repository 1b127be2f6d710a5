/* solve.cu: after run_deer_plain.cpp and run_deer_diagonal.cpp. */
#define VARIANT   guessed_plain
#define REAL_BITS 64
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
