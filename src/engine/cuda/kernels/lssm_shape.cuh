// lssm_shape.cuh - the sizes of an LSSM at compile time, its parameters and weights, and the problem as the
// host gives it.
#ifndef ANT_LSSM_SHAPE_CUH
#define ANT_LSSM_SHAPE_CUH

// Parameters of one replica, in the order of the model's layout.
#define THETA_ABAR 0
#define THETA_U    M                 // (M, N)
#define THETA_V    (THETA_U + M * N) // (L, M)
#define THETA_b    (THETA_V + L * M)
#define THETA_h    (THETA_b + L)
#define THETA_C    (THETA_h + M)     // (M, K)
#define THETA_B    (THETA_C + M * K) // (N, L)
#define TOTAL      (THETA_B + N * L)

#define SCRATCH        1
#define KEPT           1
#define PREFETCHED_OWN 1
#define SIDE_WARP      0
#include "reduce.cuh"
#include "update_args.cuh"

#define THREADS 128 // of a block, but for `gather`
#define STEPS   2   // of a thread in `cross`
#define QUADS   ((M + 3) / 4)
#define MP      (4 * QUADS) // latent units, padded to fours
#define NP      ((N + 3) / 4 * 4)
#define ZS                                                                                                   \
    (4 * (QUADS |                                                                                            \
          1)) // a step's latent units in a tile: an odd number of fours, which spreads them over the banks
#define TILE_PARTS                                                                                           \
    (M >= THREADS ? 1 : THREADS / M > 32 ? 32 : THREADS / M) // parts of a tile that are scanned side by side
#define WORDS ((L + 31) / 32)

// A tile: as many steps as one block takes at a time, within TILE_BYTES of shared memory.
#define TILE_BYTES (40 * 1024)
#define STEP_BYTES ((2 * ZS + NP + N + K) * (REAL_BITS / 8) + 4 * WORDS)
#define TILE_FIT   (TILE_BYTES / STEP_BYTES)
#define TILE       (TILE_FIT >= STEPS * THREADS ? STEPS * THREADS : TILE_FIT >= 8 ? TILE_FIT : 8)

// Weights of one replica: for every hidden unit its row of V, its b and its column of B, in fours; then 1 -
// A.
#define UNIT      (4 * ((M + 1 + N + 3) / 4))
#define PACK_LEAK (L * UNIT)
#define PACK      (PACK_LEAK + MP)
#define STAGED    (PACK * (REAL_BITS / 8) <= 48 * 1024)

struct lssm_args { // mirrored in lssm_pass.c
    int T, batch, warmup, replicas;
    int chunk, segments; // steps of a chunk, chunks of a sequence
    int workers;         // blocks of one replica
    int padding;
    double weight;                    // of an error: 2 / (N batch (T - warmup))
    const real *parameters, *weights; // (replicas, TOTAL), (replicas, PACK)
    const real *x, *s;                // (replicas, batch, T+1, N), (replicas, batch, T, K)
    real *states;                     // (replicas, batch, T+1, MP): row 0 stays 0
    real *adjoint, *errors;           // (replicas, batch, T, MP), (replicas, batch, T, NP)
    real *ends, *adjoint_ends;        // (replicas, batch, chunks, MP): of the states, and of the adjoint
    real *partial;                    // (replicas, workers, TOTAL)
    double *squares;                  // (replicas, workers)
    real *raw;                        // (replicas, TOTAL)
    double *facts;                    // (replicas, FACTS)
};

#endif
