/*
 * lanczos.c - Lanczos' method for a^T a, and bisection for the largest eigenvalue of its tridiagonal matrix.
 *
 * The vectors are not orthogonalised again.  That repeats eigenvalues of the tridiagonal matrix once they
 * have converged, but does not change the largest.
 */
#include "model/lanczos.h"

#include <float.h>
#include <math.h>

/* Enough for a random matrix of thousands of columns: the error falls as exp(-4 STEPS sqrt(relative gap)). */
enum { STEPS = 300 };

size_t ant_lanczos_work(size_t rows, size_t cols)
{
    return rows + 3 * cols + 2 * STEPS;
}

/* out = a^T a in.  in, out: (cols); product: (rows) */
static void apply(size_t rows, size_t cols, const double *a, const double *in, double *product, double *out)
{
    for (size_t j = 0; j < cols; j++)
        out[j] = 0.0;
    for (size_t i = 0; i < rows; i++) {
        product[i] = 0.0;
        for (size_t j = 0; j < cols; j++)
            product[i] += a[i * cols + j] * in[j];
        for (size_t j = 0; j < cols; j++)
            out[j] += a[i * cols + j] * product[i];
    }
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* No eigenvalue is x or larger: all pivots of T - x are negative (Sylvester).  diagonal, beside: (n) */
static int all_below(size_t n, const double *diagonal, const double *beside, double x)
{
    double pivot = diagonal[0] - x;
    for (size_t i = 1; i < n && pivot < 0.0; i++)
        pivot = diagonal[i] - x - beside[i - 1] * beside[i - 1] / pivot;
    return pivot < 0.0;
}

/* By bisection between the largest diagonal entry and Gershgorin's bound. */
static double largest_eigenvalue(size_t n, const double *diagonal, const double *beside)
{
    double low = 0.0, high = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double radius = (i > 0 ? beside[i - 1] : 0.0) + (i + 1 < n ? beside[i] : 0.0);
        low = fmax(low, diagonal[i]);
        high = fmax(high, diagonal[i] + radius);
    }
    for (double x = 0.5 * (low + high); low < x && x < high; x = 0.5 * (low + high)) {
        if (all_below(n, diagonal, beside, x))
            high = x;
        else
            low = x;
    }
    return low;
}

double ant_largest_square(size_t rows, size_t cols, const double *a, double *work)
{
    double *diagonal = work, *beside = diagonal + STEPS; /* of the tridiagonal matrix */
    double *now = beside + STEPS, *before = now + cols, *next = before + cols, *product = next + cols;
    size_t n = 0;
    for (size_t j = 0; j < cols; j++) {
        now[j] = 1.0 / sqrt((double)cols);
        before[j] = 0.0;
    }
    for (double length = 0.0; n < STEPS; n++) {
        apply(rows, cols, a, now, product, next);
        diagonal[n] = dot(cols, now, next);
        for (size_t j = 0; j < cols; j++)
            next[j] -= diagonal[n] * now[j] + length * before[j];
        beside[n] = length = sqrt(dot(cols, next, next));
        if (length <= DBL_EPSILON * diagonal[0]) /* the vectors span an invariant space */
            return largest_eigenvalue(n + 1, diagonal, beside);
        for (size_t j = 0; j < cols; j++) {
            before[j] = now[j];
            now[j] = next[j] / length;
        }
    }
    return largest_eigenvalue(n, diagonal, beside);
}
