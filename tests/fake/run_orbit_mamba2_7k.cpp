/* mamba2_orbit.cu: the Mamba-2-7k: orbits. */
#define VARIANT mamba2_7k
#define MAMBA2
#define M 16
#define N 6
#define L 128
#define K 0
#define THREADS 256
#define COUNT 0
#include "run_orbit.h"
