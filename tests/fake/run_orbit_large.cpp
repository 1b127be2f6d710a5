/* orbit.cu for a large model: orbits. */
#define VARIANT large
#define M 33
#define N 3
#define L 40
#define K 0
#define THREADS 64
#define COUNT 0
#define CLIPPED 0
#define DRIVEN 0
#define PARTS 1
#include "run_orbit.h"
