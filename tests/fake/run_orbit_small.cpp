/* Kernels of orbit.cu for a small model. */
#include "emulate.h"

#define M        3
#define N        2
#define L        8
#define K        1
#define CLIPPED  1
#define THREADS  32
#define PARTS    8
#define COUNT    3
#define orbits   orbits_small
#define tangents tangents_small
#include "../../src/engine/cuda/kernels/orbit.cu"

#define OPTIONS "-DM=3 -DN=2 -DL=8 -DK=1 -DCLIPPED=1 -DTHREADS=32 -DPARTS=8 -DCOUNT=3"
EMULATE("orbit.cu", OPTIONS, orbits, "orbits")
EMULATE("orbit.cu", OPTIONS, tangents, "tangents")
