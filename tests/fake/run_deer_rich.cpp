/* deer.cu: fewer latent units than variables, inputs, clipped. */
#define VARIANT   deer_rich
#define DIAGONAL  0
#include "shape_rich.h"

#include "run_deer.h"
