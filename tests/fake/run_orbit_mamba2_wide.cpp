/* mamba2_orbit.cu: the width of the Mamba-2-17k, more vectors than warps: orbits. */
#define VARIANT mamba2_wide
#define MAMBA2
#define M 32
#define N 2
#define L 20
#define K 0
#define THREADS 256
#define COUNT 0
#include "run_orbit.h"
