// theta.cuh - a shPLRNN as update.cu needs it: offsets of the parameters, sizes of scratch.
//
// Macros from the host: those of shape.cuh; RANK (of W, 0: full); UPDATE_THREADS (of one block, a multiple of
// 32).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DRANK=0 -DUPDATE_THREADS=544
#ifndef ANT_THETA_CUH
#define ANT_THETA_CUH

#include "shape.cuh"

#ifndef RANK
#error "RANK is not defined"
#endif

// Parameters of one replica, in the order of the model's layout.
#define THETA_ABAR 0
#define THETA_W    M // (M, L); or WL (M, RANK) and WR (RANK, L)
#define THETA_WR   (THETA_W + M * RANK)
#define THETA_V    (THETA_W + (RANK > 0 ? RANK * (M + L) : M * L)) // (L, M)
#define THETA_b    (THETA_V + L * M)
#define THETA_h    (THETA_b + L)
#define THETA_C    (THETA_h + M)     // (M, K)
#define THETA_B    (THETA_C + M * K) // (N, M)
#define TOTAL      (THETA_B + N * M)

#define TALL  (M > N ? M : N)
#define SMALL (M > N ? N : M)

// Scratch, in doubles.
#define SCRATCH_PINV     (2 * N * M + 2 * SMALL * SMALL + SMALL) // pinv.cuh
#define SCRATCH_GRADIENT (N * M + 3 * SMALL * SMALL)             // flow_back
#define PRODUCT_ROWS     (N > M ? M : L)                         // project.cuh: B+ B or V B+
#define PRODUCT_COLUMNS  (N > M ? M : N)
#define SCRATCH_PRODUCT  (PRODUCT_ROWS * PRODUCT_COLUMNS)
#define SCRATCH_LARGER   (SCRATCH_PINV > SCRATCH_GRADIENT ? SCRATCH_PINV : SCRATCH_GRADIENT)
#define SCRATCH                                                                                              \
    (N * M + (SCRATCH_LARGER > SCRATCH_PRODUCT ? SCRATCH_LARGER : SCRATCH_PRODUCT)) // B+ comes first

// One warp multiplies small matrices as fast as a block does, and needs no block barriers.
#ifndef SIDE_WARP_MOST
#define SIDE_WARP_MOST 192 // entries of B, six for a lane
#endif
#define SIDE_WARP (N * M <= SIDE_WARP_MOST)

// p.kept, in doubles: what make_weights stores for the gradient.
#define KEPT_PINV              0       // (M, N): B+
#define KEPT_SINGULAR_GRADIENT (M * N) // (N, M): gradient of the terms on the singular values
#define KEPT_VALUE             (KEPT_SINGULAR_GRADIENT + N * M) // of those terms
#define KEPT_A                 (KEPT_VALUE + 1)                 // (M): A
#define KEPT                   (KEPT_A + M)

#define PREFETCHED_OWN (SUMS + KEPT)

#include "update_args.cuh"

#endif
