/* orbit.cu for a small model with inputs: tangent vectors. */
#define VARIANT small_tangents
#define M 3
#define N 2
#define L 8
#define K 1
#define THREADS 32
#define COUNT 3
#define CLIPPED 1
#define DRIVEN 0
#define PARTS 8
#include "run_orbit.h"
