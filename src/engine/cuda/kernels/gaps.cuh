// gaps.cuh - missing values (spec 12) of the kinds that take in their own prediction: lssm.cu, mamba2.cu.
// alone: -DREAL_BITS=32 -DN=3
#ifndef ANT_GAPS_CUH
#define ANT_GAPS_CUH

#include "abi.h"
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

INLINE constexpr int power_of_two_from(int count) // 32 at most
{
    int width = 1;
    while (width < count && width < 32)
        width *= 2;
    return width;
}

// Two lanes `offset` apart add their values: the lower one keeps the first WIDTH / 2 sums, the upper one the
// others; and so on.  Then lane l has sum l / (32 / WIDTH).
template <int WIDTH, int ALL> INLINE real halve_sums(real (&value)[ALL], int lane)
{
    if constexpr (WIDTH == 1) {
        real sum = value[0];
#pragma unroll
        for (int offset = 16 / ALL; offset > 0; offset >>= 1)
            sum += __shfl_xor_sync(ALL_LANES, sum, offset);
        return sum;
    } else {
        constexpr int offset = 16 * WIDTH / ALL;
        const bool upper = (lane & offset) != 0;
#pragma unroll
        for (int i = 0; i < WIDTH / 2; i++) {
            const real low = value[i], high = value[i + WIDTH / 2];
            value[i] = (upper ? high : low) + __shfl_xor_sync(ALL_LANES, upper ? low : high, offset);
        }
        return halve_sums<WIDTH / 2>(value, lane);
    }
}

// to[i] <- the sum of part[i] over the warp.
template <int COUNT> INLINE void store_lane_sums(const real (&part)[COUNT], real *to)
{
    constexpr int width = power_of_two_from(COUNT);
    const int lane = threadIdx.x % 32, own = lane / (32 / width);
#pragma unroll
    for (int base = 0; base < COUNT; base += width) {
        real value[width];
#pragma unroll
        for (int i = 0; i < width; i++)
            value[i] = base + i < COUNT ? part[base + i < COUNT ? base + i : 0] : real(0);
        const real sum = halve_sums<width>(value, lane);
        if (lane % (32 / width) == 0 && base + own < COUNT)
            to[base + own] = sum;
    }
}

// The weight of an error: the loss is the mean of the squares of all values that are observed after the
// warm-up.
template <class pass_args> INLINE double find_weight(const pass_args &p, size_t replica)
{
#if GAPS
    const double values = (double)N * p.batch * (p.T - p.warmup);
    return 2.0 / (values - (double)p.arrived[replica * BARRIER_WORDS + MISSING_WORD]);
#else
    return p.weight;
#endif
}

struct sequence_gaps {
    int first;        // row that lacks values, row 0 left out; the number of rows: none does
    unsigned missing; // values that are missing after the warm-up
};

// Copy the rows of a sequence, with 0 for what is missing.  All threads of the block; `found` in shared
// memory becomes what was found.  x, filled: (rows, WIDTH)
template <int WIDTH, int BLOCK>
INLINE void copy_observed(const real *x, int rows, int warmup, real *filled, sequence_gaps &found)
{
    unsigned missing = 0;
    int first = rows;
    if (threadIdx.x == 0)
        found = {rows, 0};
    __syncthreads();
#pragma unroll 8
    for (size_t i = threadIdx.x; i < (size_t)rows * WIDTH; i += BLOCK) {
        const real value = x[i];
        const int row = (int)(i / WIDTH);
        filled[i] = or_zero(value);
        missing += is_missing(value) && row > warmup;
        first = is_missing(value) && row > 0 && row < first ? row : first;
    }
    if (first < rows)
        atomicMin(&found.first, first);
    if (missing > 0)
        atomicAdd(&found.missing, missing);
    __syncthreads();
}

#endif
