/* update.cu: a W of two factors, inputs. */
#define VARIANT   update_rich
#define RANK      2
#include "shape_rich.h"

#include "run_update.h"
