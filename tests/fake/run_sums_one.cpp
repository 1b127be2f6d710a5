/* sums.cu: after run_solve_one.cpp. */
#define VARIANT   sums_one
#include "shape_one.h"

#include "run_sums.h"
