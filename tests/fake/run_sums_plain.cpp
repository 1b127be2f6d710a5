/* sums.cu: after run_solve_plain.cpp. */
#define VARIANT   sums_plain
#include "shape_plain.h"

#include "run_sums.h"
