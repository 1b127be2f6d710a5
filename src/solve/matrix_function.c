/* matrix_function.c - logarithm by LAPACK's eigenvalues; exponential by scaling, Taylor's series and
 * squaring. */
#include "solve/matrix_function.h"

#include "model/svd.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { TAYLOR_TERMS = 16 }; /* 0.5^17 / 17! < 1e-19 */

static const double least_reciprocal = 1e-10; /* condition of eigenvectors that leaves six digits */
static const double pi = 3.14159265358979323846;

void ant_matrix_function_carve(ant_matrix_function *f, ant_arena *arena, size_t M)
{
    const size_t svd = ant_svd_work(2 * M, 2 * M), eigen = 8 * M;
    f->M = M;
    f->work_count = svd > eigen ? svd : eigen;
    f->vectors = ant_arena_take(arena, M * M, sizeof *f->vectors);
    f->value_re = ant_arena_take(arena, M, sizeof *f->value_re);
    f->value_im = ant_arena_take(arena, M, sizeof *f->value_im);
    f->right = ant_arena_take(arena, 2 * M * M, sizeof *f->right);
    for (int i = 0; i < 3; i++)
        f->square[i] = ant_arena_take(arena, 4 * M * M, sizeof *f->square[i]);
    f->work = ant_arena_take(arena, f->work_count, sizeof *f->work);
    f->pivots = ant_arena_take(arena, M, sizeof *f->pivots);
    f->counters = ant_arena_take(arena, M, sizeof *f->counters);
}

/*
 * right = (Q D)^T, column-major, with Q the real basis of eigenvectors and D = log of the eigenvalues: first
 * its real, then its imaginary part.  A pair a +- ib has the vectors u +- iv and the columns u, v in Q, on
 * which the matrix acts as [a b; -b a] and the logarithm as [log r, theta; -theta, log r].
 */
static void scale_vectors(ant_matrix_function *f)
{
    const size_t M = f->M;
    double *re = f->right, *im = f->right + M * M;
    memset(im, 0, M * M * sizeof *im);
    for (size_t j = 0; j < M; j++) {
        const bool pair = f->value_im[j] != 0.0;
        const double *u = f->vectors + j * M, *v = pair ? u + M : u;
        const double modulus = fmax(hypot(f->value_re[j], f->value_im[j]), DBL_MIN);
        const double angle = atan2(f->value_im[j], f->value_re[j]), size = log(modulus);
        for (size_t i = 0; i < M; i++) { /* row i of Q D is column i here */
            re[i * M + j] = size * u[i] - (pair ? angle * v[i] : 0.0);
            if (pair)
                re[i * M + j + 1] = angle * u[i] + size * v[i];
            else if (f->value_re[j] < 0.0)
                im[i * M + j] = pi * u[i];
        }
        j += pair;
    }
}

/* From the LU factors of the eigenvectors, whose columns have a norm of at most 1. */
static bool nearly_singular(ant_matrix_function *f)
{
    double reciprocal = 0.0; /* of the condition number */
    const lapack_int m = (lapack_int)f->M;
    const lapack_int info = LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', m, f->vectors, m, sqrt((double)f->M),
                                                &reciprocal, f->work, f->counters);
    return info != 0 || !(reciprocal > least_reciprocal);
}

antler_status ant_matrix_log(ant_matrix_function *f, double *a, double *log)
{
    const size_t M = f->M;
    const lapack_int m = (lapack_int)M;
    double none[1];
    for (size_t i = 0; i < M * M; i++) {
        if (!isfinite(a[i]))
            return ant_fail(ANTLER_NON_FINITE, "the matrix of a logarithm is not finite");
    }
    /* To LAPACK, the row-major a is a^T = Q E Q^-1.  Then log a = (Q D Q^-1)^T solves Q^T log a = (Q D)^T. */
    lapack_int info = LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'V', m, a, m, f->value_re, f->value_im, none,
                                         1, f->vectors, m, f->work, (lapack_int)f->work_count);
    if (info == 0) {
        scale_vectors(f);
        info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, m, f->vectors, m, f->pivots);
    }
    if (info == 0 && nearly_singular(f))
        info = 1;
    if (info == 0)
        info = LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', m, 2 * m, f->vectors, m, f->pivots, f->right, m);
    if (info != 0)
        return ant_fail(ANTLER_NOT_CONVERGED,
                        "a matrix without a basis of eigenvectors has no logarithm here");
    for (size_t part = 0; part < 2; part++) {
        for (size_t i = 0; i < M; i++) {
            for (size_t j = 0; j < M; j++)
                log[(part * M + i) * M + j] = f->right[(part * M + j) * M + i];
        }
    }
    return ANTLER_OK;
}

/* out = a b, all (n, n). */
static void multiply(size_t n, const double *a, const double *b, double *out)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    }
}

/* The complex (M, M) matrix as the real [re -im; im re] (2M, 2M), whose functions and norms are the same. */
static void embed(size_t M, const double *a, double *out)
{
    const size_t n = 2 * M;
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++) {
            out[i * n + j] = out[(i + M) * n + j + M] = a[i * M + j];
            out[(i + M) * n + j] = a[(M + i) * M + j];
            out[i * n + j + M] = -a[(M + i) * M + j];
        }
    }
}

/* Divide by a power of two until the largest sum of a row is at most 1/2; the exponent. */
static int scale_down(size_t n, double *a)
{
    double largest = 0.0;
    int exponent = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < n; j++)
            sum += fabs(a[i * n + j]);
        largest = fmax(largest, sum);
    }
    (void)frexp(largest, &exponent); /* largest <= 2^exponent */
    exponent = exponent + 1 > 0 ? exponent + 1 : 0;
    for (size_t i = 0; i < n * n; i++)
        a[i] = ldexp(a[i], -exponent);
    return exponent;
}

antler_status ant_matrix_exp_norm(ant_matrix_function *f, const double *a, double *norm)
{
    const size_t n = 2 * f->M;
    double *x = f->square[0], *sum = f->square[1], *next = f->square[2];
    for (size_t i = 0; i < n * f->M; i++) {
        if (!isfinite(a[i]))
            return ant_fail(ANTLER_NON_FINITE, "the matrix of an exponential is not finite");
    }
    embed(f->M, a, x);
    const int squarings = scale_down(n, x);
    memset(sum, 0, n * n * sizeof *sum);
    for (int k = TAYLOR_TERMS; k >= 0; k--) { /* sum = I + x sum / (k + 1) */
        multiply(n, x, sum, next);
        for (size_t i = 0; i < n * n; i++)
            sum[i] = next[i] / (k + 1) + (i % (n + 1) == 0 ? 1.0 : 0.0);
    }
    for (int k = 0; k < squarings; k++) {
        multiply(n, sum, sum, next);
        memcpy(sum, next, n * n * sizeof *sum);
    }
    return ant_svd_largest(n, n, sum, norm, f->work);
}
