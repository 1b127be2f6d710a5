/*
 * spectral_norm.c - the root of the largest eigenvalue of a^T a, or of a a^T where that is smaller.  Forming
 * the product loses digits of small singular values only.
 *
 * For matrices of a few rows this takes a tenth of the time of all singular values.
 */
#include "model/spectral_norm.h"

#include <float.h>
#include <math.h>

enum { LAGUERRE_STEPS = 40 }; /* at most; a few are enough, because each triples the digits */

static const double tiny = 1e-280; /* squares below this count as zero */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t ant_spectral_norm_work(size_t rows, size_t cols)
{
    const size_t n = smaller(rows, cols);
    return n * n + 4 * n;
}

/* square = a a^T, or a^T a for more rows than columns; (n, n) with the smaller n. */
static void multiply(size_t rows, size_t cols, const double *a, double *square)
{
    const size_t n = smaller(rows, cols), long_side = rows + cols - n;
    const size_t line = rows <= cols ? cols : 1, step = rows <= cols ? 1 : cols;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < long_side; k++)
                sum += a[i * line + k * step] * a[j * line + k * step];
            square[i * n + j] = square[j * n + i] = sum;
        }
    }
}

/* Reflect the rows and columns after k of the symmetric a (n, n), so that column k ends below the diagonal;
 * the square of the entry that is left there.  v, w: (n) */
static double reflect_column(size_t n, double *a, size_t k, double *v, double *w)
{
    const double head = a[(k + 1) * n + k];
    double tail = 0.0, dot = 0.0;
    for (size_t i = k + 2; i < n; i++)
        tail += a[i * n + k] * a[i * n + k];
    const double square = head * head + tail;
    if (!(tail > tiny))
        return square;
    for (size_t i = k + 2; i < n; i++)
        v[i] = a[i * n + k];
    v[k + 1] = head + copysign(sqrt(square), head); /* adds magnitudes: no cancellation */
    const double tau = 2.0 / (v[k + 1] * v[k + 1] + tail);
    for (size_t i = k + 1; i < n; i++) {
        w[i] = 0.0;
        for (size_t j = k + 1; j < n; j++)
            w[i] += a[i * n + j] * v[j];
        w[i] *= tau;
        dot += w[i] * v[i];
    }
    for (size_t i = k + 1; i < n; i++)
        w[i] -= 0.5 * tau * dot * v[i];
    for (size_t i = k + 1; i < n; i++) {
        for (size_t j = k + 1; j < n; j++)
            a[i * n + j] -= v[i] * w[j] + w[i] * v[j];
    }
    return square;
}

/*
 * One step of Laguerre's method from x towards the largest eigenvalue of the tridiagonal matrix, which it
 * does not pass; 0 where x is not above it.  With pivots q_i of x - T: sum 1/(x - lambda) = sum q'_i/q_i, and
 * sum 1/(x - lambda)^2 is minus its derivative.  beside: squares of the entries beside the diagonal
 */
static double laguerre_step(size_t n, const double *diagonal, const double *beside, double x)
{
    double first = 0.0, second = 0.0;         /* sums of powers of 1/(x - lambda) */
    double inverse = 0.0, q1 = 0.0, q2 = 0.0; /* 1/q_i, q'_i/q_i, q''_i/q_i */
    for (size_t i = 0; i < n; i++) {
        const double c = i == 0 ? 0.0 : beside[i - 1] * inverse;
        const double pivot = x - diagonal[i] - c;
        if (!(pivot > 0.0))
            return 0.0;
        inverse = 1.0 / pivot;
        const double slope = 1.0 + c * q1, curve = c * (q2 - 2.0 * q1 * q1);
        q1 = slope * inverse;
        q2 = curve * inverse;
        first += q1;
        second += q1 * q1 - q2;
    }
    const double count = (double)n, spread = (count - 1.0) * (count * second - first * first);
    return count / (first + sqrt(fmax(0.0, spread)));
}

static double largest_eigenvalue(size_t n, double *a, double *line)
{
    double *diagonal = line, *beside = line + n, x = 0.0;
    for (size_t k = 0; k + 1 < n; k++)
        beside[k] = reflect_column(n, a, k, line + 2 * n, line + 3 * n);
    for (size_t i = 0; i < n; i++) {
        diagonal[i] = a[i * n + i];
        x += diagonal[i]; /* no eigenvalue is larger than the trace */
    }
    double step = x;
    for (int i = 0; i < LAGUERRE_STEPS && step > DBL_EPSILON * x; i++) {
        step = laguerre_step(n, diagonal, beside, x);
        x -= step;
    }
    return x;
}

antler_status ant_spectral_norm(size_t rows, size_t cols, const double *a, double *norm, double *work)
{
    const size_t n = smaller(rows, cols);
    for (size_t i = 0; i < rows * cols; i++) {
        if (!isfinite(a[i]))
            return ant_fail(ANTLER_NON_FINITE, "the matrix of a norm is not finite");
    }
    multiply(rows, cols, a, work);
    *norm = sqrt(largest_eigenvalue(n, work, work + n * n));
    return ANTLER_OK;
}
