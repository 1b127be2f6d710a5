/* solve.cu: after run_deer_single.cpp. */
#define VARIANT   guessed_single
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_single.h"

#include "run_solve.h"
