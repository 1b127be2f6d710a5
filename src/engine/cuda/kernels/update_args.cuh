// update_args.cuh - what the update of every kind of model needs: its shared memory, prefetches, the side
// warp, sums over a block, terms of regularisers.
//
// Macros from the host: N, K, REAL_BITS; UPDATE_THREADS (of one block, a multiple of 32, at least 96).
// Macros that the kind's file defines before it includes this:
//
//     TOTAL            parameters of a replica
//     SCRATCH          doubles of scratch that its block needs, at least 1
//     KEPT             doubles that make_weights stores for the gradient, at least 1
//     PREFETCHED_OWN   doubles of its own that it prefetches into shared memory, at least 1
//     SIDE_WARP        1: the last warp of the block has work of its own, beside all others
// alone: -DREAL_BITS=32 -DN=3 -DK=0 -DUPDATE_THREADS=256 -DTOTAL=10 -DSCRATCH=1 -DKEPT=1 -DPREFETCHED_OWN=1 -DSIDE_WARP=0
#ifndef ANT_UPDATE_ARGS_CUH
#define ANT_UPDATE_ARGS_CUH

#include "abi.h"
#include "common.cuh"

#if !defined(UPDATE_THREADS) || !defined(N) || !defined(K) || !defined(TOTAL) || !defined(SCRATCH) ||        \
    !defined(KEPT) || !defined(PREFETCHED_OWN) || !defined(SIDE_WARP)
#error "the host and the kind's file give the macros named above"
#endif

#define UPDATE_WARPS   (UPDATE_THREADS / 32)
#define SCRATCH_SHARED (SCRATCH <= 24000) // scratch is in shared memory where it fits, else in p.scratch

// One block waits for memory more than it computes.  So all that an update reads is prefetched into shared
// memory at once, where it fits beside the scratch on every GPU; otherwise it is read from global memory.
#ifndef PREFETCH_LIMIT
#define PREFETCH_LIMIT 100000 // bytes
#endif
#define PREFETCHED                                                                                           \
    (8 * (SCRATCH + PREFETCHED_OWN + 2 * TOTAL) + REAL_BITS / 8 * 2 * TOTAL + 2048 <= PREFETCH_LIMIT)

struct update_shared { // of a block
    double sum[4][UPDATE_WARPS];
    double step[5], scale[4];
    int flag, worst, outcome;
    unsigned next; // updates before the one whose weights are made
    double scratch[SCRATCH_SHARED ? SCRATCH : 1];
    double own[PREFETCHED ? PREFETCHED_OWN : 1];
    double m[PREFETCHED ? TOTAL : 1], v[PREFETCHED ? TOTAL : 1];
    real theta[PREFETCHED ? TOTAL : 1], gradient[PREFETCHED ? TOTAL : 1];
};

// Prefetch COUNT numbers: complete after copy_wait and a barrier.
template <int COUNT, class number> INLINE void prefetch(number *to, const number *from)
{
#if PREFETCHED
#pragma unroll
    for (int k = 0; k < (COUNT + UPDATE_THREADS - 1) / UPDATE_THREADS; k++) {
        const int i = threadIdx.x + k * UPDATE_THREADS;
        if ((k + 1) * UPDATE_THREADS <= COUNT || i < COUNT)
            copy_async(to + i, from + i);
    }
#endif
}

// The parameters of a replica: in shared memory where they are prefetched.
INLINE real *block_theta(const update_args &p, int replica, update_shared &memory)
{
    return PREFETCHED ? memory.theta : p.parameters + (size_t)replica * TOTAL;
}

INLINE double *block_scratch(const update_args &p, int replica, update_shared &memory)
{
#if SCRATCH_SHARED
    return memory.scratch;
#else
    return p.scratch + (size_t)replica * SCRATCH;
#endif
}

// ---- the side warp: the last warp of the block or, without SIDE_WARP, all of it ---------------------------

#define SIDE_THREADS (SIDE_WARP ? 32 : UPDATE_THREADS)

INLINE bool in_side_warp()
{
    return !SIDE_WARP || threadIdx.x >= UPDATE_THREADS - 32;
}

INLINE int side_thread()
{
    return SIDE_WARP ? threadIdx.x % 32 : threadIdx.x;
}

INLINE void side_barrier()
{
    if (SIDE_WARP)
        __syncwarp();
    else
        __syncthreads();
}

// ---- sums over the block ----------------------------------------------------------------------------------

