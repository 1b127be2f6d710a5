// mamba2_shape.cuh - the sizes of a Mamba-2 (spec 1, model/mamba2.h) at compile time, the layout of its
// weights, and how a block divides time.
//
// Macros from the host: REAL_BITS; M (the width D), N, L, K (spec 1); COLUMNS (64 or 32: steps that a block
// has in shared memory, with the halo); SHARED_LIMIT (bytes of shared memory that a block may use);
// UPDATE_THREADS (update_args.cuh); GAPS (gaps.cuh).
//
// Time is cut into segments of STEPS steps.  In shared memory a segment is a set of rows of COLUMNS columns:
// a row per feature, a column per step, and before them HALO steps of the segment before, which the
// convolution needs.  Step t reads x_t and predicts x_{t+1}.
// alone: -DREAL_BITS=32 -DM=16 -DN=6 -DL=128 -DK=0 -DCOLUMNS=64 -DSHARED_LIMIT=232448
#ifndef ANT_MAMBA2_SHAPE_CUH
#define ANT_MAMBA2_SHAPE_CUH

#if !defined(REAL_BITS) || !defined(M) || !defined(N) || !defined(L) || !defined(K)
#error "REAL_BITS, M, N, L or K is not defined"
#endif
#if !defined(COLUMNS) || !defined(SHARED_LIMIT)
#error "COLUMNS or ROOM is not defined"
#endif
#include "abi.h"
#include "common.cuh"
#include "gaps.cuh"
#include "mamba2_sizes.cuh"

#define HALO         4
#define STEPS        (COLUMNS - HALO)
#define WARP_COLUMNS 8 // columns of one warp where a thread works within a column
#define WARPS        (COLUMNS / WARP_COLUMNS)
#define THREADS      (32 * WARPS)
#define STRIDE       (COLUMNS + 4)       // of rows: neighbouring rows begin in different banks
#define PER_LANE     (COLUMNS / 32)      // columns of a lane where a warp works along a row
#define CHANNELS     ((INNER + 31) / 32) // channels of a lane in the recurrence

typedef real feature_row[STRIDE]; // a row of a segment

// Parameters of one replica, in the order of the model's layout.
#define THETA_in_W     0
#define THETA_in_b     (THETA_in_W + M * N)
#define THETA_C        (THETA_in_b + M)
#define THETA_ln_w     (THETA_C + M * K)
#define THETA_ln_b     (THETA_ln_w + M)
#define THETA_proj_in  (THETA_ln_b + M)
#define THETA_conv_W   (THETA_proj_in + PROJ * M)
#define THETA_conv_b   (THETA_conv_W + CONV * TAPS)
#define THETA_dt_bias  (THETA_conv_b + CONV)
#define THETA_A_log    (THETA_dt_bias + HEADS)
#define THETA_skip     (THETA_A_log + HEADS)
#define THETA_norm_w   (THETA_skip + HEADS)
#define THETA_proj_out (THETA_norm_w + INNER)
#define THETA_W1       (THETA_proj_out + M * INNER)
#define THETA_b1       (THETA_W1 + L * M)
#define THETA_W2       (THETA_b1 + L)
#define THETA_b2       (THETA_W2 + M * L)
#define THETA_out_W    (THETA_b2 + M)
#define THETA_out_b    (THETA_out_W + N * M)
#define TOTAL          (THETA_out_b + N)

