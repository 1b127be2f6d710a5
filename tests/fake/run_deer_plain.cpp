/* deer.cu: as small as it may be. */
#define VARIANT   deer_plain
#define DIAGONAL  0
#include "shape_plain.h"

#include "run_deer.h"
