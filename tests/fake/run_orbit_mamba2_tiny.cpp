/* mamba2_orbit.cu: the smallest width, one observation: orbits. */
#define VARIANT mamba2_tiny
#define MAMBA2
#define M 4
#define N 1
#define L 9
#define K 0
#define THREADS 256
#define COUNT 0
#include "run_orbit.h"
