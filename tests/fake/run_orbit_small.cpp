/* orbit.cu for a small model with inputs: orbits. */
#define VARIANT small
#define M 3
#define N 2
#define L 8
#define K 1
#define THREADS 32
#define COUNT 0
#define CLIPPED 1
#define DRIVEN 0
#define PARTS 8
#include "run_orbit.h"
