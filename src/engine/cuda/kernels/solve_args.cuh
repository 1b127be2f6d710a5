// solve_args.cuh - what solve.cu, sums.cu and deer.cu are given by the host, and what they keep of every
// moment.
#ifndef ANT_PROBLEM_CUH
#define ANT_PROBLEM_CUH

#include "shape.cuh"

// From 17 latent units on, hidden activity and its adjoint are kept for the gradient; below they are
// recomputed.
#define KEEP_HIDDEN (M > 16)

// What is kept of one moment t.
#define AT_Z      0  // z_t
#define AT_FORCED MP // z~_t
#define AT_TEACHER                                                                                           \
    (2 * MP) // z-bar_t; later the direct part of v_{t+1}, so that a stretch writes where it alone has read
#define AT_V     (3 * MP)      // dloss / dz_t
#define AT_GUESS AT_V          // before that, z_t as deer.cu found it
#define AT_W     (4 * MP)      // dloss / dz~_t
#define AT_E     (5 * MP)      // x_t - B z_t
#define AT_Y     (5 * MP + NP) // dloss / de_t
#define ROW      (5 * MP + 2 * NP)

struct solve_args {                 // mirrored in solve_args.h
    int T, batch, warmup, segments; // chunks: stretches of one sequence
    int blocks;                     // of one team
    int max_iterations;
    int flow; // teacher: 1 flow, 0 stop
    int replicas;
    int group;  // blocks of a group of the team
    int staged; // 1: one record and those of a group and of all groups fit into shared memory behind the rest
    int sum_blocks; // blocks of the team of sums.cu
    int fallback;   // passes after max_iterations, in which ends are handed on as they are
    real alpha, tolerance;
    real freeze;                // jump below which border matrices are not renewed
    double weight;              // 2 / (N (T - T_w) batch)
    const real *pack;           // (replicas, PACK)
    const real *x;              // (replicas, batch, T+1, N)
    const real *s;              // (replicas, batch, T, K)
    real *rows;                 // (replicas, batch, T+1, ROW)
    unsigned *masks;            // (replicas, batch, T, MASKS)
    real *hidden, *delta;       // (replicas, batch, T, LP), when KEEP_HIDDEN: phi, and dloss/dphi
    real *records;              // (replicas, 4 blocks, RECORD)
    unsigned long long *starts; // (replicas, 2, blocks, M, WORDS), zero between launches
    real *partial;              // (replicas, parts, SUMS)
    double *squares;            // (replicas, blocks)
    double *sums;               // (replicas, SUMS)
    unsigned *arrived;          // (replicas, BARRIER_WORDS), zero at launch: the barrier's count, then gaps
    double *facts; // (replicas, FACTS): iterations, jump, rounds back, jump back, converged, loss
};

struct forcing { // a_t of SPEC 2
    int warmup;
    real alpha;
    __device__ __forceinline__ real at(int t) const
    {
        return t == 0 ? real(0) : t <= warmup ? real(1) : alpha;
    }
};

INLINE real strength(const solve_args &p, int t)
{
    return forcing{p.warmup, p.alpha}.at(t);
}

#endif
