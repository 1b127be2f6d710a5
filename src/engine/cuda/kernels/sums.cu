// sums.cu - after solve.cu: the sums of the gradient over time, and the loss (spec 3), for many replicas at
// once.
//
// The steps of a replica's sequences are divided among the blocks of its team, and those of a block among its
// warps.  Blocks store partial sums, wait at the team's barrier, and add them in double and in a fixed order.
// This is a launch of its own because registers and shared memory of the passes are then free: more warps
// hide latency, and both kernels compile at the same time.
//
// Macros from the host: those of shape.cuh.
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=10 -DN=6 -DL=128 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=16 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=128 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=64 -DM=5 -DN=3 -DL=50 -DK=2 -DCLIPPED=1
// variant: -DREAL_BITS=64 -DM=16 -DN=16 -DL=128 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=16 -DN=64 -DL=512 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=64 -DM=20 -DN=128 -DL=200 -DK=0 -DCLIPPED=0
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DFORCING=1
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DFORCING=2
// variant: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DPATTERNS=1
// variant: -DREAL_BITS=64 -DM=16 -DN=16 -DL=128 -DK=0 -DCLIPPED=0 -DPATTERNS=1
#if !defined REAL_BITS || !defined M || !defined N || !defined L || !defined K || !defined CLIPPED
#error "the host gives the macros named above"
#endif
#include "solve_args.cuh"

// A row of the tile: one of p.rows (with many variables without e and y), a one, the inputs and, where values
// may be missing, the vectors of spec 12 through which an incomplete row adds to dB.
#define TILE_ROW   (MANY_VARIABLES ? AT_E : ROW)
#define AT_ONE     TILE_ROW
#define AT_GAP     (TILE_ROW + 4 + (K + 3) / 4 * 4)
#define AT_p       AT_GAP
#define AT_r       (AT_p + NP)
#define AT_g       (AT_r + NP)
#define AT_q       (AT_g + NP)
#define AT_u       (AT_q + MP)
#define AT_m       (AT_u + MP)
#define AT_END     (AT_m + MP)
#define LATENT_ROW (PATTERNS ? AT_END : AT_GAP)

// As many threads as registers or shared memory allow; more than 512 lose more to synchronisation than they
// gain.
#ifndef THREADS_MOST
#define THREADS_MOST 512
#endif
#if KEEP_HIDDEN
#define THREADS_FIT (!MANY_VARIABLES && 2 * 16 * LATENT_ROW * (REAL_BITS / 8) <= 64 * 1024 ? 512 : 256)
#else
#define REGISTERS_NEEDED ((6 * M + 40 + 6 * CLIPPED) * REGISTERS_PER_REAL) // registers
#define THREADS_FIT      (REGISTERS_NEEDED <= 128 ? 512 : REGISTERS_NEEDED <= 168 ? 384 : 256)
#endif
#define THREADS     (THREADS_FIT < THREADS_MOST ? THREADS_FIT : THREADS_MOST)
#define BLOCK_WARPS (THREADS / 32)

#define SCRATCH_ROWS 8 // quantities that go through shared memory at a time

// Steps of which the loads overlap; in double, what patterns need leaves registers for two.
#define STEPS_AT_ONCE (PATTERNS && REAL_BITS == 64 ? 2 : 4)

#define TILE   32 // steps that a slice of threads takes through shared memory at a time
#define SLICES (THREADS / LP > 0 ? THREADS / LP : 1)

// The small sums go through shared memory by rows.  Rows are long where many variables are observed; then
// fewer warps take part.
#ifndef LATENT_BYTES
#define LATENT_BYTES (64 * 1024)
#endif
static __device__ constexpr int latent_warps()
{
    int warps = BLOCK_WARPS;
    while (warps > 1 && 2 * warps * LATENT_ROW * (REAL_BITS / 8) > LATENT_BYTES)
        warps /= 2;
    return warps;
}
#define LATENT_WARPS latent_warps()
#define LATENT_FIT   (LATENT_BYTES / (LATENT_WARPS * LATENT_ROW * (REAL_BITS / 8)) - 1)
#define LATENT_TILE  (LATENT_FIT > 8 ? 8 : LATENT_FIT > 1 ? LATENT_FIT : 1) // rows of a tile
#ifndef ENTRIES_MOST
#define ENTRIES_MOST 8
#endif
#define LATENT_LAST (MANY_VARIABLES ? SUM_B : SUMS) // entries that go through a tile end here
#define LATENT_ENTRIES                                                                                       \
    ((LATENT_LAST - SUM_A + 31) / 32 < ENTRIES_MOST ? (LATENT_LAST - SUM_A + 31) / 32                        \
                                                    : ENTRIES_MOST) // of one lane at a time
