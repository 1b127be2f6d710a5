/* update.cu: for run_solve_single.cpp. */
#define VARIANT   update_single
#define RANK      0
#include "shape_single.h"

#include "run_update.h"
