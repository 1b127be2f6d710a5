/* sums.cu: after run_solve_rich.cpp. */
#define VARIANT   sums_rich
#include "shape_rich.h"

#include "run_sums.h"
