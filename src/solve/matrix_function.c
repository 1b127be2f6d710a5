/* matrix_function.c - logarithm by eigenvalues; exponential by scaling, Taylor's series and squaring. */
#include "solve/matrix_function.h"

#include "model/eigen.h"
#include "model/spectral_norm.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TAYLOR_TERMS = 16 }; /* 0.5^17 / 17! < 1e-19 */

static const double least_pivot = 1e-10; /* of eigenvectors, beside the largest: leaves six digits */
static const double pi = 3.14159265358979323846;

void ant_matrix_function_carve(ant_matrix_function *f, ant_arena *arena, size_t M)
{
    const size_t norm = ant_spectral_norm_work(2 * M, 2 * M), eigen = 3 * M;
    f->M = M;
    f->vectors = ant_arena_take(arena, M * M, sizeof *f->vectors);
    f->value_re = ant_arena_take(arena, M, sizeof *f->value_re);
    f->value_im = ant_arena_take(arena, M, sizeof *f->value_im);
    f->right = ant_arena_take(arena, 2 * M * M, sizeof *f->right);
    for (int i = 0; i < 3; i++)
        f->square[i] = ant_arena_take(arena, 4 * M * M, sizeof *f->square[i]);
    f->work = ant_arena_take(arena, norm > eigen ? norm : eigen, sizeof *f->work);
}

/*
 * right = [Re (Q D)^T, Im (Q D)^T], with Q the real basis of eigenvectors and D = log of the eigenvalues.  A
 * pair a +- ib has the vectors u +- iv and the columns u, v in Q, on which the matrix acts as [a b; -b a] and
 * the logarithm as [log r, theta; -theta, log r].
 */
static void scale_vectors(ant_matrix_function *f)
{
    const size_t M = f->M;
    memset(f->right, 0, 2 * M * M * sizeof *f->right);
    for (size_t j = 0; j < M; j++) {
        const bool pair = f->value_im[j] != 0.0;
        const double *u = f->vectors + j * M, *v = pair ? u + M : u;
        const double modulus = fmax(hypot(f->value_re[j], f->value_im[j]), DBL_MIN);
        const double angle = atan2(f->value_im[j], f->value_re[j]), size = log(modulus);
        double *re = f->right + 2 * M * j, *im = re + M;
        for (size_t i = 0; i < M; i++) {
            re[i] = size * u[i] - (pair ? angle * v[i] : 0.0);
            if (pair)
                re[2 * M + i] = angle * u[i] + size * v[i];
            else if (f->value_re[j] < 0.0)
                im[i] = pi * u[i];
        }
        j += pair;
    }
}

static void swap_rows(size_t count, double *a, double *b)
{
    for (size_t i = 0; i < count; i++) {
        const double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* row -= factor other */
static void subtract_row(size_t count, double factor, const double *other, double *row)
{
    for (size_t i = 0; i < count; i++)
        row[i] -= factor * other[i];
}

/*
 * Solve a x = right in place by elimination with row pivots; false when a pivot is small beside the largest.
 * a: (M, M); right: (M, 2M).
 */
static bool solve(size_t M, double *a, double *right)
{
    double largest = 0.0, smallest = INFINITY;
    for (size_t k = 0; k < M; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < M; i++)
            pivot = fabs(a[i * M + k]) > fabs(a[pivot * M + k]) ? i : pivot;
        swap_rows(M, a + k * M, a + pivot * M);
        swap_rows(2 * M, right + k * 2 * M, right + pivot * 2 * M);
        const double size = fabs(a[k * M + k]);
        largest = fmax(largest, size);
        smallest = fmin(smallest, size);
        if (!(smallest > least_pivot * largest)) /* the small one may come first */
            return false;
        for (size_t i = k + 1; i < M; i++) {
            const double factor = a[i * M + k] / a[k * M + k];
            subtract_row(M - k, factor, a + k * M + k, a + i * M + k);
            subtract_row(2 * M, factor, right + k * 2 * M, right + i * 2 * M);
        }
    }
    for (size_t k = M; k-- > 0;) {
        for (size_t i = k + 1; i < M; i++)
            subtract_row(2 * M, a[k * M + i], right + i * 2 * M, right + k * 2 * M);
        for (size_t j = 0; j < 2 * M; j++)
            right[k * 2 * M + j] /= a[k * M + k];
    }
    return true;
}

static void transpose(size_t M, double *a)
{
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < i; j++) {
            const double kept = a[i * M + j];
            a[i * M + j] = a[j * M + i];
            a[j * M + i] = kept;
        }
    }
}

antler_status ant_matrix_log(ant_matrix_function *f, double *a, double *log)
{
    const size_t M = f->M;
    for (size_t i = 0; i < M * M; i++) {
        if (!isfinite(a[i]))
            return ant_fail(ANTLER_NON_FINITE, "the matrix of a logarithm is not finite");
    }
    /* With a^T = Q E Q^-1 and the rows of Q^T, log a = (Q D Q^-1)^T solves Q^T log a = (Q D)^T. */
    transpose(M, a);
    ANT_TRY(ant_eigen(M, a, f->value_re, f->value_im, f->vectors, f->work));
    scale_vectors(f);
    if (!solve(M, f->vectors, f->right))
        return ant_fail(ANTLER_NOT_CONVERGED,
                        "a matrix without a basis of eigenvectors has no logarithm here");
    for (size_t i = 0; i < M; i++) {
        memcpy(log + i * M, f->right + 2 * i * M, M * sizeof *log);
        memcpy(log + (M + i) * M, f->right + (2 * i + 1) * M, M * sizeof *log);
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
    return ant_spectral_norm(n, n, sum, norm, f->work);
}
