/* update.cu: for run_guessed_one.cpp. */
#define VARIANT   update_one
#define RANK      0
#include "shape_one.h"

#include "run_update.h"
