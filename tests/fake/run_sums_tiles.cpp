/* sums.cu: after run_solve_tiles.cpp; as if there were fewer threads than hidden units, and no room for all
 * entries at a time. */
#define VARIANT   sums_tiles
#define REAL_BITS 64
#define M         7
#define N         2
#define L         40
#define K         1
#define CLIPPED   1
#define THREADS_MOST 32
#define ENTRIES_MOST 1
#include "run_sums.h"
