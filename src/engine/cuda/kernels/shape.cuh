// shape.cuh - the shape of a shPLRNN at compile time, and its weights as a warp sees them.
//
// Macros from the host: M, N, L, K (SPEC 1), CLIPPED (0 or 1).  A warp owns a stretch of time.  A product towards hidden
// units gives lane l the units u * 32 + l.  A product towards latent rows gives lane l row l % ROW_LANES and a share of the
// units, so that PARTS lanes add up to a row; for M > 32 it gives lane l the rows l + 32 k.
#ifndef ANT_SHAPE_CUH
#define ANT_SHAPE_CUH

#include "common.cuh"

#define QUADS      ((M + 3) / 4)
#define MP         (4 * QUADS)        // latent units, padded to fours
#define UNITS      ((L + 31) / 32)    // hidden units of one lane
#define LP         (32 * UNITS)       // hidden units, padded
#define LS         (LP + 1)           // and one more, so that quads of different latent units lie in different banks
#define ROW_BLOCKS ((M + 31) / 32)    // latent rows of one lane
#define ROW_LANES  (M > 16 ? 32 : M > 10 ? 16 : M > 8 ? M : M > 4 ? 8 : 4) // lane l has row l % ROW_LANES
#define PARTS      (32 / ROW_LANES)                                      // lanes that share a row
#define PART_QUADS ((LP / 4 + PARTS - 1) / PARTS)                        // hidden units of a share, in fours
#define MASKS      (UNITS * (1 + CLIPPED))
#define NP         ((N + 3) / 4 * 4)

// Derived weights of one replica, in reals, made by prepare.cu.  A matrix over (latent, hidden) is kept in two orders:
// towards units as [latent / 4][hidden, of LS][latent % 4], towards rows as [hidden / 4][latent][hidden % 4], so that in either
// product a lane reads four numbers at once and neighbouring lanes read neighbouring fours.
#define PACK_V  0                      // V^T towards units
#define PACK_WR (PACK_V + MP * LS)     // W towards rows
#define PACK_W  (PACK_WR + MP * LP)    // W towards units: the way back
#define PACK_VR (PACK_W + MP * LS)     // V^T towards rows
#define PACK_VQ (PACK_VR + MP * LP)    // (V B+ B)^T towards units
#define PACK_b  (PACK_VQ + MP * LS)    // (LP)
#define PACK_A  (PACK_b + LP)          // (MP) tanh(Abar)
#define PACK_h  (PACK_A + MP)          // (MP)
#define PACK_Q  (PACK_h + MP)          // (M, MP): B+ B
#define PACK_B  (PACK_Q + M * MP)      // (N, MP)
#define PACK_P  (PACK_B + N * MP)      // (N, MP): B+ transposed
#define PACK_C  (PACK_P + N * MP)      // (K, MP): C transposed
#define PACK_1  (PACK_C + K * MP)      // the number one, then padding
#define PACK    (PACK_1 + 4)           // reals of one replica; a multiple of 4

// What every step reads is copied into shared memory: V and W, and with full border matrices all up to B+ B.
#define STAGE_COUNT (NEWTON ? PACK_B : PACK_VQ)
#define STAGED_PACK (STAGE_COUNT * (REAL_BITS / 8) <= 140 * 1024)

// Weights stay in registers where they fit beside the rest: those towards units and those towards rows.
#ifndef REGISTER_ROOM
#define REGISTER_ROOM (WARPS > 12 ? 48 : 100)
#endif
#define REGISTERS_PER_REAL (REAL_BITS / 32)
#define RESIDENT (M <= 32 && (UNITS * M + 4 * PART_QUADS) * REGISTERS_PER_REAL <= REGISTER_ROOM)

struct unit_weights { // towards the units of one lane
#if RESIDENT
    real w[UNITS][M];
#else
    const real *quads;
#endif
};

struct row_weights { // towards the rows of one lane
#if RESIDENT
    real4 w[PART_QUADS];
#else
    const real *quads;
#endif
};

INLINE void take_unit_weights(unit_weights &to, const real *quads, int lane)
{
#if RESIDENT
#pragma unroll
    for (int q = 0; q < QUADS; q++)
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            const real4 four = load4(quads + 4 * (q * LS + u * 32 + lane));
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * q + k < M)
                    to.w[u][4 * q + k] = four.a[k];
        }
#else
    to.quads = quads + 4 * lane;
#endif
}

INLINE void take_row_weights(row_weights &to, const real *quads, int lane)
{
#if RESIDENT
    const int row = lane % ROW_LANES, first = lane / ROW_LANES * PART_QUADS;
#pragma unroll
    for (int q = 0; q < PART_QUADS; q++)
        to.w[q] = row < M && first + q < LP / 4 ? load4(quads + 4 * ((first + q) * MP + row)) : real4{0, 0, 0, 0};
#else
    to.quads = quads;
#endif
}

