// mamba2_products.cuh - products of weights and rows of a segment, by a block, and their gradients.
//
// Towards many rows: every warp has its own rows and every lane PER_LANE columns, with the M inputs of these
// in registers, so that a weight is read once for all columns.  Towards M rows: every warp has a part of the
// sum, and the parts are added through shared memory.
// alone: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448
#ifndef ANT_MAMBA2_PRODUCTS_CUH
#define ANT_MAMBA2_PRODUCTS_CUH

#include "mamba2_shape.cuh"

struct alignas(PER_LANE * sizeof(real)) lane_columns {
    real a[PER_LANE];
};

INLINE lane_columns load_columns(const feature_row &row, int lane)
{
    return *reinterpret_cast<const lane_columns *>(row + PER_LANE * lane);
}

INLINE void store_columns(feature_row &row, int lane, const lane_columns &value)
{
    *reinterpret_cast<lane_columns *>(row + PER_LANE * lane) = value;
}

INLINE void load_inputs(const feature_row *rows, int lane, lane_columns (&to)[M])
{
#pragma unroll
    for (int d = 0; d < M; d++)
        to[d] = load_columns(rows[d], lane);
}

// start + w . v for every column of the lane.  w: (M)
INLINE lane_columns dot(const real *w, const lane_columns (&v)[M], real start)
{
    lane_columns sum;
#pragma unroll
    for (int j = 0; j < PER_LANE; j++)
        sum.a[j] = start;
#pragma unroll
    for (int q = 0; q < M / 4; q++) {
        const real4 four = load4(w + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int j = 0; j < PER_LANE; j++)
                sum.a[j] += four.a[k] * v[4 * q + k].a[j];
    }
    return sum;
}

// sum += w value.  w: (M)
INLINE void spread(const real *w, const lane_columns &value, lane_columns (&sum)[M])
{
#pragma unroll
    for (int q = 0; q < M / 4; q++) {
        const real4 four = load4(w + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int j = 0; j < PER_LANE; j++)
                sum[4 * q + k].a[j] += four.a[k] * value.a[j];
    }
}

INLINE void clear(lane_columns (&sum)[M])
{
#pragma unroll
    for (int d = 0; d < M; d++)
#pragma unroll
        for (int j = 0; j < PER_LANE; j++)
            sum[d].a[j] = 0;
}

// Sum over the warps: use(d, sum) on the threads of each column.  scratch: (WARP_SUM_SCRATCH) reals of shared
// memory that are free; half of the rows at a time.
#define WARP_SUM_ROWS    (M / 2)
#define WARP_SUM_STRIDE  (COLUMNS + 8)
#define WARP_SUM_SCRATCH (WARPS * WARP_SUM_ROWS * WARP_SUM_STRIDE)

template <class function>
INLINE void sum_over_warps(const thread_context &at, const lane_columns (&part)[M], real *scratch,
                           const function &use)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < WARP_SUM_ROWS; i++)
            *reinterpret_cast<lane_columns *>(scratch + (at.warp * WARP_SUM_ROWS + i) * WARP_SUM_STRIDE +
                                              PER_LANE * at.lane) = part[half * WARP_SUM_ROWS + i];
        __syncthreads();
        for (int i = at.part; i < WARP_SUM_ROWS; i += 4) {
            real sum = 0;
#pragma unroll
            for (int w = 0; w < WARPS; w++)
                sum += scratch[(w * WARP_SUM_ROWS + i) * WARP_SUM_STRIDE + at.column];
            use(half * WARP_SUM_ROWS + i, sum);
        }
    }
}

// Two lanes `offset` apart add their values: the lower one keeps the first COUNT sums, the upper one the
// others.
template <int COUNT> INLINE void halve(real (&value)[16], int lane, int offset)
{
    const bool upper = (lane & offset) != 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const real low = value[i], high = value[i + COUNT];
        const real other = __shfl_xor_sync(ALL_LANES, upper ? low : high, offset);
        value[i] = (upper ? high : low) + other;
    }
}

// Sixteen sums over the warp at once: lane l gets sum l / 2.
INLINE real sum_sixteen(real (&value)[16], int lane)
{
    halve<8>(value, lane, 16);
    halve<4>(value, lane, 8);
    halve<2>(value, lane, 4);
    halve<1>(value, lane, 2);
    return value[0] + __shfl_xor_sync(ALL_LANES, value[0], 1);
}

INLINE constexpr int share_of_time(int tiles) // threads that share the columns of one tile
{
    int split = 1;
    while (2 * split * tiles <= THREADS && 2 * split <= COLUMNS / 4)
        split *= 2;
    return split;
}

