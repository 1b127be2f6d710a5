/* update.cu: a full W. */
#define VARIANT   update_plain
#define RANK      0
#include "shape_plain.h"

#include "run_update.h"
