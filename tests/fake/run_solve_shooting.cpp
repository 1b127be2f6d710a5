/* solve.cu: the same in stretches. */
#define VARIANT   solve_shooting
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "shape_plain.h"

#include "run_solve.h"
