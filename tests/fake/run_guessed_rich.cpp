/* solve.cu: after run_deer_rich.cpp. */
#define VARIANT   guessed_rich
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_rich.h"

#include "run_solve.h"
