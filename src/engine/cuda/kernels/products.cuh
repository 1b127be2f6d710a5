// products.cuh - the weights of a shPLRNN in a warp, and the two products of a step: towards hidden units,
// towards latent rows.
//
// A product towards hidden units gives lane l the units u * 32 + l.  A product towards latent rows, with
// weights in registers, exchanges sums between lanes until each row has one owner (row_owners).  Otherwise
// lane l has row l % ROW_LANES and a share of the units, and ROW_SHARES lanes together give a row; for M > 32
// a lane has the rows l + 32 k.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_PRODUCTS_CUH
#define ANT_PRODUCTS_CUH

#include "shape.cuh"

#define ROWS_PER_LANE ((M + 31) / 32)                                         // latent rows of one lane
#define ROW_LANES     (M > 16 ? 32 : M > 10 ? 16 : M > 8 ? M : M > 4 ? 8 : 4) // lane l has row l % ROW_LANES
#define ROW_SHARES    (32 / ROW_LANES)                                        // lanes that share a row
#define SHARE_QUADS   ((LP / 4 + ROW_SHARES - 1) / ROW_SHARES) // hidden units of a share, in fours
#define COVERED_UNITS                                                                                        \
    (M <= 32 ? 4 * ROW_SHARES * SHARE_QUADS                                                                  \
             : LP) // hidden units that the shares cover; those beyond LP are zero

// What every step reads is staged in shared memory: V and W, B+ B where a lane has one row, and with border
// matrices all weights.
#define STAGE_COUNT (NEWTON ? PACK : M <= 32 ? PACK_V1 : PACK_b)
// The rest of a block's shared memory takes three eighths of the limit or more.
#define STAGED_PACK (STAGE_COUNT * (REAL_BITS / 8) <= SHARED_LIMIT / 8 * 5)

// Weights stay in registers where they fit beside the rest: those towards units and those towards rows.
#ifndef REGISTER_LIMIT
#define REGISTER_LIMIT (WARPS > 8 ? 44 : 88)
#endif
#define WEIGHTS_IN_REGISTERS (M <= 32 && 2 * UNITS * M * REGISTERS_PER_REAL <= REGISTER_LIMIT)

struct unit_weights { // towards the units of one lane
#if WEIGHTS_IN_REGISTERS
    real w[UNITS][M];
#else
    const real *quads;
#endif
};

struct row_weights { // towards rows
#if WEIGHTS_IN_REGISTERS
    real w[UNITS][M]; // from this lane's units to all rows, in the order of row_at
#else
    const real *quads;
#endif
};

