// learn.cuh - what an update of any kind of model knows: the buffers of all replicas, and a block's sums.
//
// Macros from the host: N, K, REAL_BITS; LEARN_THREADS (of one block, a multiple of 32).  Macros from the kind's file, before it
// includes this: TOTAL (parameters of a replica), WORK (doubles of scratch that its block needs, at least 1), KEPT (doubles
// that a replica keeps from make_weights to the gradient, at least 1).
#ifndef ANT_LEARN_CUH
#define ANT_LEARN_CUH

#include "common.cuh"

#if !defined(LEARN_THREADS) || !defined(N) || !defined(K) || !defined(TOTAL) || !defined(WORK) || !defined(KEPT)
#error "the host and the kind's file give the macros named above"
#endif

#define LEARN_WARPS (LEARN_THREADS / 32)
#define WORK_SHARED (WORK <= 24000) // scratch is in shared memory where it fits, else in p.work

// What happened to a replica; all but RUNNING are final.
enum { RUNNING, LOST_LOSS, LOST_GRADIENT, LOST_MAR, LOST_READOUT, LOST_SINGULAR, LOST_NORM, LOST_PARAMETER };

// Sums since the host last looked, and the last update's facts.
enum { TALLY_UPDATES, TALLY_LOSS, TALLY_MAR, TALLY_READOUT, TALLY_SINGULAR, TALLY_ITERATIONS, TALLY_FALLBACKS, TALLY_LR, TALLY_NORM,
       TALLY = 10 };

struct learn_problem { // mirrored in learner.c
    int T, batch, replicas, trajectories;
    int parity; // which half of `update` counts: the other is written, so that blocks of one launch agree
    int draws;  // 0: the windows were given by the host
    int steps;  // 0: only find the gradient
    int flow, adam, schedule;
    int units, power, initial_scale; // of the regularisers
    int padding;
    unsigned long long seed, updates;
    double noise, beta1, beta2, epsilon, start_lr, end_lr, gradient_clip, limit;
    double mar, readout, singular;
    real *parameters, *good; // (replicas, TOTAL)
    real *gradient, *raw;    // (replicas, TOTAL): with regularisers, and without
    double *m, *v;           // (replicas, TOTAL)
    double *kept;            // (replicas, KEPT)
    double *work;            // (replicas, WORK) unless WORK_SHARED
    real *weights;           // (replicas, ...): what make_weights makes of the parameters; the kind's own
    const double *sums;      // (replicas, ...): what the pass leaves to the gradient where that is not p.raw
    double *facts;           // (replicas, FACTS)
    unsigned *arrived;       // (replicas, MEETING_WORDS)
    unsigned *update;        // (2, replicas): updates done
    int *outcome;            // (replicas, 2): of the enum above, and which parameter
    double *tally;           // (replicas, TALLY)
    const unsigned *runs;    // (replicas): names of their random streams
    const real *x, *s;       // (rows, N), (rows, K): all data
    const unsigned long long *row, *start; // (trajectories), (trajectories + 1): as in train/dataset.h
    real *window_x, *window_s;             // (replicas, batch, T+1, N), (replicas, batch, T, K)
};

struct learn_memory { // shared
    double sum[4][LEARN_WARPS];
    int flag, worst;
    double step[6];
#if WORK_SHARED
    double work[WORK];
#endif
};

// Sums over the block, in fixed order; all threads get them.
template <int COUNT> INLINE void block_sum(learn_memory &memory, double (&value)[COUNT])
{
    __syncthreads();
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        value[k] = warp_sum(value[k]);
        if (threadIdx.x % 32 == 0)
            memory.sum[k][threadIdx.x / 32] = value[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        value[k] = 0;
        for (int w = 0; w < LEARN_WARPS; w++)
            value[k] += memory.sum[k][w];
    }
}

// ---- what regularisers are made of (SPEC 5): |x|^p for p = 1, 2 with its slope, 0 at 0 -------------------------------

INLINE double power_of(double x, int p)
{
    return p == 1 ? fabs(x) : x * x;
}

INLINE double power_slope(double x, int p)
{
    return p == 2 ? 2 * x : (double)(x > 0) - (double)(x < 0);
}

// Terms that belong to a parameter.
struct terms {
    double mar, readout;
};

// scale |x|^p: adds its value to `sum` and returns its slope.
INLINE double penalty(double x, double scale, int p, double &sum)
{
    sum += scale * power_of(x, p);
    return scale * power_slope(x, p);
}

// scale |1 - tanh(x)|^p: what holds a decay near 1.
INLINE double penalty_decay(double x, double scale, int p, double &sum)
{
    const double a = tanh(x);
    sum += scale * power_of(1 - a, p);
    return -scale * power_slope(1 - a, p) * (1 - a * a);
}

// Compiled once: what is called from several places and is not worth the compiler's time in each of them.  For the same
// reason loops over threads are not unrolled: the first update has to come soon.
#define ONCE static __device__ __noinline__

// out (rows, cols) = a b with strides, by the whole block; all threads wait.
ONCE void multiply(int rows, int inner, int cols, const double *a, int a_row, int a_col, const double *b, int b_row, int b_col, double *out)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < rows * cols; i += LEARN_THREADS) {
        const int row = i / cols, col = i % cols;
        double sum = 0;
#pragma unroll 4
        for (int k = 0; k < inner; k++)
            sum += a[row * a_row + k * a_col] * b[k * b_row + col * b_col];
        out[i] = sum;
    }
    __syncthreads();
}

#endif