// There are several groups of entries: the first stores y in p.rows for the others.  Where values may be
// missing, each finds y again, as it does the vectors from AT_GAP on.
#define STORES_Y (!PATTERNS && LATENT_LAST - SUM_A > 32 * LATENT_ENTRIES)

// An entry of the small sums is a product of two numbers of one step: their offsets in the tile.
struct factors {
    int left, right;
};

struct alignas(16) hidden_tile {
    real z[TILE][MP], v[TILE][MP]; // z~_t and v_{t+1}
    unsigned masks[TILE][MASKS];
};

struct alignas(16) sum_shared {
    union {
        real scratch[SCRATCH_ROWS][THREADS];
        real rows[LATENT_WARPS][(LATENT_TILE + 1) * LATENT_ROW];
        real latent[LATENT_WARPS][32 * LATENT_ENTRIES];
        double totals[THREADS];
#if !KEEP_HIDDEN
        hidden_tile tile[2][SLICES]; // double buffer: one is filled while the other is used
#endif
    };
    factors of[32 * LATENT_ENTRIES];
    unsigned phase; // barriers passed
};

INLINE sum_shared &block_memory()
{
    DYNAMIC_BYTES;
    return *reinterpret_cast<sum_shared *>(bytes);
}

// ---- the segments of a block ------------------------------------------------------------------------------

struct segment { // counted over all replicas
    size_t sequence;
    int first, last; // steps first -> last
};

// Call `act` for the segments of sequences of a block; blocks have nearly the same number of steps.
template <class action> INLINE void for_segments(const solve_args &p, int replica, int block, action act)
{
    const unsigned T = (unsigned)p.T, steps = T * (unsigned)p.batch, share = steps / (unsigned)p.sum_blocks,
                   over = steps % (unsigned)p.sum_blocks;
    const unsigned number = (unsigned)block, more = number < over ? 1 : 0;
    unsigned from = share * number + (more ? number : over);
    const unsigned to = from + share + more;
    while (from < to) {
        const unsigned sequence = from / T, first = from - sequence * T, left = to - from;
        const unsigned count = left < T - first ? left : T - first;
        act(segment{(size_t)replica * p.batch + sequence, (int)first, (int)(first + count)});
        from += count;
    }
}

// Add what COUNT slices of threads have in row[], for `width` members each, `used` of which exist:
// store(k, member, sum of row[k]).
template <int COUNT, int ROWS, class storing>
INLINE void add_slices(const real (&row)[ROWS], int member, int slice, int width, int used, storing store)
{
    sum_shared &memory = block_memory();
#pragma unroll
    for (int from = 0; from < ROWS; from += SCRATCH_ROWS) {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SCRATCH_ROWS; k++)
            if (from + k < ROWS && slice < COUNT)
                memory.scratch[k][slice * width + member] = row[from + k < ROWS ? from + k : 0];
        __syncthreads();
#pragma unroll 1
        for (int i = thread_index(); i < SCRATCH_ROWS * used; i += THREADS) {
            const int k = i / used, at = i % used;
            if (from + k < ROWS) {
                real sum = 0;
#pragma unroll 4
                for (int s = 0; s < COUNT; s++)
                    sum += memory.scratch[k][s * width + at];
                store(from + k, at, sum);
            }
        }
    }
    __syncthreads();
}

// ---- sums of the hidden units -----------------------------------------------------------------------------

