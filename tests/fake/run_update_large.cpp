/* update.cu: for run_solve_large.cpp. */
#define VARIANT   update_large
#define RANK      0
#define LEARN_THREADS 768
#include "shape_large.h"

#include "run_update.h"
