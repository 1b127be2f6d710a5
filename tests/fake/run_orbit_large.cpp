/* Kernels of orbit.cu for a large model. */
#include "emulate.h"

#define M        33
#define N        3
#define L        40
#define K        0
#define CLIPPED  0
#define THREADS  64
#define PARTS    1
#define COUNT    33
#define orbits   orbits_large
#define tangents tangents_large
#include "../../src/engine/cuda/kernels/orbit.cu"

#define OPTIONS "-DM=33 -DN=3 -DL=40 -DK=0 -DCLIPPED=0 -DTHREADS=64 -DPARTS=1 -DCOUNT=33"
EMULATE("orbit.cu", OPTIONS, orbits, "orbits")
EMULATE("orbit.cu", OPTIONS, tangents, "tangents")
