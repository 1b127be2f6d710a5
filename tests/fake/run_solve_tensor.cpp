/* solve.cu: in stretches, X by tensor cores; inputs, clipped. */
#define VARIANT   solve_tensor
#define WARPS     8
#define NEWTON    1
#define CHUNKED   1
#include "shape_tensor.h"

#include "run_solve.h"
