/* mamba2_orbit.cu: the smallest width, one observation: tangent vectors. */
#define VARIANT mamba2_tiny_tangents
#define MAMBA2
#define M 4
#define N 1
#define L 9
#define K 0
#define THREADS 512
#define COUNT 7
#include "run_orbit.h"
