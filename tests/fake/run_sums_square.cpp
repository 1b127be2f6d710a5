/* sums.cu: after run_solve_square.cpp. */
#define VARIANT   sums_square
#include "shape_square.h"

#include "run_sums.h"
