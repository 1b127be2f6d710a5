// observation.cuh - between states and observations, for each time t of a segment: the teacher before the
// passes, the errors after them.  A lane has one time t or, with many variables, some of these at all times.
// alone: -DREAL_BITS=32 -DM=4 -DN=3 -DL=50 -DK=0 -DCLIPPED=0 -DWARPS=8 -DNEWTON=1 -DSEGMENTED=1 -DSHARED_LIMIT=232448
#ifndef ANT_OBSERVATION_CUH
#define ANT_OBSERVATION_CUH

#include "segment_pass.cuh"

#if MANY_VARIABLES
#define TIMES ((M > 16 ? 2 : 4) / (REAL_BITS / 32)) // that share a weight which is loaded

// This lane's share of rows of B^T or B+ times something, of TIMES times t; each sum to the row of its time.
// at: of `first` in p.rows; count: how many of the times there are
INLINE void store_sums(const warp_context &ctx, real (&share)[TIMES][M], real *at, int count)
{
    const int row = look_up_owner<false>(ctx.lane), kept = look_up_owner<true>(ctx.lane);
#pragma unroll
    for (int s = 0; s < TIMES; s++) {
        const real sum = sum_over_lanes<false>(share[s], kept);
        if (s < count && row >= 0)
            at[s * ROW + row] = sum;
    }
}

INLINE void clear_sums(real (&share)[TIMES][M])
{
#pragma unroll
    for (int s = 0; s < TIMES; s++)
#pragma unroll
        for (int m = 0; m < M; m++)
            share[s][m] = 0;
}

// share[s] += factor[s] times row n of a matrix (N, MP).
template <int FIRST>
INLINE void add_row(const warp_context &ctx, int n, const real (&factor)[TIMES], real (&share)[TIMES][M])
{
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 four = four_weights_at<FIRST>(ctx, n * MP + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int s = 0; s < TIMES; s++)
                if (4 * q + k < M)
                    share[s][4 * q + k < M ? 4 * q + k : 0] += factor[s] * four.a[k];
    }
}

// z-bar of a segment, from its start to the time before its end.
INLINE void find_teachers(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    for (int first = here.first; first < here.last; first += TIMES) {
        const int count = here.last - first < TIMES ? here.last - first : TIMES;
        real share[TIMES][M], x[TIMES];
        clear_sums(share);
#pragma unroll 1
        for (int n = ctx.lane; n < N; n += 32) {
#pragma unroll
            for (int s = 0; s < TIMES; s++)
                x[s] = __ldg(p.x + (base + (s < count ? first + s : first)) * N + n);
            add_row<PACK_P>(ctx, n, x, share);
        }
        store_sums(ctx, share, p.rows + (base + first) * ROW + AT_TEACHER, count);
    }
    __syncwarp();
}

// The errors of variable n at TIMES times from `first` on.
INLINE void find_errors_of(const solve_args &p, const warp_context &ctx, size_t base, int first, int count,
                           int n, real (&error)[TIMES])
{
#pragma unroll
    for (int s = 0; s < TIMES; s++)
        error[s] = __ldg(p.x + (base + (s < count ? first + s : first)) * N + n);
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        const real4 B = four_weights_at<PACK_B>(ctx, n * MP + 4 * q);
#pragma unroll
        for (int s = 0; s < TIMES; s++) {
            const real4 z = load4(p.rows + (base + (s < count ? first + s : first)) * ROW + AT_Z + 4 * q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (4 * q + k < M)
                    error[s] -= B.a[k] * z.a[k];
        }
    }
}

// e_t = x_t - B z_t, the squares, and the direct part of the adjoint, -weight B^T e_t, for t = first+1 ..
// last.  The latter is stored in the row of t - 1: in that of t it would overwrite the teacher of the next
// segment, which another block may still need.
INLINE double find_errors(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    const real whole = real(loss_weight(p, ctx.replica));
    double squares = 0;
    if (here.first == 0)
#pragma unroll 1
        for (int n = ctx.lane; n < N; n += 32)
            p.rows[base * ROW + AT_E + n] = p.x[base * N + n];
    for (int first = here.first + 1; first <= here.last; first += TIMES) {
        const int count = here.last + 1 - first < TIMES ? here.last + 1 - first : TIMES;
        real share[TIMES][M], error[TIMES], factor[TIMES];
        clear_sums(share);
#pragma unroll 1
        for (int n = ctx.lane; n < N; n += 32) {
            find_errors_of(p, ctx, base, first, count, n, error);
#pragma unroll
            for (int s = 0; s < TIMES; s++) {
                const bool counts = s < count && first + s > p.warmup;
                factor[s] = counts ? -whole * error[s] : real(0);
                squares += counts ? (double)error[s] * (double)error[s] : 0.0;
                if (s < count)
                    p.rows[(base + first + s) * ROW + AT_E + n] = error[s];
            }
            add_row<PACK_B>(ctx, n, factor, share);
        }
        store_sums(ctx, share, p.rows + (base + first - 1) * ROW + AT_TEACHER, count);
    }
    __syncwarp();
    return squares;
}

