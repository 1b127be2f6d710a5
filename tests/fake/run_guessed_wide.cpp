/* solve.cu: after run_deer_wide.cpp. */
#define VARIANT   guessed_wide
#define NEWTON    0
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_wide.h"

#include "run_solve.h"
