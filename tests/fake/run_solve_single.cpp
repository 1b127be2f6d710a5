/* solve.cu: in stretches, in single precision. */
#define VARIANT   solve_single
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "shape_single.h"

#include "run_solve.h"
