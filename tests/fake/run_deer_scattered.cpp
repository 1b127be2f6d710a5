/* deer.cu: diagonals of a model with inputs, clipped. */
#define VARIANT   deer_scattered
#define DIAGONAL  1
#include "shape_tiles.h"

#include "run_deer.h"
