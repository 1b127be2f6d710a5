/* solve.cu: as run_solve_large.cpp, on a GPU with so little shared memory that the weights stay in global memory. */
#define VARIANT   solve_small
#define WARPS     4
#define NEWTON    1
#define CHUNKED   1
#define ROOM      101376
#include "shape_large.h"

#include "run_solve.h"
