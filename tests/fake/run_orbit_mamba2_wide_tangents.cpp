/* mamba2_orbit.cu: the width of the Mamba-2-17k, more vectors than warps: tangent vectors. */
#define VARIANT mamba2_wide_tangents
#define MAMBA2
#define M 32
#define N 2
#define L 20
#define K 0
#define THREADS 512
#define COUNT 20
#include "run_orbit.h"
