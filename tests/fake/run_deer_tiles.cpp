/* deer.cu: several words of hidden units, inputs, clipped. */
#define VARIANT   deer_tiles
#define DIAGONAL  0
#include "shape_tiles.h"

#include "run_deer.h"
