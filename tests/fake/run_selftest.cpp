/* The kernel `scale` of selftest.cu; its barriers between blocks cannot run here, so it is written out. */
#include "emulate.h"

static void scale(float *x, float factor, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] = factor * x[i];
}

EMULATE("selftest.cu", "-DBLOCK=256 -DUSE=1", scale, "scale")
