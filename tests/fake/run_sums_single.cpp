/* sums.cu: after run_solve_single.cpp. */
#define VARIANT   sums_single
#include "shape_single.h"

#include "run_sums.h"
