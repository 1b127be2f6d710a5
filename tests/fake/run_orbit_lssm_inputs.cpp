/* orbit.cu for an LSSM of M 3, N 2, L 7 with inputs: orbits. */
#define VARIANT lssm_inputs
#define M 5
#define N 2
#define L 11
#define K 2
#define THREADS 32
#define COUNT 0
#define CLIPPED 0
#define DRIVEN 1
#define PARTS 4
#include "run_orbit.h"
