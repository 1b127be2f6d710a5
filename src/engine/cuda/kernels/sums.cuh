// sums.cuh - the gradient's sums over time: by all threads of a block over the block's stretches, then over all blocks.
#ifndef ANT_SUMS_CUH
#define ANT_SUMS_CUH

#include "moments.cuh"

#define SCRATCH 8 // quantities that go through shared memory at a time

#define TILE    32 // steps that a slice of threads takes through shared memory at a time
#define SLICES  (THREADS / LP > 0 ? THREADS / LP : 1)

#define LATENT_ROW     (ROW + 4 + (K + 3) / 4 * 4) // a row of moments with a one and the inputs behind it
#define LATENT_ROOM    (48 * 1024 / (CREW * LATENT_ROW * (REAL_BITS / 8)) - 1)
#define LATENT_TILE    (LATENT_ROOM > 8 ? 8 : LATENT_ROOM > 1 ? LATENT_ROOM : 1) // rows of a tile of the small sums
#define LATENT_ENTRIES ((SUMS - SUM_A + 31) / 32 < 8 ? (SUMS - SUM_A + 31) / 32 : 8) // of one lane at a time

// The small sums: Abar, h, C, B and B+.  One entry is a product of two numbers of one step; a warp takes its own
// stretches, some rows at a time through shared memory, and its lanes share the entries.
struct factors { // where they stand in the tile
    int left, right;
};

INLINE factors find_factors(int entry)
{
    constexpr int next = LATENT_ROW, inputs = K > 0 ? K : 1;
    if (entry < SUM_h)
        return {next + AT_V + entry - SUM_A, AT_FORCED + entry - SUM_A};
    if (entry < SUM_C)
        return {next + AT_V + entry - SUM_h, ROW}; // a one
    if (entry < SUM_B)
        return {next + AT_V + (entry - SUM_C) / inputs, ROW + 1 + (entry - SUM_C) % inputs};
    if (entry < SUM_P)
        return {AT_Y + (entry - SUM_B) / M, AT_Z + (entry - SUM_B) % M};
    return {AT_W + (entry - SUM_P) / N, AT_E + (entry - SUM_P) % N};
}

struct alignas(16) sum_memory {
    union {
        real scratch[SCRATCH][THREADS];
        real rows[CREW][(LATENT_TILE + 1) * LATENT_ROW];
        real latent[CREW][32 * LATENT_ENTRIES];
#if !KEEP_HIDDEN
        real tile[SLICES][2][TILE][MP]; // z~_t and v_{t+1}
#endif
    };
    factors of[32 * LATENT_ENTRIES];
};

#if KEEP_HIDDEN
// One thread has one hidden unit and 16 latent ones.
INLINE void sum_hidden(const solve_problem &p, sum_memory &, const real *, int replica, const block_work &work, real *partial)
{
    constexpr int groups = (QUADS + 3) / 4;
    for (int task = own_thread(); task < LP * groups; task += THREADS) {
        const int unit = task % LP, quad = task / LP * 4;
        real dW[16], dV[16], db = 0;
#pragma unroll
        for (int k = 0; k < 16; k++)
            dW[k] = dV[k] = 0;
        for (int i = work.first; i < work.items; i += i % WARPS == WARPS - 1 ? work.workers - WARPS + 1 : 1) {
            const stretch here = find_stretch(p, i, work.items);
            const size_t sequence = (size_t)replica * p.batch + here.sequence, base = sequence * (p.T + 1);
            for (int t = here.first; t < here.last; t++) {
                const real phi = p.hidden[(sequence * p.T + t) * LP + unit], back = p.delta[(sequence * p.T + t) * LP + unit];
                const unsigned *masks = p.masks + (sequence * p.T + t) * MASKS + unit / 32;
                real delta = masks[0] >> unit % 32 & 1 ? back : real(0);
                db += delta; // b stands in the first term of a clipped unit alone
#if CLIPPED
                delta -= masks[UNITS] >> unit % 32 & 1 ? back : real(0);
#endif
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    if (quad + q < QUADS) {
                        const real4 v = load4(p.rows + (base + t + 1) * ROW + AT_V + 4 * (quad + q));
                        const real4 z = load4(p.rows + (base + t) * ROW + AT_FORCED + 4 * (quad + q));
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            dW[4 * q + k] += v.a[k] * phi;
                            dV[4 * q + k] += z.a[k] * delta;
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (4 * quad + k < M) {
                partial[SUM_W + (4 * quad + k) * LP + unit] = dW[k];
                partial[SUM_V + (4 * quad + k) * LP + unit] = dV[k];
            }
        if (quad == 0)
            partial[SUM_b + unit] = db;
    }
}
#else
// What one thread gathers for its hidden unit: dW, dV and db, as they follow each other in SUM_W, SUM_V and SUM_b.
struct unit_sums {
    real row[2 * M + 1];
};

// One step: the unit's activity is found again from z~_t, what arrives at it from v_{t+1}.
INLINE void add_step(unit_sums &sums, const real (&V)[MP], const real (&W)[MP], real b, const real *z, const real *v, const unsigned *masks, int bit)
{
    real zt[MP], vt[MP], reach = 0, back = 0;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = load4(z + 4 * q), other = load4(v + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            zt[4 * q + k] = four.a[k];
            vt[4 * q + k] = other.a[k];
        }
    }
#pragma unroll
    for (int m = 0; m < M; m++) {
        reach += V[m] * zt[m];
        back += W[m] * vt[m];
    }
    const bool on = masks[0] >> bit & 1;
    real phi = on ? reach + b : real(0);
    const real direct = on ? back : real(0);
    sums.row[2 * M] += direct; // b stands in the first term of a clipped unit alone
#if CLIPPED
    const bool plain = masks[UNITS] >> bit & 1;
    phi -= plain ? reach : real(0);
    back = direct - (plain ? back : real(0));
#else
    back = direct;
#endif
#pragma unroll
    for (int m = 0; m < M; m++) {
        sums.row[m] += vt[m] * phi;
        sums.row[M + m] += zt[m] * back;
    }
}

// Add up what SLICES threads found for each of `width` units, `used` of which count, and write it to the block's partial sums.
INLINE void add_slices(sum_memory &memory, const unit_sums &sums, int slot, int slice, int width, int used, real *to)
{
    constexpr int rows = 2 * M + 1;
#pragma unroll
    for (int from = 0; from < rows; from += SCRATCH) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SCRATCH; k++)
            if (from + k < rows && slice < SLICES)
                memory.scratch[k][slice * width + slot] = sums.row[from + k < rows ? from + k : 0];
        __syncthreads();
        for (int i = own_thread(); i < SCRATCH * used; i += THREADS) {
            const int k = i / used, at = i % used;
            if (from + k < rows) {
                real sum = 0;
                for (int s = 0; s < SLICES; s++)
                    sum += memory.scratch[k][s * width + at];
                to[(size_t)(from + k) * LP + at] = sum;
            }
        }
    }
}

