// sums_latent.cuh - the small sums, products of two numbers of a step: Abar, h, C and, unless variables are
// many, B and B+.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_SUMS_LATENT_CUH
#define ANT_SUMS_LATENT_CUH

#include "sums_shape.cuh"

INLINE factors find_factors(int entry)
{
    constexpr int next = LATENT_ROW, inputs = K > 0 ? K : 1;
    if (entry < SUM_h)
        return {next + AT_V + entry - SUM_A, AT_FORCED + entry - SUM_A};
    if (entry < SUM_C)
        return {next + AT_V + entry - SUM_h, AT_ONE};
    if (entry < SUM_B)
        return {next + AT_V + (entry - SUM_C) / inputs, AT_ONE + 1 + (entry - SUM_C) % inputs};
    if (entry < SUM_P)
        return {AT_Y + (entry - SUM_B) / M, AT_Z + (entry - SUM_B) % M};
    return {AT_W + (entry - SUM_P) / N, AT_E + (entry - SUM_P) % N};
}

// Copy rows t .. t+count of one sequence to the warp's tile, the last one without its last `less` numbers.
INLINE void copy_rows(const solve_args &p, real *tile, size_t sequence, int t, int count, int less, int lane)
{
    constexpr int fours = TILE_ROW / 4;
    const real *from = p.rows + (sequence * (p.T + 1) + t) * ROW;
    __syncwarp();
#pragma unroll 4
    for (int i = lane; i < (count + 1) * fours - less / 4; i += 32)
        store4(tile + i / fours * LATENT_ROW + i % fours * 4, load4(from + i / fours * ROW + i % fours * 4));
    for (int i = lane; i < count * K; i += 32)
        tile[i / (K > 0 ? K : 1) * LATENT_ROW + AT_ONE + 1 + i % (K > 0 ? K : 1)] =
            p.s[(sequence * p.T + t) * K + i];
    if (lane < count)
        tile[lane * LATENT_ROW + AT_ONE] = 1;
    __syncwarp();
}

#if PATTERNS
// B_o+ transposed, of the variables that row t has.  (N, MP)
INLINE const real *pinv_of(const solve_args &p, int replica, size_t sequence, int t)
{
    return pattern_weights(p, first_pattern(p, replica), sequence, t) + PATTERN_P;
}
#endif

