// learn.cuh - what an update knows: sizes, places of the parameters, and the buffers of all replicas.
//
// Macros from the host: those of shape.cuh; RANK (of W, 0: full); LEARN_THREADS (of one block, a multiple of 32).
#ifndef ANT_LEARN_CUH
#define ANT_LEARN_CUH

#define WARPS         (LEARN_THREADS / 32)
#define REGISTER_ROOM 0 // no weights in registers here
#include "shape.cuh"

#if !defined(RANK) || !defined(LEARN_THREADS)
#error "RANK and LEARN_THREADS are not defined"
#endif

// Parameters of one replica, in the order of the model's layout.
#define THETA_ABAR  0
#define THETA_W     M // (M, L); or WL (M, RANK) and WR (RANK, L)
#define THETA_WR    (THETA_W + M * RANK)
#define THETA_V     (THETA_W + (RANK > 0 ? RANK * (M + L) : M * L)) // (L, M)
#define THETA_b     (THETA_V + L * M)
#define THETA_h     (THETA_b + L)
#define THETA_C     (THETA_h + M)     // (M, K)
#define THETA_B     (THETA_C + M * K) // (N, M)
#define TOTAL    (THETA_B + N * M)

#define TALL  (M > N ? M : N)
#define SMALL (M > N ? N : M)

// Doubles of scratch, in shared memory where they fit, else in p.work.
#define WORK_PINV     (N * M + TALL * SMALL + SMALL * SMALL + 2 * SMALL) // pinv.cuh
#define WORK_GRADIENT (SMALL * SMALL + 4 * N * M)                        // update.cu
#define WORK_PRODUCT  (L * N)                                            // V B+
#define WORK_LARGER   (WORK_PINV > WORK_GRADIENT ? WORK_PINV : WORK_GRADIENT)
#define WORK          (WORK_LARGER > WORK_PRODUCT ? WORK_LARGER : WORK_PRODUCT)
#define WORK_SHARED   (WORK <= 24000)

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
    double *pinv;            // (replicas, M, N)
    double *pull;            // (replicas, N M + 1): gradient of the singular term, and its value
    double *work;            // (replicas, WORK) unless WORK_SHARED
    real *pack;              // (replicas, PACK)
    const double *sums;      // (replicas, SUMS)
    double *facts;           // (replicas, FACTS)
    unsigned *arrived;       // (replicas)
    unsigned *update;        // (2, replicas): updates done
    int *outcome;            // (replicas, 2): of the enum above, and which parameter
    double *tally;           // (replicas, TALLY)
    const unsigned *runs;    // (replicas): names of their random streams
    const real *x, *s;       // (rows, N), (rows, K): all data
    const unsigned long long *row, *start; // (trajectories), (trajectories + 1): as in train/dataset.h
    real *window_x, *window_s;             // (replicas, batch, T+1, N), (replicas, batch, T, K)
};

struct learn_memory { // shared
    double sum[4][WARPS];
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
        for (int w = 0; w < WARPS; w++)
            value[k] += memory.sum[k][w];
    }
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