#if KEEP_HIDDEN
// One thread has one hidden unit and 16 latent ones.
INLINE void sum_hidden(const solve_args &p, const real *, int replica, int block, real *partial)
{
    constexpr int groups = (QUADS + 3) / 4;
    for (int task = thread_index(); task < LP * groups; task += THREADS) {
        const int unit = task % LP, quad = task / LP * 4;
        real dW[16], dV[16], db = 0;
#pragma unroll
        for (int k = 0; k < 16; k++)
            dW[k] = dV[k] = 0;
        for_segments(p, replica, block, [&](const segment &here) {
            const size_t base = here.sequence * (p.T + 1);
#pragma unroll((THREADS <= 256 ? 4 : 2) / REGISTERS_PER_REAL) // as many loads as there are registers for
            for (int t = here.first; t < here.last; t++) {
                const size_t step = here.sequence * p.T + t;
                const real phi = p.hidden[step * LP + unit], back = p.delta[step * LP + unit];
                const unsigned *masks = p.masks + step * MASKS + unit / 32;
                real delta = masks[0] >> unit % 32 & 1 ? back : real(0);
                db += delta; // b occurs only in the first term of a clipped unit
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
        });
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
// What one thread sums for its hidden unit: dW, dV and db, in the order of SUM_W, SUM_V and SUM_b.
struct unit_sums {
    real row[2 * M + 1];
};

// The weights of one hidden unit.
struct unit_column {
    real V[M], W[M], b;
};

INLINE unit_column load_unit_column(const real *pack, int unit)
{
    unit_column to;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 v = load4_constant(pack + PACK_V + 4 * (q * LS + unit)),
                    w = load4_constant(pack + PACK_W + 4 * (q * LS + unit));
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                to.V[4 * q + k] = v.a[k];
                to.W[4 * q + k] = w.a[k];
            }
    }
    to.b = pack[PACK_b + unit];
    return to;
}

// One step: the unit's activity is recomputed from z~_t, its adjoint from v_{t+1}.
INLINE void add_step(unit_sums &sums, const unit_column &weights, const real *z, const real *v,
                     const unsigned *masks, int bit)
{
    real zt[MP], vt[MP], preactivation = 0, back = 0;
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
        preactivation += weights.V[m] * zt[m];
        back += weights.W[m] * vt[m];
    }
    const bool on = masks[0] >> bit & 1;
    real phi = on ? preactivation + weights.b : real(0);
    const real direct = on ? back : real(0);
    sums.row[2 * M] += direct; // b occurs only in the first term of a clipped unit
#if CLIPPED
    const bool plain = masks[UNITS] >> bit & 1;
    phi -= plain ? preactivation : real(0);
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

// Prefetch `steps` steps from t on, by `width` threads; zeros up to the next multiple of four, which add
// nothing.
INLINE void prefetch_tile(const solve_args &p, hidden_tile &to, size_t sequence, int t, int steps, int member,
                          int width)
{
    constexpr int words = MP * (int)sizeof(real) / 16;
    const real *rows = p.rows + (sequence * (p.T + 1) + t) * ROW;
    const unsigned *masks = p.masks + (sequence * p.T + t) * MASKS;
#pragma unroll 2
    for (int i = member; i < steps * words; i += width) {
        const uint4 *from = reinterpret_cast<const uint4 *>(rows + i / words * ROW) + i % words;
        copy_async_16(reinterpret_cast<uint4 *>(to.z) + i, from + AT_FORCED * sizeof(real) / 16);
        copy_async_16(reinterpret_cast<uint4 *>(to.v) + i, from + (ROW + AT_V) * sizeof(real) / 16);
    }
#pragma unroll 1
    for (int i = member; i < steps * MASKS; i += width)
        copy_async(&to.masks[0][0] + i, masks + i);
#pragma unroll 1
    for (int i = steps * MP + member; i < (steps + 3) / 4 * 4 * MP; i += width)
        (&to.z[0][0])[i] = (&to.v[0][0])[i] = 0;
}

// A slice of threads has a part of the segment and takes it tile by tile.
INLINE void add_segment(const solve_args &p, const segment &here, const unit_column &weights, int unit,
                        int slice, int member, int width, unit_sums &sums)
{
    const int share = (here.last - here.first + SLICES - 1) / SLICES, first = here.first + slice * share;
    const int mine = slice >= SLICES || first >= here.last ? 0
                     : here.last - first < share           ? here.last - first
                                                           : share;
    const auto steps_from = [&](int step) {
        return mine - step < 0 ? 0 : mine - step < TILE ? mine - step : TILE;
    };
    const auto tile_at = [&](int step) -> hidden_tile & {
        return block_memory().tile[step / TILE & 1][slice < SLICES ? slice : 0];
    };
    const auto prefetch = [&](int step) {
        prefetch_tile(p, tile_at(step), here.sequence, first + step, steps_from(step), member, width);
        copy_commit();
    };
    prefetch(0);
    for (int step = 0; step < share; step += TILE) {
        prefetch(step + TILE);
        copy_wait<1>();
        __syncthreads();
        const hidden_tile &tile = tile_at(step);
        const int steps = steps_from(step);
        for (int t = 0; t < steps; t += 4)
#pragma unroll(STEPS_AT_ONCE)
            for (int k = 0; k < 4; k++)
                add_step(sums, weights, tile.z[t + k], tile.v[t + k], tile.masks[t + k] + unit / 32,
                         unit % 32);
        __syncthreads();
    }
    copy_wait<0>();
}

// One thread has one hidden unit, and slices of threads share the steps.
INLINE void sum_hidden(const solve_args &p, const real *pack, int replica, int block, real *partial)
{
    constexpr int width = LP < THREADS ? LP : THREADS;
    const int slice = thread_index() / width, member = thread_index() % width;
    for (int first = 0; first < LP; first += width) {
        const int unit = first + member < LP ? first + member : LP - 1,
                  used = LP - first < width ? LP - first : width;
        const unit_column weights = load_unit_column(pack, unit);
        unit_sums sums;
#pragma unroll
        for (int k = 0; k <= 2 * M; k++)
            sums.row[k] = 0;
        for_segments(p, replica, block, [&](const segment &here) {
            add_segment(p, here, weights, unit, slice, member, width, sums);
        });
        add_slices<SLICES>(sums.row, member, slice, width, used,
                           [&](int k, int at, real sum) { partial[(size_t)k * LP + first + at] = sum; });
    }
}
#endif

// ---- the small sums: Abar, h, C, B and B+ -----------------------------------------------------------------

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

#if MANY_VARIABLES
// ---- the sums of B and B+: a thread has a variable, and slices of threads share the steps -----------------

struct variable_sums { // of dB (N, M), then of dB+ (M, N)
    real row[2 * M];
};

// What a time adds, with y of `find_y`.  a: its strength of forcing; through: of the gradient through B+.
// P: the variable's column of B+
INLINE void add_time(const real *row, int n, const real *P, real a, real weight, real through,
                     variable_sums &sums)
{
    real4 product = {0, 0, 0, 0};
    const real error = row[AT_E + n];
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 w = load4(row + AT_W + 4 * q), column = load4_constant(P + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M)
                product.a[k] += column.a[k] * w.a[k];
    }
    const real flowing =
        a != 0 ? a * ((product.a[0] + product.a[1]) + (product.a[2] + product.a[3])) : real(0);
    const real y = flowing + weight * error, back = through * error;
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 z = load4(row + AT_Z + 4 * q), w = load4(row + AT_W + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * q + k < M) {
                sums.row[4 * q + k < M ? 4 * q + k : 0] += y * z.a[k];
                if (through != 0) // at T, w is undefined
                    sums.row[4 * q + k < M ? M + 4 * q + k : 0] += back * w.a[k];
            }
    }
}

