/* Kernels of mixture.cu in 3 dimensions. */
#define D         3
#define near_sums near_sums_3
#define far_sums  far_sums_3
#include "emulate.h"

#include "../../src/engine/cuda/kernels/mixture.cu"

EMULATE("mixture.cu", "-DD=3", near_sums, "near_sums")
EMULATE("mixture.cu", "-DD=3", far_sums, "far_sums")
