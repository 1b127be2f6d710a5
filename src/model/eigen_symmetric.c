/*
 * eigen_symmetric.c - Householder's reduction to tridiagonal form and the implicit QL method: the algorithms
 * tred2 and tql2 of EISPACK, with eigenvectors in rows.
 */
#include "model/eigen.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ITERATIONS = 60 };

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* e = a u for the leading (n, n) part of a, of which the lower half is stored. */
static void multiply_symmetric(size_t n, size_t stride, const double *a, const double *u, double *e)
{
    memset(e, 0, n * sizeof *e);
    for (size_t j = 0; j < n; j++) {
        const double *row = a + j * stride;
        double sum = row[j] * u[j];
        for (size_t k = 0; k < j; k++) {
            sum += row[k] * u[k];
            e[k] += row[k] * u[j];
        }
        e[j] += sum;
    }
}

/*
 * Row i of a: (0 .. i - 1) become 0 except the last by the reflection I - u u^T / h.  u stays in the row and
 * h in diagonal[i]; off[i] is the element that is left.  off: (i + 1), scratch before it.
 */
static void reflect_row(size_t i, size_t n, double *a, double *diagonal, double *off)
{
    double *u = a + i * n, scale = 0.0;
    for (size_t k = 0; k < i; k++)
        scale += fabs(u[k]);
    diagonal[i] = 0.0;
    off[i] = i > 0 ? u[i - 1] : 0.0;
    if (i < 2 || scale == 0.0 || scale == fabs(u[i - 1]))
        return;
    for (size_t k = 0; k < i; k++)
        u[k] /= scale;
    const double squares = dot(i, u, u), last = u[i - 1];
    const double g = last > 0.0 ? -sqrt(squares) : sqrt(squares), h = squares - last * g;
    off[i] = scale * g;
    u[i - 1] = last - g;
    diagonal[i] = h;
    multiply_symmetric(i, n, a, u, off);
    for (size_t j = 0; j < i; j++)
        off[j] /= h;
    const double half = dot(i, off, u) / (h + h);
    for (size_t j = 0; j < i; j++)
        off[j] -= half * u[j];
    for (size_t j = 0; j < i; j++) {
        for (size_t k = 0; k <= j; k++)
            a[j * n + k] -= u[j] * off[k] + off[j] * u[k];
    }
}

/* a: the reflections become their product, transposed; diagonal and off: the tridiagonal matrix. */
static void accumulate(size_t n, double *a, double *diagonal)
{
    for (size_t i = 0; i < n; i++) {
        double *u = a + i * n;
        const double h = diagonal[i], own = u[i];
        for (size_t j = 0; j < i && h != 0.0; j++) { /* row j of the product so far */
            double *row = a + j * n;
            const double factor = dot(i, row, u) / h;
            for (size_t k = 0; k < i; k++)
                row[k] -= factor * u[k];
        }
        diagonal[i] = own;
        for (size_t j = 0; j < i; j++)
            u[j] = a[j * n + i] = 0.0;
        u[i] = 1.0;
    }
}

/* Rotate rows i and i + 1. */
static void rotate(size_t n, double *row, double c, double s)
{
    double *next = row + n;
    for (size_t k = 0; k < n; k++) {
        const double kept = next[k];
        next[k] = s * row[k] + c * kept;
        row[k] = c * row[k] - s * kept;
    }
}

/* One implicit QL step on the block l .. m. */
static void step(size_t n, size_t l, size_t m, double *d, double *e, double *vectors)
{
    double g = (d[l + 1] - d[l]) / (2.0 * e[l]), r = hypot(g, 1.0), s = 1.0, c = 1.0, p = 0.0;
    g = d[m] - d[l] + e[l] / (g + copysign(r, g));
    for (size_t i = m; i-- > l;) {
        double f = s * e[i];
        const double b = c * e[i];
        e[i + 1] = r = hypot(f, g);
        if (r == 0.0) { /* the block falls apart here */
            d[i + 1] -= p;
            e[m] = 0.0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate(n, vectors + i * n, c, s);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

static void sort_rising(size_t n, double *values, double *vectors)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t least = i;
        for (size_t j = i + 1; j < n; j++)
            least = values[j] < values[least] ? j : least;
        if (least == i)
            continue;
        const double kept = values[i];
        values[i] = values[least];
        values[least] = kept;
        for (size_t k = 0; k < n; k++) {
            const double element = vectors[i * n + k];
            vectors[i * n + k] = vectors[least * n + k];
            vectors[least * n + k] = element;
        }
    }
}

antler_status ant_eigen_symmetric(size_t n, double *a, double *values, double *work)
{
    double *off = work;
    for (size_t i = n; i-- > 0;)
        reflect_row(i, n, a, values, off);
    accumulate(n, a, values);
    for (size_t i = 0; i + 1 < n; i++) /* off[i] couples i and i + 1 */
        off[i] = off[i + 1];
    off[n - 1] = 0.0;
    double size = 0.0;
    for (size_t i = 0; i < n; i++)
        size = fmax(size, fabs(values[i]) + fabs(off[i]));
    for (size_t l = 0; l < n; l++) {
        for (int iteration = 0;; iteration++) {
            size_t m = l;
            while (m + 1 < n && fabs(off[m]) > DBL_EPSILON * size)
                m++;
            if (m == l)
                break;
            ANT_CHECK(iteration < MOST_ITERATIONS, ANTLER_NOT_CONVERGED,
                      "the eigenvalues of a symmetric matrix did not converge");
            step(n, l, m, values, off, a);
        }
    }
    sort_rising(n, values, a);
    return ANTLER_OK;
}
