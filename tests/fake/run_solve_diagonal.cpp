/* solve.cu: more latent units than a warp has lanes: stretches that are joined with diagonals. */
#define VARIANT   solve_diagonal
#define WARPS     8
#define NEWTON    0
#define CHUNKED   1
#include "shape_wide.h"

#include "run_solve.h"
