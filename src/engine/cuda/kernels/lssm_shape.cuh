// lssm_shape.cuh - the sizes of an LSSM at compile time, the layout of its parameters and weights, and of a
// tile.
// alone: -DREAL_BITS=32 -DM=5 -DN=3 -DL=50 -DK=2 -DUPDATE_THREADS=256
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
#include "abi.h"
#include "gaps.cuh"
#include "reduce.cuh"
#include "update_args.cuh"

#define THREADS 128 // of a block, except reduce_blocks
#define STEPS   2   // of a thread in readout_segments
#define QUADS   ((M + 3) / 4)
#define MP      (4 * QUADS) // latent units, padded to fours
#define NP      ((N + 3) / 4 * 4)
// A step's latent units in a tile: an odd number of fours, so that steps begin in different banks.
#define ZS (4 * (QUADS | 1))
// Parts of a tile that are scanned side by side.
#define TILE_PARTS (M >= THREADS ? 1 : THREADS / M > 32 ? 32 : THREADS / M)
#define WORDS      ((L + 31) / 32)

// A tile: the steps that a block takes at a time, within TILE_BYTES of shared memory.
#ifndef TILE_BYTES
#define TILE_BYTES (40 * 1024)
#endif
#define STEP_BYTES ((2 * ZS + NP + N + K) * (REAL_BITS / 8) + 4 * WORDS)
#define TILE_FIT   (TILE_BYTES / STEP_BYTES)
#define TILE       (TILE_FIT >= STEPS * THREADS ? STEPS * THREADS : TILE_FIT >= 8 ? TILE_FIT : 8)

// Weights of one replica: for every hidden unit its row of V, its b and its column of B, in fours;
// then the leak 1 - A.
#define UNIT      (4 * ((M + 1 + N + 3) / 4))
#define PACK_LEAK (L * UNIT)
#define PACK      (PACK_LEAK + MP)
#define STAGED    (PACK * (REAL_BITS / 8) <= 48 * 1024)

#endif
