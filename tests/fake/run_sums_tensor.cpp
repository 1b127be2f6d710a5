/* sums.cu: after run_solve_tensor.cpp; as if rows were so long that two warps had room for theirs. */
#define VARIANT   sums_tensor
#define LATENT_BYTES 1300
#include "shape_tensor.h"

#include "run_sums.h"
