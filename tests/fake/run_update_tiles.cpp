/* update.cu: for run_solve_tiles.cpp; as if neither shared memory nor one warp were enough. */
#define VARIANT   update_tiles
#define RANK      0
#define LEARN_THREADS 704
#define HELD_ROOM 0
#define SIDE_MOST 0
#include "shape_tiles.h"

#include "run_update.h"
