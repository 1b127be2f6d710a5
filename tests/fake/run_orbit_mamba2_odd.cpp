/* mamba2_orbit.cu: an odd shape with inputs: orbits. */
#define VARIANT mamba2_odd
#define MAMBA2
#define M 12
#define N 3
#define L 37
#define K 2
#define THREADS 256
#define COUNT 0
#include "run_orbit.h"
