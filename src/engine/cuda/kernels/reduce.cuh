// reduce.cuh - sums over the partial results of all blocks of a replica, in double and in fixed order.
// alone: -DREAL_BITS=32
#ifndef ANT_REDUCE_CUH
#define ANT_REDUCE_CUH

#include "common.cuh"

// The sum of column `column` of from (rows, columns), by a block of WARPS_USED warps: each lane takes one
// column, each warp every WARPS_USED-th row.  Valid on warp 0.  scratch: (WARPS_USED, 32) in shared memory.
template <int WARPS_USED>
INLINE double sum_column(const real *from, int rows, int columns, int column, double (*scratch)[32])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = 0;
    if (column < columns)
#pragma unroll 8
        for (int row = warp; row < rows; row += WARPS_USED)
            sum += (double)__ldcg(from + (size_t)row * columns + column);
    scratch[warp][lane] = sum;
    __syncthreads();
    if (warp == 0)
        for (int other = 1; other < WARPS_USED; other++)
            sum += scratch[other][lane];
    return sum;
}

// The sum of `count` doubles, by one warp; valid on all lanes.
INLINE double sum_list(const double *from, int count)
{
    double sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < count; i += 32)
        sum += __ldcg(from + i);
    return warp_sum(sum);
}

#endif
