/* solve.cu: after run_deer_one.cpp. */
#define VARIANT   guessed_one
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_one.h"

#include "run_solve.h"
