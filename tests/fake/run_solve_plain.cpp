/* solve.cu: more latent units than variables, sequences one by one. */
#define VARIANT   solve_plain
#define WARPS     8
#define NEWTON    0
#define CHUNKED   0
#include "shape_plain.h"

#include "run_solve.h"
