// sums_variables.cuh - the sums of B and B+ of many variables: a thread has a variable, and slices of threads
// share the steps.
// alone: -DREAL_BITS=32 -DM=16 -DN=64 -DL=512 -DK=0 -DCLIPPED=0
#ifndef ANT_SUMS_VARIABLES_CUH
#define ANT_SUMS_VARIABLES_CUH

#include "sums_shape.cuh"

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
