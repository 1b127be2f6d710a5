/* solve.cu: after run_deer_tiles.cpp and run_deer_scattered.cpp. */
#define VARIANT   guessed_tiles
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "run_solve.h"
