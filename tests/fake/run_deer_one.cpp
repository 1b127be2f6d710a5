/* deer.cu: one latent unit. */
#define VARIANT   deer_one
#define DIAGONAL  0
#include "shape_one.h"

#include "run_deer.h"
