/* update.cu: for run_solve_square.cpp. */
#define VARIANT   update_square
#define RANK      0
#include "shape_square.h"

#include "run_update.h"