// The same as the kernels read them: large matrices as rows of M, every part at a multiple of 4.  First what
// the features need, then the rest.
#define FOURS(count)  (((count) + 3) / 4 * 4)
#define PACK_proj_in  0                         // (PROJ, M)
#define PACK_conv_W   (PACK_proj_in + PROJ * M) // (CONV, TAPS)
#define PACK_conv_b   (PACK_conv_W + CONV * TAPS)
#define PACK_in_W     (PACK_conv_b + CONV)       // (M, N)
#define PACK_C        (PACK_in_W + FOURS(M * N)) // (M, K)
#define PACK_in_b     (PACK_C + FOURS(M * K))
#define PACK_ln_w     (PACK_in_b + M)
#define PACK_ln_b     (PACK_ln_w + M)
#define PACK_dt_bias  (PACK_ln_b + M)
#define PACK_A        (PACK_dt_bias + HEADS) // -exp(A_log)
#define PACK_skip     (PACK_A + HEADS)
#define PACK_FEATURES (PACK_skip + HEADS)
#define PACK_proj_out PACK_FEATURES // transposed: (INNER, M)
#define PACK_norm_w   (PACK_proj_out + INNER * M)
#define PACK_W1       (PACK_norm_w + INNER) // (L, M)
#define PACK_W2       (PACK_W1 + L * M)     // transposed: (L, M)
#define PACK_b1       (PACK_W2 + L * M)
#define PACK_b2       (PACK_b1 + FOURS(L))
#define PACK_out_W    (PACK_b2 + M) // (N, M)
#define PACK_out_b    (PACK_out_W + N * M)
#define PACK          (PACK_out_b + FOURS(N))

// What readout_segments stores for backward_segments of every segment: rows of COLUMNS.
#define SLOPE_dy   0           // (INNER)
#define SLOPE_gate INNER       // (INNER): of the gate's rows of q
#define SLOPE_dv   (2 * INNER) // (M)
#define SLOPES     (2 * INNER + M)

// The index of H of channel i and state k.
INLINE int state_at(int i, int k)
{
    return (k / 4 * INNER + i) * 4 + k % 4;
}

INLINE int head_of_state(int element)
{
    return element / 4 % INNER / HEAD;
}

// A segment, and the position of a thread in it.
struct thread_context {
    int warp, lane;
    int column, part; // where a thread works within a column: which column, and which of its 4 threads
    size_t item;      // number of the segment, over all replicas
    size_t sequence;  // counted over all replicas
    int first;        // step of column 0; negative in the halo of a sequence's first segment
};

INLINE thread_context make_thread_context(const mamba2_args &p, int replica, int item)
{
    thread_context at;
    at.warp = threadIdx.x / 32;
    at.lane = threadIdx.x % 32;
    at.column = WARP_COLUMNS * at.warp + at.lane % WARP_COLUMNS;
    at.part = at.lane / WARP_COLUMNS;
    at.item = (size_t)replica * p.batch * p.segments + item;
    at.sequence = (size_t)replica * p.batch + item / p.segments;
    at.first = item % p.segments * STEPS - HALO;
    return at;
}

// Whether a column's step belongs to this segment.
INLINE bool owns(const mamba2_args &p, const thread_context &at, int column)
{
    return column >= HALO && at.first + column < p.T;
}

// Where a thread works within a column, it has rows row_of_part(0), row_of_part(1), ...: four threads then
// use four different groups of banks.
INLINE int row_of_part(const thread_context &at, int i)
{
    return i / 2 * 8 + 2 * at.part + i % 2;
}
#define ROWS_OF_PART(rows) (((rows) + 7) / 8 * 2)

// Sum over the four threads of a column.
INLINE real column_sum(real a)
{
    a += __shfl_xor_sync(ALL_LANES, a, WARP_COLUMNS);
    return a + __shfl_xor_sync(ALL_LANES, a, 2 * WARP_COLUMNS);
}

#if REAL_BITS == 64
INLINE real exp_of(real x)
{
    return exp(x);
}
INLINE real expm1_of(real x)
{
    return expm1(x);
}
INLINE real log1p_of(real x)
{
    return log1p(x);
}
INLINE real root_of(real x)
{
    return sqrt(x);
}
INLINE real inverse_of(real x)
{
    return 1 / x;
}
#else
INLINE real exp_of(real x)
{
    return expf(x);
}
INLINE real expm1_of(real x)
{
    return expm1f(x);
}
INLINE real log1p_of(real x)
{
    return log1pf(x);
}
INLINE real root_of(real x)
{
    return sqrtf(x);
}
INLINE real inverse_of(real x)
{
    return __fdividef(1, x);
} // to 2 units in the last place, without a branch; infinity gives 0
#endif

INLINE real sigmoid(real x)
{
    return inverse_of(1 + exp_of(-x));
}

#endif
