/* solve.cu: fewer latent units than variables, inputs, clipped. */
#define VARIANT   solve_rich
#define WARPS     4
#define NEWTON    0
#define CHUNKED   0
#include "shape_rich.h"

#include "run_solve.h"
