/* Kernels of orbit.cu for the Lyapunov exponents of an LSSM of M 3, N 2, L 7. */
#include "emulate.h"

#define M        5
#define N        2
#define L        11
#define K        0
#define CLIPPED  0
#define THREADS  32
#define PARTS    4
#define COUNT    3
#define orbits   orbits_lssm_tangents
#define tangents tangents_lssm_tangents
#include "../../src/engine/cuda/kernels/orbit.cu"

#define OPTIONS "-DM=5 -DN=2 -DL=11 -DK=0 -DCLIPPED=0 -DTHREADS=32 -DPARTS=4 -DCOUNT=3"
EMULATE("orbit.cu", OPTIONS, orbits, "orbits")
EMULATE("orbit.cu", OPTIONS, tangents, "tangents")
