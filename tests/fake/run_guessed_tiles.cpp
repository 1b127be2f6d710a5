/* solve.cu: after run_deer_tiles.cpp and run_deer_scattered.cpp. */
#define VARIANT   guessed_tiles
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_tiles.h"

#include "run_solve.h"
