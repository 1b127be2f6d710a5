/* deer.cu: in single precision. */
#define VARIANT   deer_single
#define DIAGONAL  0
#include "shape_single.h"

#include "run_deer.h"