// Times of a segment and, at the end of a sequence, T, which has an error but no step: w is undefined there.
INLINE void add_times(const solve_args &p, const real *pack, const segment &here, int n, int slice,
                      int slices, variable_sums &sums)
{
    const int last = here.last + (here.last == p.T);
    const real *rows = p.rows + here.sequence * (p.T + 1) * ROW, *P = pack + PACK_P + n * MP;
    const real weight = real(p.weight);
#pragma unroll(M > 16 ? 1 : 2)
    for (int t = here.first + slice; t < last; t += slices) {
        const real a = !p.flow || t == p.T ? real(0) : t == 0 ? real(1) : strength(p, pack, t);
        add_time(rows + (size_t)t * ROW, n, P, t > 0 ? a : real(0), t > p.warmup ? weight : real(0), a, sums);
    }
}

INLINE void sum_variables(const solve_args &p, const real *pack, int replica, int block, real *partial)
{
    constexpr int width = (N + 31) / 32 * 32 < THREADS ? (N + 31) / 32 * 32 : THREADS,
                  slices = THREADS / width;
    const int slice = thread_index() / width, member = thread_index() % width;
    for (int first = 0; first < N; first += width) {
        const int n = first + member < N ? first + member : N - 1,
                  used = N - first < width ? N - first : width;
        variable_sums sums;
#pragma unroll
        for (int k = 0; k < 2 * M; k++)
            sums.row[k] = 0;
        if (slice < slices)
            for_segments(p, replica, block,
                         [&](const segment &here) { add_times(p, pack, here, n, slice, slices, sums); });
        add_slices<slices>(sums.row, member, slice, width, used, [&](int k, int at, real sum) {
            partial[k < M ? SUM_B + (first + at) * M + k : SUM_P + (k - M) * N + first + at] = sum;
        });
    }
}
#endif