INLINE real4 four_weights(const unit_weights &from, int u, int q)
{
#if RESIDENT
    real4 four;
#pragma unroll
    for (int k = 0; k < 4; k++)
        four.a[k] = 4 * q + k < M ? from.w[u][4 * q + k < M ? 4 * q + k : 0] : real(0);
    return four;
#else
    return load4(from.quads + 4 * (q * LS + u * 32));
#endif
}

// out[u] = sum over latent units of weight * vector.  vector: (MP) in shared memory, padded with zeros.
INLINE void to_units(const unit_weights &weights, const real *vector, real (&out)[UNITS])
{
    constexpr int unroll = RESIDENT || QUADS <= 8 ? QUADS : 4;
    real odd[UNITS];
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        out[u] = odd[u] = 0;
#pragma unroll unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 z = load4(vector + 4 * q);
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
            const real4 w = four_weights(weights, u, q);
            out[u] += w.a[0] * z.a[0];
            if (unroll < QUADS || 4 * q + 1 < M)
                odd[u] += w.a[1] * z.a[1];
            if (unroll < QUADS || 4 * q + 2 < M)
                out[u] += w.a[2] * z.a[2];
            if (unroll < QUADS || 4 * q + 3 < M)
                odd[u] += w.a[3] * z.a[3];
        }
    }
#pragma unroll
    for (int u = 0; u < UNITS; u++)
        out[u] += odd[u];
}

INLINE real dot4(const real4 &a, const real4 &b, real sum)
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        sum += a.a[k] * b.a[k];
    return sum;
}

// sum[k] = row of (matrix times units), valid on the lanes that own rows.  units: (LP) in shared memory.
INLINE void to_rows(const row_weights &weights, const real *units, int lane, real (&sum)[ROW_BLOCKS])
{
#if M <= 32
    const int part = lane / ROW_LANES < PARTS ? lane / ROW_LANES : PARTS - 1, first = part * PART_QUADS;
    real even = 0, odd = 0;
#pragma unroll
    for (int q = 0; q < PART_QUADS; q++) {
        const int at = (LP / 4) % PARTS == 0 || first + q < LP / 4 ? first + q : 0; // a share may end early: its weights are zero
#if RESIDENT
        const real4 w = weights.w[q];
#else
        const real4 w = (LP / 4) % PARTS == 0 || first + q < LP / 4 ? load4(weights.quads + 4 * ((first + q) * MP + lane % ROW_LANES % MP)) : real4{0, 0, 0, 0};
#endif
        if (q & 1)
            odd = dot4(w, load4(units + 4 * at), odd);
        else
            even = dot4(w, load4(units + 4 * at), even);
    }
    real total = even + odd;
    if constexpr (32 % ROW_LANES == 0) {
#pragma unroll
        for (int offset = ROW_LANES; offset < 32; offset *= 2)
            total += __shfl_xor_sync(ALL_LANES, total, offset);
    } else { // rows fill the lanes unevenly; what lanes beyond the last share take is of no use
#pragma unroll
        for (int other = 1; other < PARTS; other++)
            total += __shfl_sync(ALL_LANES, even + odd, (lane + other * ROW_LANES) % 32);
    }
    sum[0] = total;
#else
    real odd[ROW_BLOCKS];
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        sum[k] = odd[k] = 0;
#pragma unroll 4
    for (int q = 0; q < LP / 4; q++) {
        const real4 unit = load4(units + 4 * q);
#pragma unroll
        for (int k = 0; k < ROW_BLOCKS; k++) {
            const real4 w = load4(weights.quads + 4 * (q * MP + (lane + 32 * k < MP ? lane + 32 * k : 0)));
            sum[k] += w.a[0] * unit.a[0];
            odd[k] += w.a[1] * unit.a[1];
            sum[k] += w.a[2] * unit.a[2];
            odd[k] += w.a[3] * unit.a[3];
        }
    }
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        sum[k] += odd[k];
#endif
}

// The rows that a lane owns; -1: none.
INLINE void find_rows(int (&row)[ROW_BLOCKS], int lane)
{
#pragma unroll
    for (int k = 0; k < ROW_BLOCKS; k++)
        row[k] = lane + 32 * k < M ? lane + 32 * k : -1;
}

// What solve.cu leaves to update.cu: the sums over time of one replica, in this order, hidden ones padded to LP.
#define SUM_W (0)                  // (M, LP): sum v phi^T
#define SUM_V (SUM_W + M * LP)     // (M, LP): V's gradient, transposed
#define SUM_b (SUM_V + M * LP)     // (LP)
#define SUM_A (SUM_b + LP)         // (M): before the derivative of tanh
#define SUM_h (SUM_A + M)          // (M)
#define SUM_C (SUM_h + M)          // (M, K)
#define SUM_B (SUM_C + M * K)      // (N, M): dB less what passes through B+
#define SUM_P (SUM_B + N * M)      // (M, N): dB+
#define SUMS  (SUM_P + M * N)

#endif
