/* solve.cu: for run_solve_small.cpp, with more warps than shared memory is for: nothing but its facts. */
#define VARIANT   solve_too_small
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#define ROOM      101376
#include "shape_large.h"

#include "run_solve.h"
