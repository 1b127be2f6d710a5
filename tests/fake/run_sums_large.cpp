/* sums.cu: after run_solve_large.cpp; more small sums than a warp has at a time. */
#define VARIANT   sums_large
#include "shape_large.h"

#include "run_sums.h"
