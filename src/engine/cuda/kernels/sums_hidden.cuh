// sums_hidden.cuh - the sums of the hidden units: W, V, b.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0
#ifndef ANT_SUMS_HIDDEN_CUH
#define ANT_SUMS_HIDDEN_CUH

#include "sums_shape.cuh"

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

#endif
