/* solve.cu: whole sequences, as many latent units as variables. */
#define VARIANT   solve_square
#define WARPS     8
#define NEWTON    0
#define CHUNKED   0
#include "shape_square.h"

#include "run_solve.h"
