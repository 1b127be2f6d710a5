/* deer.cu: columns that several lanes share, chunks that a whole block works on. */
#define VARIANT   deer_wide
#define DIAGONAL  0
#include "shape_wide.h"

#include "run_deer.h"
