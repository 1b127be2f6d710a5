// observation.cuh - what is found per moment, before and after the passes over a stretch: the teacher, the
// errors.  A lane has a step of the stretch.
#ifndef ANT_MOMENTS_CUH
#define ANT_MOMENTS_CUH

#include "segment_pass.cuh"

// z-bar of a stretch, from its start to the moment before its end.
INLINE void find_teachers(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    for (int step = here.first + ctx.lane; step < here.last; step += 32) {
        const real *x = p.x + (base + step) * N;
        real *to = p.rows + (base + step) * ROW + AT_TEACHER;
#pragma unroll 4
        for (int q = 0; q < QUADS; q++) {
            real4 sum = {0, 0, 0, 0};
#pragma unroll 8
            for (int n = 0; n < N; n++) {
                const real4 P = four_weights_at<PACK_P>(ctx, n * MP + 4 * q);
                const real observed = __ldg(x + n);
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

// e_t = x_t - B z_t, the squares, and the direct part of the adjoint, -weight B^T e_t; t = first+1 .. last.
// The latter stands with moment t - 1: with t it would overwrite the teacher of the stretch after this one,
// which may belong to another block and be under way.
INLINE double find_errors(const solve_args &p, const warp_context &ctx, const segment &here, size_t sequence)
{
    const size_t base = sequence * (p.T + 1);
    constexpr int BATCH = N < 8 ? N : 8; // errors between two writes
    double squares = 0;
    if (here.first == 0) // z_0 = B+ x_0: x_0 stands where the gradient of B+ looks for e_0
#pragma unroll 1
        for (int n = ctx.lane; n < N; n += 32)
            p.rows[base * ROW + AT_E + n] = p.x[base * N + n];
    for (int step = here.first + 1 + ctx.lane; step <= here.last; step += 32) {
        real *row = p.rows + (base + step) * ROW, error[BATCH];
        const real weight = step > p.warmup ? real(p.weight) : real(0);
        for (int first = 0; first < N; first += BATCH) {
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                const int n = first + i < N ? first + i : N - 1;
                error[i] = __ldg(p.x + (base + step) * N + n) - predict(ctx, n, row + AT_Z);
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
