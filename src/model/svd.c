/*
 * svd.c - the singular value decomposition by one-sided Jacobi rotations (Hestenes), which finds small
 * singular values to high relative accuracy, and the pseudo-inverse from it.
 */
#include "model/svd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_SWEEPS = 60 };

/* Rows with squares below that, beside a largest element of 1, count as 0: products would lose their digits.
 */
static const double least_square = DBL_MIN / DBL_EPSILON;

/* The decomposition of a matrix with at least as many columns as rows. */
typedef struct wide {
    size_t k, n;
    double *w; /* (k, n): rows that become orthogonal */
    double *q; /* (k, k): row i is column i of the product of all rotations */
} wide;

size_t ant_svd_work(size_t rows, size_t cols)
{
    const size_t k = rows < cols ? rows : cols;
    return rows * cols + k * k;
}

/* The largest modulus; NaN or infinity when an element is not finite. */
static double largest(size_t count, const double *a)
{
    double most = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a[i]))
            return NAN;
        most = fmax(most, fabs(a[i]));
    }
    return most;
}

static void rotate(size_t count, double *x, double *y, double c, double s)
{
    for (size_t i = 0; i < count; i++) {
        const double kept = x[i];
        x[i] = c * kept - s * y[i];
        y[i] = s * kept + c * y[i];
    }
}

/* Make two rows orthogonal; false when they are already. */
static bool orthogonalise(const wide *d, size_t i, size_t j)
{
    double *x = d->w + i * d->n, *y = d->w + j * d->n, xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t t = 0; t < d->n; t++) {
        xx += x[t] * x[t];
        yy += y[t] * y[t];
        xy += x[t] * y[t];
    }
    if (xx < least_square || yy < least_square ||
        fabs(xy) <= DBL_EPSILON * sqrt((double)d->n) * sqrt(xx) * sqrt(yy))
        return false;
    const double zeta = (yy - xx) / (2.0 * xy);
    const double tangent = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    const double c = 1.0 / hypot(1.0, tangent), s = c * tangent;
    rotate(d->n, x, y, c, s);
    rotate(d->k, d->q + i * d->k, d->q + j * d->k, c, s);
    return true;
}

static antler_status sweep_all(const wide *d)
{
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        bool rotated = false;
        for (size_t i = 0; i < d->k; i++) {
            for (size_t j = i + 1; j < d->k; j++)
                rotated = orthogonalise(d, i, j) || rotated;
        }
        if (!rotated)
            return ANTLER_OK;
    }
    return ant_fail(ANTLER_NOT_CONVERGED, "the singular value decomposition did not converge");
}

static double length(size_t n, const double *x)
{
    double squares = 0.0;
    for (size_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    return sqrt(squares);
}

/* Row i of w: a unit vector orthogonal to the rows before it, for a singular value of 0. */
static void complete(const wide *d, size_t i)
{
    double *x = d->w + i * d->n;
    for (size_t axis = 0; axis < d->n; axis++) {
        memset(x, 0, d->n * sizeof *x);
        x[axis] = 1.0;
        for (size_t j = 0; j < 2 * i; j++) { /* twice, for rounding */
            const double *y = d->w + j % i * d->n;
            double dot = 0.0;
            for (size_t t = 0; t < d->n; t++)
                dot += x[t] * y[t];
            for (size_t t = 0; t < d->n; t++)
                x[t] -= dot * y[t];
        }
        const double size = length(d->n, x);
        for (size_t t = 0; t < d->n; t++)
            x[t] /= size > 0.0 ? size : 1.0;
        if (size > 0.5 / sqrt((double)d->n))
            return;
    }
}

static void swap(size_t count, double *x, double *y)
{
    for (size_t i = 0; i < count; i++) {
        const double kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

/* Singular values s: (k), falling, and unit rows of w. */
static void finish(const wide *d, double scale, double *s)
{
    for (size_t i = 0; i < d->k; i++)
        s[i] = length(d->n, d->w + i * d->n);
    for (size_t i = 0; i < d->k; i++) {
        size_t most = i;
        for (size_t j = i + 1; j < d->k; j++)
            most = s[j] > s[most] ? j : most;
        if (most != i) {
            swap(1, s + i, s + most);
            swap(d->n, d->w + i * d->n, d->w + most * d->n);
            swap(d->k, d->q + i * d->k, d->q + most * d->k);
        }
        if (s[i] * s[i] < least_square) {
            s[i] = 0.0;
            complete(d, i);
        }
        for (size_t t = 0; t < d->n && s[i] > 0.0; t++)
            d->w[i * d->n + t] /= s[i];
        s[i] *= scale;
    }
}

/* out: (cols, rows), the transpose of a: (rows, cols) */
static void transpose(size_t rows, size_t cols, const double *a, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            out[j * rows + i] = a[i * cols + j];
    }
}

antler_status ant_svd(size_t rows, size_t cols, const double *a, double *u, double *s, double *vt,
                      double *work)
{
    const bool tall = rows > cols;
    const wide d = {tall ? cols : rows, tall ? rows : cols, work, work + rows * cols};
    const double most = largest(rows * cols, a);
    if (isnan(most))
        return ant_fail(ANTLER_NON_FINITE, "the matrix to decompose is not finite");
    int exponent = 0;
    (void)frexp(most, &exponent);
    if (tall)
        transpose(rows, cols, a, d.w);
    else
        memcpy(d.w, a, rows * cols * sizeof *a);
    for (size_t i = 0; i < rows * cols; i++) /* squares then neither overflow nor vanish */
        d.w[i] = ldexp(d.w[i], -exponent);
    memset(d.q, 0, d.k * d.k * sizeof *d.q);
    for (size_t i = 0; i < d.k; i++)
        d.q[i * d.k + i] = 1.0;
    ANT_TRY(sweep_all(&d));
    finish(&d, ldexp(1.0, exponent), s);
    if (tall) {
        transpose(d.k, d.n, d.w, u);
        memcpy(vt, d.q, d.k * d.k * sizeof *vt);
    } else {
        memcpy(vt, d.w, d.k * d.n * sizeof *vt);
        transpose(d.k, d.k, d.q, u);
    }
    return ANTLER_OK;
}

void ant_svd_pinv(size_t rows, size_t cols, const double *u, const double *s, const double *vt, double *pinv)
{
    const size_t k = rows < cols ? rows : cols;
    const double least = s[0] * DBL_EPSILON * (double)(rows > cols ? rows : cols);
    memset(pinv, 0, cols * rows * sizeof *pinv);
    for (size_t q = 0; q < k && s[q] > least; q++) {
        for (size_t j = 0; j < cols; j++) {
            for (size_t i = 0; i < rows; i++)
                pinv[j * rows + i] += vt[q * cols + j] * u[i * k + q] / s[q];
        }
    }
}
