/*
 * forcing.h - the observation matrix B, its pseudo-inverse, and the gradient through it.
 * Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_FORCING_H
#define ANT_SOLVE_FORCING_H

#include "base/arena.h"
#include "base/real.h"
#include "model/model.h"

typedef struct ANT_FN(ant_forcing) {
    size_t M, N;
    const real *B;       /* (N, M), borrowed from the parameters */
    const double *exact; /* the same in double where B is a factor of a larger one (reduce.h); else NULL */
    size_t variables;    /* of that larger one */
    real *pinv;          /* (M, N): B+ */
    double *pinv64, *b64, *u, *sigma, *vt, *work;
    double *terms; /* scratch of ant_forcing_pinv_gradient */
} ANT_FN(ant_forcing);

/* Whether there are many more variables than latent units; then products are taken in the order that suits.
 */
static inline bool ANT_FN(ant_forcing_many)(size_t M, size_t N)
{
    return N >= 64 && N >= 2 * M;
}

/* out = a b for strided operands: a is (rows, inner), b is (inner, cols).  Strides allow transposes. */
static inline void ant_multiply(size_t rows, size_t inner, size_t cols, const double *a, size_t a_row,
                                size_t a_col, const double *b, size_t b_row, size_t b_col, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < inner; k++)
                sum += a[i * a_row + k * a_col] * b[k * b_row + j * b_col];
            out[i * cols + j] = sum;
        }
    }
}

void ANT_FN(ant_forcing_carve)(ANT_FN(ant_forcing) * forcing, ant_arena *arena, size_t M, size_t N);

/* B+ by singular values; those below max(M, N) eps sigma_1 count as zero.  NON_FINITE when B is. */
antler_status ANT_FN(ant_forcing_set)(ANT_FN(ant_forcing) * forcing, const real *B);

/*
 * Add to dB the gradient through the pseudo-inverse, given G = dloss/dB+ (M, N):
 *     dB += -B+^T G B+^T + (I - B B+) G^T B+ B+^T + B+^T B+ G^T (I - B+ B)
 * the transpose of the differential of B+ at full rank (Golub and Pereyra 1973).  The second term
 * vanishes for M >= N, the third for M <= N.  That of a factor of a larger B has the terms of that.  dB: (N,
 * M).
 */
void ANT_FN(ant_forcing_pinv_gradient)(const ANT_FN(ant_forcing) * forcing, const double *G, double *dB);

#endif