INLINE void load_unit_weights(unit_weights &to, const real *quads, int lane)
{
#if WEIGHTS_IN_REGISTERS
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

// ---- sums over all lanes, one row per lane ----------------------------------------------------------------
//
// Every lane has a share of each of M rows.  In each of five exchanges a lane keeps half of its rows and
// sends the other half to its partner; with an odd number, the row left over goes both ways.  At most M + 4
// numbers are exchanged; sums of all rows on all lanes would take 5 M.  Each lane has its own order of rows,
// chosen so that the rows it keeps are always the first half.

// The row at position i of a lane.
template <int STAGE, int COUNT> INLINE int row_at(int lane, int i)
{
    if constexpr (STAGE == 5 || COUNT <= 1) {
        return 0;
    } else {
        constexpr int half = COUNT / 2;
        const int upper = lane >> (4 - STAGE) & 1;
        return i == 2 * half ? i
               : i < half    ? upper * half + row_at<STAGE + 1, half>(lane, i)
                             : (1 - upper) * half + row_at<STAGE + 1, half>(lane, i - half);
    }
}

// row[]: the rows that this lane keeps; odd[]: those left over.  SORTED: rows stand in the order of row_at;
// otherwise in their own, and each lane selects the half that it sends.
template <bool SORTED, int STAGE, int COUNT, int ODD>
INLINE void exchange_rows(real (&row)[M], real (&odd)[6])
{
    if constexpr (STAGE == 5) {
        if constexpr (COUNT == 1)
            odd[ODD] = row[0];
    } else {
        constexpr int half = COUNT / 2, offset = 16 >> STAGE, after = ODD + COUNT % 2;
        const bool upper = !SORTED && (thread_index() & offset) != 0;
#pragma unroll
        for (int i = 0; i < half; i++) {
            const real sent = upper ? row[i] : row[half + i];
            row[i] = (upper ? row[half + i] : row[i]) + __shfl_xor_sync(ALL_LANES, sent, offset);
        }
        if constexpr (COUNT % 2 == 1)
            odd[ODD] = row[COUNT - 1];
#pragma unroll
        for (int j = 0; j < after; j++)
            odd[j] += __shfl_xor_sync(ALL_LANES, odd[j], offset);
        exchange_rows<SORTED, STAGE + 1, half, after>(row, odd);
    }
}

#if M <= 32
// Which lane owns which row at the end, and where: kept is the index in odd[].
struct row_owners {
    signed char row[32], kept[32]; // row: -1: none
    signed char lane[32];          // of each row
};

static __device__ constexpr row_owners find_owners()
{
    row_owners owners = {};
    for (int lane = 0; lane < 32; lane++)
        owners.row[lane] = -1;
    int count[6] = {M}, odd[6] = {0}; // before each exchange
    for (int k = 0; k < 5; k++) {
        count[k + 1] = count[k] / 2;
        odd[k + 1] = odd[k] + count[k] % 2;
    }
    // A row left over at stage k is the same on the 2^(5-k) lanes whose first k bits agree.
    for (int k = 5; k >= 0; k--)
        for (int bits = 0; bits < 1 << k && count[k] % 2 == 1; bits++) {
            int row = k < 5 ? count[k] - 1 : 0, lane = bits << (5 - k);
            for (int i = 0; i < k; i++)
                row += (bits >> (k - 1 - i) & 1) * (count[i] / 2);
            while (owners.row[lane] >= 0)
                lane++;
            owners.row[lane] = (signed char)row;
            owners.kept[lane] = (signed char)odd[k];
            owners.lane[row] = (signed char)lane;
        }
    return owners;
}

// An entry of row_owners, selected from constants: a table in memory would cost latency at the start of every
// pass.
template <bool KEPT> INLINE int look_up_owner(int lane)
{
    unsigned word = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) {
        constexpr row_owners owners = find_owners();
        unsigned four = 0;
#pragma unroll
        for (int k = 0; k < 4; k++)
            four |= (unsigned)(unsigned char)(KEPT ? owners.kept[4 * w + k] : owners.row[4 * w + k]) << 8 * k;
        word = lane / 4 == w ? four : word;
    }
    return (int)(signed char)(word >> lane % 4 * 8);
}

static __device__ constexpr bool every_row_has_one_owner()
{
    const row_owners owners = find_owners();
    int count[M] = {};
    for (int lane = 0; lane < 32; lane++)
        if (owners.row[lane] >= 0)
            count[owners.row[lane]]++;
    for (int m = 0; m < M; m++)
        if (count[m] != 1)
            return false;
    return true;
}
static_assert(every_row_has_one_owner(), "sums over lanes would lose a row");

// Sums over all lanes: this lane's row of them.  kept: row_owners
template <bool SORTED> INLINE real sum_over_lanes(real (&row)[M], int kept)
{
    constexpr int most = (M & 1) + (M >> 1 & 1) + (M >> 2 & 1) + (M >> 3 & 1) + (M >> 4 & 1) + (M >> 5 & 1);
    real odd[6];
    exchange_rows<SORTED, 0, M, 0>(row, odd);
    real sum = odd[0];
#pragma unroll
    for (int j = 1; j < most; j++)
        sum = kept == j ? odd[j] : sum;
    return sum;
}
#endif

// from: a matrix over (latent, hidden), towards units; rows: towards rows.
INLINE void load_row_weights(row_weights &to, const real *from, const real *rows, int lane)
{
#if WEIGHTS_IN_REGISTERS
#pragma unroll
    for (int i = 0; i < M; i++) {
        const int row = row_at<0, M>(lane, i);
#pragma unroll
        for (int u = 0; u < UNITS; u++)
            to.w[u][i] = from[4 * (row / 4 * LS + u * 32 + lane) + row % 4];
    }
#else
    to.quads = rows;
#endif
}

