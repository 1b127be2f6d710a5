// gaps.cuh - missing values (spec 12) of the kinds that take in their own prediction: lssm.cu, mamba2.cu.
// alone: -DREAL_BITS=32
#ifndef ANT_GAPS_CUH
#define ANT_GAPS_CUH

#include "common.cuh"

#ifndef GAPS
#define GAPS 0 // 1: x may lack values
#endif

// Missing values are NaN.
INLINE bool is_missing(real x)
{
    return GAPS && x != x;
}

INLINE real or_zero(real x)
{
    return is_missing(x) ? real(0) : x;
}

INLINE real lane_sum(real a)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

// 2 / values: of an error, where the loss is the mean of the squares of all but the lost ones.
INLINE double weight_of_observed(double values, unsigned lost)
{
    return 2.0 / (values - (double)lost);
}

struct sequence_gaps {
    int first;     // row that lacks values, row 0 left out; the number of rows: none does
    unsigned lost; // values that are missing after the warm-up
};

// Copy the rows of a sequence, with 0 for what is missing.  All threads of the block; `found` in shared
// memory becomes what was found.  x, filled: (rows, WIDTH)
template <int WIDTH, int BLOCK>
INLINE void copy_observed(const real *x, int rows, int warmup, real *filled, sequence_gaps &found)
{
    unsigned lost = 0;
    int first = rows;
    if (threadIdx.x == 0)
        found = {rows, 0};
    __syncthreads();
#pragma unroll 8
    for (size_t i = threadIdx.x; i < (size_t)rows * WIDTH; i += BLOCK) {
        const real value = x[i];
        const int row = (int)(i / WIDTH);
        filled[i] = or_zero(value);
        lost += is_missing(value) && row > warmup;
        first = is_missing(value) && row > 0 && row < first ? row : first;
    }
    if (first < rows)
        atomicMin(&found.first, first);
    if (lost > 0)
        atomicAdd(&found.lost, lost);
    __syncthreads();
}

#endif
