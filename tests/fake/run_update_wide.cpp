/* update.cu: for run_solve_diagonal.cpp and run_guessed_wide.cpp. */
#define VARIANT   update_wide
#define RANK      0
#define LEARN_THREADS 736
#include "shape_wide.h"

#include "run_update.h"
