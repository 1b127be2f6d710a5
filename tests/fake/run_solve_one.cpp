/* solve.cu: one latent unit, without stretches. */
#define VARIANT   solve_one
#define WARPS     4
#define NEWTON    0
#define CHUNKED   0
#include "shape_one.h"

#include "run_solve.h"
