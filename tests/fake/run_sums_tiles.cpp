/* sums.cu: after run_solve_tiles.cpp; as if there were fewer threads than hidden units, and no room for all
 * entries at a time. */
#define VARIANT   sums_tiles
#define THREADS_MOST 32
#define ENTRIES_MOST 1
#include "shape_tiles.h"

#include "run_sums.h"
