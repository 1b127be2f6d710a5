/* orbit.cu for an LSSM of M 3, N 2, L 7: tangent vectors. */
#define VARIANT lssm_tangents
#define M 5
#define N 2
#define L 11
#define K 0
#define THREADS 32
#define COUNT 3
#define CLIPPED 0
#define DRIVEN 0
#define PARTS 4
#include "run_orbit.h"
