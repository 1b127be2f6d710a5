/* update.cu: for run_solve_tensor.cpp. */
#define VARIANT   update_tensor
#define RANK      0
#define LEARN_THREADS 768
#include "shape_tensor.h"

#include "run_update.h"
