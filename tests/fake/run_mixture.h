/* run_mixture.h - mixture.cu in D dimensions for the VARIANT (a name) that the including file defines. */
#include "variant.h"

#define near_sums JOIN(near_sums, VARIANT)
#define far_sums  JOIN(far_sums, VARIANT)

#include "emulate.h"

namespace
{ /* inline functions of several variants have the same names */
#include "../../src/engine/cuda/kernels/mixture.cu"
}

EMULATE("mixture.cu", "-DD=" TEXT(D), near_sums, "near_sums")
EMULATE("mixture.cu", "-DD=" TEXT(D), far_sums, "far_sums")