// ---- all blocks -------------------------------------------------------------------------------------------

// Add the partial sums of a few blocks, in double and in fixed order: a thread has an entry.
INLINE void sum_few_blocks(const solve_args &p, int replica, int block)
{
    const real *partial = p.partial + (size_t)replica * p.sum_blocks * SUMS;
    for (int entry = block * THREADS + thread_index(); entry < SUMS; entry += p.sum_blocks * THREADS) {
        double sum = 0;
#pragma unroll 8
        for (int b = 0; b < p.sum_blocks; b++)
            sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        p.sums[(size_t)replica * SUMS + entry] = sum;
    }
}

// The same of many: warps share the blocks, and a lane has an entry.
INLINE void sum_many_blocks(const solve_args &p, int replica, int block)
{
    double *scratch = block_memory().totals;
    const int lane = thread_index() % 32, warp = warp_index();
    const real *partial = p.partial + (size_t)replica * p.sum_blocks * SUMS;
    for (int first = 32 * block; first < SUMS; first += 32 * p.sum_blocks) {
        const int entry = first + lane;
        double sum = 0;
        if (entry < SUMS)
            for (int b = warp; b < p.sum_blocks; b += BLOCK_WARPS)
                sum += (double)__ldcg(partial + (size_t)b * SUMS + entry);
        __syncthreads();
        scratch[warp * 32 + lane] = sum;
        __syncthreads();
        if (warp == 0 && entry < SUMS) {
#pragma unroll 4
            for (int other = 1; other < BLOCK_WARPS; other++)
                sum += scratch[other * 32 + lane];
            p.sums[(size_t)replica * SUMS + entry] = sum;
        }
    }
}

// The loss, from the squares of the blocks of solve.cu; by one warp of the block with the fewest entries.
INLINE void find_loss(const solve_args &p, int replica)
{
    const int lane = thread_index() % 32;
    double squares = 0;
#pragma unroll 4
    for (int b = lane; b < p.blocks; b += 32)
        squares += p.squares[(size_t)replica * p.blocks + b];
    squares = warp_sum(squares);
    if (lane == 0)
        p.facts[FACTS * replica + FACT_LOSS] = 0.5 * loss_weight(p, replica) * squares;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) sum_gradient(const __grid_constant__ solve_args p)
{
    const int teams = gridDim.x / p.sum_blocks, block = blockIdx.x % p.sum_blocks;
    for (int replica = blockIdx.x / p.sum_blocks; replica < p.replicas; replica += teams) {
        const real *pack = p.pack + (size_t)replica * PACK;
        real *partial = p.partial + ((size_t)replica * p.sum_blocks + block) * SUMS;
        if (thread_index() == 0)
            block_memory().phase = 0;
        if (block == p.sum_blocks - 1 && warp_index() == 0)
            find_loss(p, replica);
        sum_hidden(p, pack, replica, block, partial);
        __syncthreads();
        sum_latent(p, pack, replica, block, partial);
#if MANY_VARIABLES
        sum_variables(p, pack, replica, block, partial);
#endif
        team_barrier(p.arrived + (size_t)replica * BARRIER_WORDS + BARRIER_WORDS - 2, (unsigned)p.sum_blocks,
                     block_memory().phase); // this word is not used by border.cuh
        if (p.sum_blocks <= BLOCK_WARPS)
            sum_few_blocks(p, replica, block);
        else
            sum_many_blocks(p, replica, block);
        __syncthreads();
    }
}

// For the host: abi.h.
extern "C" __device__ const sum_variant sum_facts = {(int)sizeof(sum_shared), THREADS,
                                                     (int)sizeof(solve_args)};