// One thread has one hidden unit; slices of threads share the stretches, tile by tile.
INLINE void sum_hidden(const solve_problem &p, sum_memory &memory, const real *pack, int replica, const block_work &work, real *partial)
{
    constexpr int width = LP < THREADS ? LP : THREADS;
    const int slice = own_thread() / width, slot = own_thread() % width;
    const int rounds = (work.items - work.first + work.workers - 1) / work.workers, longest = (p.T + p.chunks - 1) / p.chunks;
    for (int first = 0; first < LP; first += width) {
        const int unit = first + slot < LP ? first + slot : LP - 1, used = LP - first < width ? LP - first : width;
        real V[MP], W[MP];
        unit_sums sums;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const real4 v = load4(pack + PACK_V + 4 * (q * LS + unit)), w = load4(pack + PACK_W + 4 * (q * LS + unit));
#pragma unroll
            for (int k = 0; k < 4; k++) {
                V[4 * q + k] = v.a[k];
                W[4 * q + k] = w.a[k];
            }
        }
        const real b = pack[PACK_b + unit];
#pragma unroll
        for (int k = 0; k <= 2 * M; k++)
            sums.row[k] = 0;
        for (int i = 0; i < rounds * WARPS; i += SLICES)
            for (int step = 0; step < longest; step += TILE) {
                const int mine = i + slice;
                const stretch here = stretch_of(p, work, mine);
                const size_t sequence = (size_t)replica * p.batch + here.sequence, row = sequence * (p.T + 1) + here.first + step;
                const int left = slice < SLICES && mine < rounds * WARPS && here.works ? here.last - here.first - step : 0;
                const int steps = left < 0 ? 0 : left < TILE ? left : TILE;
                __syncthreads();
                for (int k = slot; k < steps * QUADS; k += width) {
                    const real *from = p.rows + (row + k / QUADS) * ROW + 4 * (k % QUADS);
                    store4(memory.tile[slice][0][0] + 4 * k, load4(from + AT_FORCED));
                    store4(memory.tile[slice][1][0] + 4 * k, load4(from + ROW + AT_V));
                }
                __syncthreads();
                const unsigned *masks = p.masks + (sequence * p.T + here.first + step) * MASKS + unit / 32;
                const auto add = [&](int t) { add_step(sums, V, W, b, memory.tile[slice][0][t], memory.tile[slice][1][t], masks + t * MASKS, unit % 32); };
                int t = 0;
                for (; t + 3 < steps; t += 4)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        add(t + k);
#pragma unroll 1 // the compiler would unroll these, too, and take long
                for (; t < steps; t++)
                    add(t);
            }
        __syncthreads();
        add_slices(memory, sums, slot, slice, width, used, partial + first);
    }
}
#endif

