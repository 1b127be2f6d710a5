/* mamba2_orbit.cu: an odd shape with inputs: tangent vectors. */
#define VARIANT mamba2_odd_tangents
#define MAMBA2
#define M 12
#define N 3
#define L 37
#define K 2
#define THREADS 512
#define COUNT 3
#include "run_orbit.h"
