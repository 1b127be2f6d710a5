// shape.cuh - the shape of a shPLRNN at compile time, its weights and the sums of its gradient as they lie in
// memory.
//
// Macros from the host: M, N, L, K (SPEC 1), CLIPPED (0 or 1).
#ifndef ANT_SHAPE_CUH
#define ANT_SHAPE_CUH

#include "common.cuh"

#define QUADS ((M + 3) / 4)
#define MP    (4 * QUADS)     // latent units, padded to fours
#define UNITS ((L + 31) / 32) // hidden units of one lane
#define LP    (32 * UNITS)    // hidden units, padded
#define LS    (LP + 1)        // and one more, so that quads of different latent units lie in different banks
#define MASKS (UNITS * (1 + CLIPPED))
#define NP    ((N + 3) / 4 * 4)

#define REGISTERS_PER_REAL (REAL_BITS / 32)

// Derived weights of one replica, in reals, made by pack.cuh.  A matrix over (latent, hidden) is kept in two
// orders: towards units as [latent / 4][hidden, of LS][latent % 4], towards rows as [hidden /
// 4][latent][hidden % 4], so that in either product a lane reads four numbers at once and neighbouring lanes
// read neighbouring fours.
#define PACK_V  0                   // V^T towards units
#define PACK_WR (PACK_V + MP * LS)  // W towards rows
#define PACK_W  (PACK_WR + MP * LP) // W towards units: the way back; from registers also forward
#define PACK_VR (PACK_W + MP * LS)  // V^T towards rows
#define PACK_b  (PACK_VR + MP * LP) // (LP)
#define PACK_A1                                                                                              \
    (PACK_b + LP) // (MP) tanh(Abar) - 1: what is near 1 in A would round to few digits of a long memory
#define PACK_h  (PACK_A1 + MP)      // (MP)
#define PACK_Q  (PACK_h + MP)       // (M, MP): B+ B
#define PACK_V1 (PACK_Q + M * MP)   // (V (1 - a B+ B))^T towards units: a = 1
#define PACK_VA (PACK_V1 + MP * LS) // a = alpha
#define PACK_B  (PACK_VA + MP * LS) // (N, MP)
#define PACK_P  (PACK_B + N * MP)   // (N, MP): B+ transposed
#define PACK_C  (PACK_P + N * MP)   // (K, MP): C transposed
#define PACK_1  (PACK_C + K * MP)   // the number one, then padding
#define PACK    (PACK_1 + 4)        // reals of one replica; a multiple of 4

// What sums.cu leaves to update.cu: the sums over time of one replica, in this order, hidden ones padded to
// LP.
#define SUM_W (0)              // (M, LP): sum v phi^T
#define SUM_V (SUM_W + M * LP) // (M, LP): V's gradient, transposed
#define SUM_b (SUM_V + M * LP) // (LP)
#define SUM_A (SUM_b + LP)     // (M): before the derivative of tanh
#define SUM_h (SUM_A + M)      // (M)
#define SUM_C (SUM_h + M)      // (M, K)
#define SUM_B (SUM_C + M * K)  // (N, M): dB less what passes through B+
#define SUM_P (SUM_B + N * M)  // (M, N): dB+
#define SUMS  (SUM_P + M * N)

#endif
