/* sums.cu: after run_solve_diagonal.cpp and run_guessed_wide.cpp. */
#define VARIANT   sums_wide
#include "shape_wide.h"

#include "run_sums.h"
