/* Kernels of mixture.cu in 30 dimensions. */
#define D         30
#define near_sums near_sums_30
#define far_sums  far_sums_30
#include "emulate.h"

#include "../../src/engine/cuda/kernels/mixture.cu"

EMULATE("mixture.cu", "-DD=30", near_sums, "near_sums")
EMULATE("mixture.cu", "-DD=30", far_sums, "far_sums")
