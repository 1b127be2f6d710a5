/* solve.cu: after run_deer_rich.cpp. */
#define VARIANT   guessed_rich
#define REAL_BITS 64
#define M         2
#define N         3
#define L         6
#define K         1
#define CLIPPED   1
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "run_solve.h"