// Rows t .. t+count of one sequence into the warp's tile.
INLINE void copy_rows(const solve_problem &p, real *tile, size_t sequence, int t, int count, int lane)
{
    const real *from = p.rows + (sequence * (p.T + 1) + t) * ROW;
    __syncwarp();
#pragma unroll 4
    for (int i = lane; i < (count + 1) * (ROW / 4); i += 32)
        store4(tile + i / (ROW / 4) * LATENT_ROW + i % (ROW / 4) * 4, load4(from + 4 * i));
    for (int i = lane; i < count * K; i += 32)
        tile[i / (K > 0 ? K : 1) * LATENT_ROW + ROW + 1 + i % (K > 0 ? K : 1)] = p.s[(sequence * p.T + t) * K + i];
    if (lane < count)
        tile[lane * LATENT_ROW + ROW] = 1;
    __syncwarp();
}

// All entries of one group over one stretch.
INLINE void add_stretch(const solve_problem &p, sum_memory &memory, real *tile, size_t sequence, const stretch &here, int first, real (&sum)[LATENT_ENTRIES], int lane)
{
    factors of[LATENT_ENTRIES];
#pragma unroll
    for (int k = 0; k < LATENT_ENTRIES; k++)
        of[k] = memory.of[32 * k + lane];
    for (int t = here.first; t < here.last; t += LATENT_TILE) {
        const int count = here.last - t < LATENT_TILE ? here.last - t : LATENT_TILE;
        copy_rows(p, tile, sequence, t, count, lane);
        for (int i = 0; i < count; i++) {
            const real *row = tile + i * LATENT_ROW, a = !p.flow ? real(0) : t + i == 0 ? real(1) : strength(p, t + i);
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++)
                sum[k] += (first + 32 * k + lane < SUM_P ? real(1) : a) * row[of[k].left] * row[of[k].right];
        }
        if (t + count == p.T) // the last moment has an error, but no step
#pragma unroll
            for (int k = 0; k < LATENT_ENTRIES; k++) {
                const int entry = first + 32 * k + lane;
                if (entry >= SUM_B && entry < SUM_P)
                    sum[k] += tile[count * LATENT_ROW + of[k].left] * tile[count * LATENT_ROW + of[k].right];
            }
    }
}

INLINE void sum_latent(const solve_problem &p, sum_memory &memory, int replica, const block_work &work, real *partial)
{
    const int lane = own_thread() % 32, warp = own_warp();
    for (int first = SUM_A; first < SUMS; first += 32 * LATENT_ENTRIES) {
        real sum[LATENT_ENTRIES];
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            sum[k] = 0;
        for (int i = own_thread(); i < 32 * LATENT_ENTRIES; i += THREADS)
            memory.of[i] = find_factors(first + i < SUMS ? first + i : SUM_A);
        __syncthreads();
        const bool shadow = warp >= WARPS;
        for (int i = shadow ? (warp - WARPS) * PER_SHADOW : warp, count = 0; count < (shadow ? PER_SHADOW : 1) && i < WARPS; i++, count++)
            for (int number = i; work.first + number / WARPS * work.workers + i < work.items; number += WARPS) {
                const stretch here = share_of(stretch_of(p, work, number), shadow);
                add_stretch(p, memory, memory.rows[warp], (size_t)replica * p.batch + here.sequence, here, first, sum, lane);
            }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < LATENT_ENTRIES; k++)
            memory.latent[warp][32 * k + lane] = sum[k];
        __syncthreads();
        for (int i = own_thread(); i < 32 * LATENT_ENTRIES && first + i < SUMS; i += THREADS) {
            real total = 0;
            for (int w = 0; w < CREW; w++)
                total += memory.latent[w][i];
            partial[first + i] = total;
        }
        __syncthreads();
    }
}

// Add the partial sums of all blocks, in double and in fixed order.
INLINE void sum_blocks(const solve_problem &p, double *scratch, int replica, int block)
{
    const int lane = own_thread() % 32, warp = own_warp();
    const real *partial = p.partial + (size_t)replica * p.blocks * SUMS;
    for (int first = 32 * block; first < SUMS; first += 32 * p.blocks) {
        const int entry = first + lane;
        double sum = 0;
        if (entry < SUMS)
            for (int b = warp; b < p.blocks; b += CREW)
                sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        __syncthreads();
        scratch[warp * 32 + lane] = sum;
        __syncthreads();
        if (warp == 0 && entry < SUMS) {
            for (int other = 1; other < CREW; other++)
                sum += scratch[other * 32 + lane];
            p.sums[(size_t)replica * SUMS + entry] = sum;
        }
    }
    if (block == p.blocks - 1 && warp == 0) { // which has the fewest entries
        double squares = 0;
#pragma unroll 4
        for (int b = lane; b < p.blocks; b += 32)
            squares += __ldcg(p.squares + (size_t)replica * p.blocks + b);
        squares = warp_sum(squares);
        if (lane == 0)
            p.facts[FACTS * replica + FACT_LOSS] = 0.5 * p.weight * squares;
    }
}

#endif
