/* solve.cu: in stretches, with so many latent units that tiles are large and hidden units are kept for the sums. */
#define VARIANT   solve_large
#define WARPS     4
#define NEWTON    1
#define CHUNKED   1
#include "shape_large.h"

#include "run_solve.h"
