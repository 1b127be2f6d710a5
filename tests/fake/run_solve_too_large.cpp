/* solve.cu: for run_solve_large.cpp, with more warps than shared memory is for: nothing but its facts. */
#define VARIANT   solve_too_large
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "shape_large.h"

#include "run_solve.h"
