/* update.cu: for run_solve_tiles.cpp; as if neither shared memory nor one warp were enough. */
#define VARIANT   update_tiles
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define RANK      0
#define LEARN_THREADS 704
#define HELD_ROOM 0
#define SIDE_MOST 0
#include "run_update.h"