INLINE real4 four_weights(const unit_weights &from, int u, int q)
{
#if WEIGHTS_IN_REGISTERS
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
    constexpr int unroll = WEIGHTS_IN_REGISTERS || M <= 16 ? QUADS : M <= 32 ? 2 : 4;
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

#if WEIGHTS_IN_REGISTERS
// This lane's row of (matrix times units).  kept: row_owners.
INLINE real to_row(const row_weights &weights, const real (&units)[UNITS], int kept)
{
    real row[M];
#pragma unroll
    for (int i = 0; i < M; i++) {
        row[i] = weights.w[0][i] * units[0];
#pragma unroll
        for (int u = 1; u < UNITS; u++)
            row[i] += weights.w[u][i] * units[u];
    }
    return sum_over_lanes<true>(row, kept);
}
#else
// sum[k] = row of (matrix times units), valid on the lanes that own rows.  units: (COVERED_UNITS) in shared
// memory.
INLINE void to_rows(const row_weights &weights, const real *units, int lane, real (&sum)[ROWS_PER_LANE])
{
#if M <= 32
    const int part = lane / ROW_LANES < ROW_SHARES ? lane / ROW_LANES : ROW_SHARES - 1,
              first = part * SHARE_QUADS;
    real4 chain = {0, 0, 0, 0}; // four short sums instead of one long
#pragma unroll(                                                                                              \
    M > 16 ? 8 : SHARE_QUADS) // unrolling more of a large model gains nothing and takes long to compile
    for (int q = 0; q < SHARE_QUADS; q++) {
        const real4 w = (LP / 4) % ROW_SHARES == 0 || first + q < LP / 4
                            ? load4(weights.quads + 4 * ((first + q) * MP + lane % ROW_LANES % MP))
                            : real4{0, 0, 0, 0};
        const real4 unit = load4(units + 4 * (first + q));
#pragma unroll
        for (int k = 0; k < 4; k++)
            chain.a[k] += w.a[k] * unit.a[k];
    }
    const real share = (chain.a[0] + chain.a[1]) + (chain.a[2] + chain.a[3]);
    real total = share;
    if constexpr (32 % ROW_LANES == 0) {
#pragma unroll
        for (int offset = ROW_LANES; offset < 32; offset *= 2)
            total += __shfl_xor_sync(ALL_LANES, total, offset);
    } else { // lanes beyond the last share compute unused values
#pragma unroll
        for (int other = 1; other < ROW_SHARES; other++)
            total += __shfl_sync(ALL_LANES, share, (lane + other * ROW_LANES) % 32);
    }
    sum[0] = total;
#else
    real odd[ROWS_PER_LANE];
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        sum[k] = odd[k] = 0;
#pragma unroll 4
    for (int q = 0; q < LP / 4; q++) {
        const real4 unit = load4(units + 4 * q);
#pragma unroll
        for (int k = 0; k < ROWS_PER_LANE; k++) {
            const real4 w = load4(weights.quads + 4 * (q * MP + (lane + 32 * k < MP ? lane + 32 * k : 0)));
            sum[k] += w.a[0] * unit.a[0];
            odd[k] += w.a[1] * unit.a[1];
            sum[k] += w.a[2] * unit.a[2];
            odd[k] += w.a[3] * unit.a[3];
        }
    }
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        sum[k] += odd[k];
#endif
}
#endif

// The rows that a lane owns; -1: none.
INLINE void find_rows(int (&row)[ROWS_PER_LANE], int lane)
{
#if WEIGHTS_IN_REGISTERS
    row[0] = lane < 32 ? look_up_owner<false>(lane) : -1;
#else
#pragma unroll
    for (int k = 0; k < ROWS_PER_LANE; k++)
        row[k] = lane + 32 * k < M ? lane + 32 * k : -1;
#endif
}

#endif
