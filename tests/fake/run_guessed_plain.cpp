/* solve.cu: after run_deer_plain.cpp and run_deer_diagonal.cpp. */
#define VARIANT   guessed_plain
#define NEWTON    1
#define WARPS     8
#define CHUNKED   1
#define GUESSED   1
#include "shape_plain.h"

#include "run_solve.h"
