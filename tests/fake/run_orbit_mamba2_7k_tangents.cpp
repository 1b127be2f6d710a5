/* mamba2_orbit.cu: the Mamba-2-7k: tangent vectors. */
#define VARIANT mamba2_7k_tangents
#define MAMBA2
#define M 16
#define N 6
#define L 128
#define K 0
#define THREADS 512
#define COUNT 32
#include "run_orbit.h"
