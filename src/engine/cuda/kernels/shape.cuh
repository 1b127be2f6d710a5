// shape.cuh - the sizes of a shPLRNN at compile time, and the layout of its packed weights and of the sums of
// its gradient.
//
// Macros from the host: M, N, L, K (spec 1), CLIPPED (0 or 1); FORCING, which strengths a_t there are after
// the warm-up (spec 2, spec 10): FORCING_CONSTANT p.alpha, FORCING_VARIED one for each replica and update, in
// its pack, FORCING_SPARSE 1 at multiples of p.interval, else 0; PATTERNS, 1: rows may lack values (spec 12).
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_SHAPE_CUH
#define ANT_SHAPE_CUH

#include "common.cuh"

#define FORCING_CONSTANT 0
#define FORCING_VARIED   1
#define FORCING_SPARSE   2
#ifndef FORCING
#define FORCING FORCING_CONSTANT
#endif
#ifndef PATTERNS
#define PATTERNS 0
#endif

#define QUADS ((M + 3) / 4)
#define MP    (4 * QUADS)     // latent units, padded to fours
#define UNITS ((L + 31) / 32) // hidden units of one lane
#define LP    (32 * UNITS)    // hidden units, padded
#define LS    (LP + 1)        // and one more, so that quads of different latent units lie in different banks
#define MASKS (UNITS * (1 + CLIPPED))
#define NP    ((N + 3) / 4 * 4)

// Packed weights of one replica, in reals, made by pack.cuh.  A matrix over (latent, hidden) is stored in two
// orders: towards units as [latent / 4][hidden, of LS][latent % 4], towards rows as [hidden /
// 4][latent][hidden % 4].  In either product a lane then reads four numbers at once, and neighbouring lanes
// read neighbouring fours.
#define PACK_V  0                   // V^T towards units
#define PACK_WR (PACK_V + MP * LS)  // W towards rows
#define PACK_W  (PACK_WR + MP * LP) // W towards units: for the backward pass; from registers also forward
#define PACK_VR (PACK_W + MP * LS)  // V^T towards rows
#define PACK_b  (PACK_VR + MP * LP) // (LP)
// (MP) A - 1: A itself would lose digits where it is near 1, as it is with a long memory.
#define PACK_A1 (PACK_b + LP)
#define PACK_h  (PACK_A1 + MP)      // (MP)
#define PACK_Q  (PACK_h + MP)       // (M, MP): B+ B
#define PACK_V1 (PACK_Q + M * MP)   // (V (1 - a B+ B))^T towards units: a = 1
#define PACK_VA (PACK_V1 + MP * LS) // a = alpha
#define PACK_B  (PACK_VA + MP * LS) // (N, MP)
#define PACK_P  (PACK_B + N * MP)   // (N, MP): B+ transposed
#define PACK_C  (PACK_P + N * MP)   // (K, MP): C transposed
#define PACK_1  (PACK_C + K * MP)   // the number one, the strength of forcing where it varies, then padding
#define PACK    (PACK_1 + 4)        // reals of one replica; a multiple of 4

// The weights of one pattern of missing values (spec 12), in reals: B_o are the rows of B that are observed.
// patterns.cu makes them; they stand behind the packs of all replicas.
#define PATTERN_Q    0        // (M, MP): B_o+ B_o
#define PATTERN_P    (M * MP) // (N, MP): B_o+ transposed, zero where a variable is missing
#define PATTERN_SIZE (PATTERN_P + N * MP)

// The sums over time of one replica, in this order, hidden units padded to LP.  sums.cu writes them,
// update.cu reads them.
#define SUM_W (0)              // (M, LP): sum v phi^T
#define SUM_V (SUM_W + M * LP) // (M, LP): V's gradient, transposed
#define SUM_b (SUM_V + M * LP) // (LP)
#define SUM_A (SUM_b + LP)     // (M): with respect to A
#define SUM_h (SUM_A + M)      // (M)
#define SUM_C (SUM_h + M)      // (M, K)
#define SUM_B (SUM_C + M * K)  // (N, M): dB without the part through B+
#define SUM_P (SUM_B + N * M)  // (M, N): dB+
#define SUMS  (SUM_P + M * N)

#endif