#else
// z-bar of a segment, from its start to the time before its end.
INLINE void find_teachers(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    for (int step = here.first + ctx.lane; step < here.last; step += 32) {
        const real *x = p.x + (base + step) * N;
#if PATTERNS
        const real *pinv = pattern_weights(p, ctx.patterns, sequence, step) + PATTERN_P;
#endif
        real *to = p.rows + (base + step) * ROW + AT_TEACHER;
#pragma unroll 4
        for (int q = 0; q < QUADS; q++) {
            real4 sum = {0, 0, 0, 0};
#pragma unroll 8
            for (int n = 0; n < N; n++) {
#if PATTERNS
                const real4 P = load4_constant(pinv + n * MP + 4 * q);
#else
                const real4 P = four_weights_at<PACK_P>(ctx, n * MP + 4 * q);
#endif
                const real observed = observed_or_zero(__ldg(x + n));
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum.a[k] += P.a[k] * observed;
            }
            store4(to + 4 * q, sum);
        }
    }
    __syncwarp();
}

// Row n of B times z (MP).
INLINE real predict(const warp_context &ctx, int n, const real *z)
{
    real even = 0, odd = 0;
#pragma unroll 4
    for (int q = 0; q < QUADS; q++) {
        const real4 a = four_weights_at<PACK_B>(ctx, n * MP + 4 * q), b = load4(z + 4 * q);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (QUADS > 4 || 4 * q + k < M)
                (k % 2 == 0 ? even : odd) += a.a[k] * b.a[k];
    }
    return even + odd;
}

// e_t = x_t - B z_t, the squares, and the direct part of the adjoint, -weight B^T e_t, for t = first+1 ..
// last.  The latter is stored in the row of t - 1: in that of t it would overwrite the teacher of the next
// segment, which another block may still need.
INLINE double find_errors(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    constexpr int BATCH = N < 8 ? N : 8; // errors between two stores
    double squares = 0;
    const double whole = loss_weight(p, ctx.replica);
    // z_0 = B+ x_0: the gradient of B+ needs x_0 in the place of e_0.
    if (here.first == 0)
#pragma unroll 1
        for (int n = ctx.lane; n < N; n += 32)
            p.rows[base * ROW + AT_E + n] = observed_or_zero(p.x[base * N + n]);
    for (int step = here.first + 1 + ctx.lane; step <= here.last; step += 32) {
        real *row = p.rows + (base + step) * ROW, error[BATCH];
        const real weight = step > p.warmup ? real(whole) : real(0);
        for (int first = 0; first < N; first += BATCH) {
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                const int n = first + i < N ? first + i : N - 1;
                error[i] = __ldg(p.x + (base + step) * N + n) - predict(ctx, n, row + AT_Z);
#if PATTERNS
                error[i] = is_missing(p.x[(base + step) * N + n]) ? real(0) : error[i];
#endif
            }
#pragma unroll
            for (int i = 0; i < BATCH; i++)
                if (first + i < N) {
                    row[AT_E + first + i] = error[i];
                    squares += step > p.warmup ? (double)error[i] * (double)error[i] : 0.0;
                }
        }
#pragma unroll 4
        for (int q = 0; q < QUADS; q++) {
            real4 sum = {0, 0, 0, 0};
#pragma unroll(N <= BATCH ? N : 2)
            for (int n = 0; n < N; n++) {
                const real4 B = four_weights_at<PACK_B>(ctx, n * MP + 4 * q);
                const real e = N <= BATCH ? error[n < BATCH ? n : 0] : row[AT_E + n];
#pragma unroll
                for (int k = 0; k < 4; k++)
                    sum.a[k] -= weight * e * B.a[k];
            }
            store4(row - ROW + AT_TEACHER + 4 * q, sum);
        }
    }
    __syncwarp();
    return squares;
}

#endif

#endif