// y_t = dloss / de_t = a_t B+^T w_t + weight e_t, of the first `count` rows of the tile.
INLINE void find_y(const solve_args &p, const real *pack, real *tile, int replica, size_t sequence, int t,
                   int count, int lane)
{
    for (int i = lane; i < count * N; i += 32) {
        const int n = i % N, step = t + i / N;
        real *row = tile + i / N * LATENT_ROW;
        const real a = p.flow && step > 0 && step < p.T ? strength(p, pack, step) : real(0);
        real4 sum = {0, 0, 0, 0};
#pragma unroll 4
        for (int q = 0; q < QUADS; q++) {
#if PATTERNS
            const real4 P = load4_constant(pinv_of(p, replica, sequence, step) + n * MP + 4 * q);
#else
            const real4 P = load4_constant(pack + PACK_P + n * MP + 4 * q);
#endif
            const real4 w = load4(row + AT_W + 4 * q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (QUADS > 4 || 4 * q + k < M)
                    sum.a[k] += P.a[k] * w.a[k];
        }
        const real flowing =
            a != 0 ? a * ((sum.a[0] + sum.a[1]) + (sum.a[2] + sum.a[3])) : real(0); // at T there is no w
        const real y = flowing + (step > p.warmup ? real(loss_weight(p, replica)) : real(0)) * row[AT_E + n];
        row[AT_Y + n] = y;
        if (STORES_Y)
            p.rows[(sequence * (p.T + 1) + step) * ROW + AT_Y + n] = y;
    }
    __syncwarp();
}

#if PATTERNS
// a_t of the gradient through B_o+; at t = 0 z_0 = B_o+ x_o.
INLINE real strength_of_pinv(const solve_args &p, const real *pack, int t)
{
    return !p.flow ? real(0) : t == 0 ? real(1) : strength(p, pack, t);
}

// The vectors p, q, then r, g, u, m of spec 12 for the incomplete ones of the first `count` rows of the tile,
// which have a bit each.
INLINE void find_vectors(const solve_args &p, const real *pack, real *tile, int replica, size_t sequence,
                         int t, int count, unsigned incomplete, int lane)
{
#pragma unroll 1
    for (int i = lane; i < count * (N + M); i += 32) {
        const int step = t + i / (N + M), n = i % (N + M), m = n - N;
        const real *P = pinv_of(p, replica, sequence, step), a = strength_of_pinv(p, pack, step);
        real *row = tile + i / (N + M) * LATENT_ROW, sum = 0;
        if ((incomplete >> i / (N + M) & 1) == 0)
            continue;
        if (n < N)
#pragma unroll 4
            for (int k = 0; k < M; k++)
                sum += P[n * MP + k] * row[AT_W + k];
        else
#pragma unroll 4
            for (int k = 0; k < N; k++)
                sum += P[k * MP + m] * row[AT_E + k];
        row[n < N ? AT_p + n : AT_q + m] = n < N ? a * sum : sum;
    }
    __syncwarp();
#pragma unroll 1
    for (int i = lane; i < count * (N + M); i += 32) {
        const int step = t + i / (N + M), n = i % (N + M), m = n - N;
        const real *P = pinv_of(p, replica, sequence, step), *B = pack + PACK_B;
        real *row = tile + i / (N + M) * LATENT_ROW, first = 0, second = 0;
        if ((incomplete >> i / (N + M) & 1) == 0)
            continue;
        if (n < N) {
            const bool missing = is_missing(p.x[(sequence * (p.T + 1) + step) * N + n]);
#pragma unroll 4
            for (int k = 0; k < M; k++) {
                first += B[n * MP + k] * row[AT_q + k];
                second += P[n * MP + k] * row[AT_q + k];
            }
            row[AT_r + n] = missing ? real(0) : row[AT_E + n] - first;
            row[AT_g + n] = second;
        } else {
#pragma unroll 4
            for (int k = 0; k < N; k++) {
                first += P[k * MP + m] * row[AT_p + k];
                second += B[k * MP + m] * row[AT_p + k];
            }
            row[AT_u + m] = first;
            row[AT_m + m] = strength_of_pinv(p, pack, step) * row[AT_W + m] - second;
        }
    }
    __syncwarp();
}

// What an incomplete row adds to this lane's entries of SUM_B, which is -dB, through B_o+.  first: its first
// entry
INLINE void add_incomplete(const real *row, int first, real (&sum)[LATENT_ENTRIES])
{
#pragma unroll
    for (int k = 0; k < LATENT_ENTRIES; k++) {
        const int entry = first + 32 * k, n = (entry - SUM_B) / M, m = (entry - SUM_B) % M;
        if (entry >= SUM_B && entry < SUM_P)
            sum[k] +=
                row[AT_p + n] * row[AT_q + m] - row[AT_r + n] * row[AT_u + m] - row[AT_g + n] * row[AT_m + m];
    }
}
#endif

// One group of entries over this warp's rows of a segment, tile by tile through shared memory; lanes share
// the entries.
INLINE void add_rows(const solve_args &p, const real *pack, int replica, const segment &here, int first,
                     real (&sum)[LATENT_ENTRIES])
{
    sum_shared &memory = block_memory();
    const int lane = thread_index() % 32, warp = warp_index();
    real *tile = memory.rows[warp];
    factors of[LATENT_ENTRIES];
#pragma unroll
    for (int k = 0; k < LATENT_ENTRIES; k++)
        of[k] = memory.of[32 * k + lane];
    for (int t = here.first + warp * LATENT_TILE; t < here.last; t += LATENT_WARPS * LATENT_TILE) {
        const int count = here.last - t < LATENT_TILE ? here.last - t : LATENT_TILE;
        // Where y is stored, another warp may be writing that of the last row.
        const bool with_y = !STORES_Y || (first > SUM_A && t + count == p.T);
        copy_rows(p, tile, here.sequence, t, count, with_y ? 0 : TILE_ROW - AT_Y, lane);
        if (PATTERNS || (first == SUM_A && !MANY_VARIABLES))
            find_y(p, pack, tile, replica, here.sequence, t, count + (t + count == p.T), lane);
#if PATTERNS
        const bool lacks = lane < count && pattern_of(p, here.sequence, t + lane) != 0;
        const unsigned incomplete = p.flow ? __ballot_sync(ALL_LANES, lacks) : 0u;
        if (incomplete != 0)
            find_vectors(p, pack, tile, replica, here.sequence, t, count, incomplete, lane);
#else
        constexpr unsigned incomplete = 0;
#endif
        for (int i = 0; i < count; i++) {
            const real *row = tile + i * LATENT_ROW, a = !p.flow      ? real(0)
                                                         : t + i == 0 ? real(1)
                                                                      : strength(p, pack, t + i);
            const bool through = (incomplete >> i & 1) == 0; // B+, which has no part in an incomplete row
#if PATTERNS
            if (!through)
                add_incomplete(row, first + lane, sum);
#endif
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++)
                sum[k] += (first + 32 * k + lane < SUM_P ? real(1)
                           : through                     ? a
                                                         : real(0)) *
                          row[of[k].left] * row[of[k].right];
        }
        if (t + count == p.T && !MANY_VARIABLES) // time T has an error, but no step
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++) {
                const int entry = first + 32 * k + lane;
                if (entry >= SUM_B && entry < SUM_P)
                    sum[k] += tile[count * LATENT_ROW + of[k].left] * tile[count * LATENT_ROW + of[k].right];
            }
    }
}

INLINE void sum_latent(const solve_args &p, const real *pack, int replica, int block, real *partial)
{
    sum_shared &memory = block_memory();
    const int lane = thread_index() % 32, warp = warp_index();
    for (int first = SUM_A; first < LATENT_LAST; first += 32 * LATENT_ENTRIES) {
        real sum[LATENT_ENTRIES];
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            sum[k] = 0;
        for (int i = thread_index(); i < 32 * LATENT_ENTRIES; i += THREADS)
            memory.of[i] = find_factors(first + i < LATENT_LAST ? first + i : SUM_A);
        __syncthreads();
        const bool takes_part = LATENT_WARPS == BLOCK_WARPS || warp < LATENT_WARPS;
        if (takes_part)
            for_segments(p, replica, block,
                         [&](const segment &here) { add_rows(p, pack, replica, here, first, sum); });
        __syncthreads();
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            if (takes_part)
                memory.latent[warp][32 * k + lane] = sum[k];
        __syncthreads();
        for (int i = thread_index(); i < 32 * LATENT_ENTRIES && first + i < LATENT_LAST; i += THREADS) {
            real total = 0;
#pragma unroll 4
            for (int w = 0; w < LATENT_WARPS; w++)
                total += memory.latent[w][i];
            partial[first + i] = total;
        }
        __syncthreads();
    }
}

#endif