// Sums of four values over the block, in fixed order: every warp stores its sums and, after a barrier, one
// warp adds them.  Two exchanges of halves leave each lane with one of the four.
INLINE void store_warp_sums(update_shared &memory, const double (&value)[4])
{
    const int lane = threadIdx.x % 32;
    const bool upper = lane & 16, odd = lane & 8;
    const double first =
        (upper ? value[2] : value[0]) + __shfl_xor_sync(ALL_LANES, upper ? value[0] : value[2], 16);
    const double second =
        (upper ? value[3] : value[1]) + __shfl_xor_sync(ALL_LANES, upper ? value[1] : value[3], 16);
    double sum = (odd ? second : first) + __shfl_xor_sync(ALL_LANES, odd ? first : second, 8);
#pragma unroll
    for (int offset = 4; offset > 0; offset >>= 1)
        sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    if (lane % 8 == 0)
        memory.sum[lane / 8][threadIdx.x / 32] = sum;
}

INLINE void read_sums(const update_shared &memory, double (&value)[4])
{
    const int lane = threadIdx.x % 32;
    double sum = 0;
#pragma unroll
    for (int k = 0; k < UPDATE_WARPS; k += 8)
        sum += k + lane % 8 < UPDATE_WARPS ? memory.sum[lane / 8][k + lane % 8] : 0;
#pragma unroll
    for (int offset = 4; offset > 0; offset >>= 1)
        sum += __shfl_xor_sync(ALL_LANES, sum, offset);
#pragma unroll
    for (int k = 0; k < 4; k++)
        value[k] = __shfl_sync(ALL_LANES, sum, 8 * k);
}

// a . b with strides, as two interleaved sums.
template <int COUNT> INLINE double dot(const double *a, int a_step, const double *b, int b_step)
{
    double even = 0, odd = 0;
#pragma unroll 4
    for (int k = 0; k < COUNT / 2; k++) {
        even += a[2 * k * a_step] * b[2 * k * b_step];
        odd += a[(2 * k + 1) * a_step] * b[(2 * k + 1) * b_step];
    }
    if (COUNT % 2 == 1)
        even += a[(COUNT - 1) * a_step] * b[(COUNT - 1) * b_step];
    return even + odd;
}

// ---- entries that a thread takes one after the other ------------------------------------------------------

// Where nothing is prefetched, a thread loads what several entries need before it uses the first.
#define ENTRIES_AT_ONCE (PREFETCHED ? 1 : 4)

struct share { // of entries: first, first + step, ... below last
    int first, last, step;
};

// use(i, load(i)) for each entry; `load` only reads.
template <class loading, class using_them>
INLINE void for_entries(const share &own, loading load, using_them use)
{
#pragma unroll 1
    for (int i = own.first; i < own.last; i += ENTRIES_AT_ONCE * own.step) {
        decltype(load(0)) value[ENTRIES_AT_ONCE];
#pragma unroll
        for (int k = 0; k < ENTRIES_AT_ONCE; k++)
            value[k] = load(i + k * own.step < own.last ? i + k * own.step : i);
#pragma unroll
        for (int k = 0; k < ENTRIES_AT_ONCE; k++)
            if (i + k * own.step < own.last)
                use(i + k * own.step, value[k]);
    }
}

// ---- the diagonal A from its parameter x (model/decay.h) --------------------------------------------------

INLINE double decay_of(bool is_free, double x)
{
    return is_free ? x : tanh(x);
}

// dA/dx, where A = a.
INLINE double decay_slope(bool is_free, double a)
{
    return is_free ? 1 : 1 - a * a;
}

// ---- terms of regularisers (spec 5): |x|^p for p = 1, 2, and its slope, which is 0 at 0 -------------------

INLINE double power_of(double x, int p)
{
    return p == 1 ? fabs(x) : x * x;
}

INLINE double power_slope(double x, int p)
{
    return p == 2 ? 2 * x : (double)(x > 0) - (double)(x < 0);
}

// Sums of terms over parameters.
struct terms {
    double mar, readout;
};

// scale |x|^p: adds its value to `sum` and returns its slope.
INLINE double penalty(double x, double scale, int p, double &sum)
{
    sum += scale * power_of(x, p);
    return scale * power_slope(x, p);
}

// scale |1 - a|^p: pulls a decay a towards 1.  The slope is with respect to the parameter behind a.
INLINE double penalty_decay(bool is_free, double a, double scale, int p, double &sum)
{
    sum += scale * power_of(1 - a, p);
    return -scale * power_slope(1 - a, p) * decay_slope(is_free, a);
}

// Not inlined: called from several places, where inlining would only cost compile time.  For the same reason
// loops over threads are not unrolled: the first update waits for the compiler.
#define NOINLINE static __device__ __noinline__

#endif