// A gradient: to[r * row_stride + c * col_stride] += sum over columns of a[r] b[c], for rows below `limit`.
struct product {
    const feature_row *a, *b;
    real *to;
    int row_stride, col_stride, limit;
};

// sum (4, 4) = a b^T over every split-th four columns from `share` on, for 4 rows a and 4 rows b.
INLINE void multiply_rows(const real *const (&a)[4], const real *const (&b)[4], int share, int split,
                          real (&sum)[16])
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i] = 0;
#pragma unroll 2
    for (int q = share; q < COLUMNS / 4; q += split) {
        real4 left[4], right[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            left[i] = load4(a[i] + 4 * q);
            right[i] = load4(b[i] + 4 * q);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[4 * i + j] += left[i].a[k] * right[j].a[k];
    }
}

// Add one or two gradients of (ROWS, COLS).  A thread has 4 rows and 4 cols of one of them, and a share of
// the columns; the old values are loaded while it sums.
template <int ROWS, int COLS, int COUNT>
INLINE void add_products(const thread_context &at, const product (&of)[COUNT])
{
    constexpr int row_groups = (ROWS + 3) / 4, col_groups = (COLS + 3) / 4, each = row_groups * col_groups,
                  tiles = COUNT * each;
    constexpr int split = share_of_time(tiles), side = 32 / split,
                  mine = 16 / split; // tiles of a warp, sums of a thread
    const int share = at.lane / side;
    int begin = 0; // index of the first sum that this thread ends up with
#pragma unroll
    for (int step = 1; step < split; step *= 2)
        begin += (at.lane & side * step) != 0 ? 8 / step : 0;
#pragma unroll 1
    for (int base = at.warp * side; base < tiles; base += WARPS * side) {
        const bool active = base + at.lane % side < tiles;
        const int tile = active ? base + at.lane % side : tiles - 1;
        const product job = COUNT > 1 && tile >= each ? of[COUNT - 1] : of[0];
        const int first_row = tile % row_groups, first_col = tile % each / row_groups;
        const real *rows[4], *cols[4];
        real *to[mine], before[mine], sum[16];
#pragma unroll
        for (int i = 0; i < mine; i++) {
            const int r = first_row + (begin + i) / 4 * row_groups,
                      c = first_col + (begin + i) % 4 * col_groups;
            to[i] = active && r < ROWS && r < job.limit && c < COLS
                        ? job.to + r * job.row_stride + c * job.col_stride
                        : nullptr;
            before[i] = to[i] != nullptr ? *to[i] : real(0);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            rows[i] = job.a[first_row + i * row_groups < ROWS ? first_row + i * row_groups : ROWS - 1];
            cols[i] = job.b[first_col + i * col_groups < COLS ? first_col + i * col_groups : COLS - 1];
        }
        multiply_rows(rows, cols, share, split, sum);
        if constexpr (split > 1)
            halve<8>(sum, at.lane, side);
        if constexpr (split > 2)
            halve<4>(sum, at.lane, 2 * side);
        if constexpr (split > 4)
            halve<2>(sum, at.lane, 4 * side);
        if constexpr (split > 8)
            halve<1>(sum, at.lane, 8 * side);
#pragma unroll
        for (int i = 0; i < mine; i++)
            if (to[i] != nullptr)
                *to[i] = before[i] + sum[i];
    }
}

INLINE real warp_total(real a)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        a += __shfl_xor_sync(ALL_LANES, a, offset);
    return a;
}

// to[r] += sum of row r * every over all columns, for rows below `limit`.
template <int ROWS>
INLINE void add_rows(const thread_context &at, const feature_row *rows, int every, int limit, real *to)
{
#pragma unroll 1
    for (int base = at.warp; base < ROWS; base += 4 * WARPS) {
        real sum[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int r = base + i * WARPS < ROWS ? base + i * WARPS : ROWS - 1;
            const lane_columns mine = load_columns(rows[r * every], at.lane);
            sum[i] = mine.a[0];
#pragma unroll
            for (int j = 1; j < PER_LANE; j++)
                sum[i] += mine.a[j];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum[i] = warp_total(sum[i]);
            if (at.lane == i && base + i * WARPS < ROWS && base + i * WARPS < limit)
                to[base + i * WARPS] += sum[i];
        }
    }
}

INLINE void fill_zero(real *to, int count)
{
    for (int i = threadIdx.x; i < count; i += THREADS)
        to[i] = 0;
}

// The first `count` weights of a replica, staged in shared memory where they fit.
template <bool STAGED> INLINE const real *stage_weights(const real *from, real *scratch, int count)
{
    if constexpr (!STAGED)
        return from;
    for (int i = 4 * threadIdx.x; i < count; i += 4 * THREADS)
        store4(scratch + i, load4(from + i));
    __syncthreads();
    return scratch;
}

#endif
