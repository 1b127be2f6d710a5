/* solve.cu: in stretches, with too many latent units for J in registers; inputs, clipped; it goes back often. */
#define VARIANT   solve_tiles
#define HASTY     1
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "shape_tiles.h"

#include "run_solve.h"
