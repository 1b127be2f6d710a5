/*
 * thin_qr.c - the thin QR factorisation by Gram and Schmidt's method, each column as often as it takes until
 * it stays orthogonal to those before it (Daniel et al. 1976).  A column that depends on them to rounding
 * gets a 0 on the diagonal of r, and q is completed with another direction.
 */
#include "model/thin_qr.h"

#include "base/lanes.h"
#include "base/machine.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

extern const ant_thin_qr_kernels ant_thin_qr_kernels_base;
#if defined(__x86_64__)
extern const ant_thin_qr_kernels ant_thin_qr_kernels_avx2, ant_thin_qr_kernels_avx512;
#endif

static const ant_thin_qr_kernels *kernels_of(ant_cpu_level level)
{
#if defined(__x86_64__)
    if (level == ANT_CPU_AVX512)
        return &ant_thin_qr_kernels_avx512;
    if (level == ANT_CPU_AVX2)
        return &ant_thin_qr_kernels_avx2;
#endif
    (void)level;
    return &ant_thin_qr_kernels_base;
}

size_t ant_thin_qr_width(size_t rows)
{
    return ant_lanes_pad(rows);
}

static double length(const ant_thin_qr_kernels *k, size_t width, const double *x)
{
    double square;
    k->dots(1, width, x, x, &square);
    return sqrt(square);
}

/*
 * Row `row` of qt becomes orthogonal to those before it; what is taken away is added to column `row` of r
 * (stride `cols`) unless it is NULL.  Returns the length that is left, 0 where that is rounding.
 */
static double orthogonalise(const ant_thin_qr_kernels *k, size_t row, size_t width, double *qt, double *r,
                            size_t cols, double *work)
{
    enum { PASSES = 4 }; /* two are enough unless the rest is rounding */
    double *x = qt + row * width, before = length(k, width, x);
    const double least = 4.0 * DBL_EPSILON * before;
    for (int pass = 0; pass < PASSES && before > least; pass++) {
        k->dots(row, width, qt, x, work);
        k->subtract(row, width, qt, work, x);
        for (size_t i = 0; i < row && r != NULL; i++)
            r[i * cols + row] += work[i];
        const double after = length(k, width, x);
        if (after > 0.5 * before)
            return after;
        before = after;
    }
    return 0.0;
}

static void scale(size_t count, double factor, double *x)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
}

/* Row `row` of qt: a unit vector orthogonal to those before it. */
static void complete(const ant_thin_qr_kernels *k, size_t row, size_t rows, size_t width, double *qt,
                     double *work)
{
    double *x = qt + row * width, left = 0.0;
    for (size_t axis = 0; axis < rows && left <= 0.5 / sqrt((double)rows); axis++) {
        memset(x, 0, width * sizeof *x);
        x[axis] = 1.0;
        left = orthogonalise(k, row, width, qt, NULL, 0, work);
    }
    scale(rows, 1.0 / left, x);
}

/* Column j of a (rows, cols) to x, and the power of 2 by which it was divided to a size near 1: squares then
 * neither overflow nor vanish.  False when an element is not finite. */
static bool take_column(size_t rows, size_t cols, const double *a, size_t j, double *x, int *exponent)
{
    double most = 0.0;
    bool finite = true;
    for (size_t i = 0; i < rows; i++) {
        x[i] = a[i * cols + j];
        finite = finite && isfinite(x[i]);
        most = fmax(most, fabs(x[i]));
    }
    *exponent = 0;
    if (finite)
        (void)frexp(most, exponent);
    for (size_t i = 0; i < rows; i++)
        x[i] = ldexp(x[i], -*exponent);
    return finite;
}

antler_status ant_thin_qr(size_t rows, size_t cols, const double *a, double *qt, double *r, double *work)
{
    const ant_thin_qr_kernels *k = kernels_of(ant_cpu_level_best());
    const size_t width = ant_thin_qr_width(rows);
    memset(qt, 0, cols * width * sizeof *qt);
    memset(r, 0, cols * cols * sizeof *r);
    for (size_t j = 0; j < cols; j++) {
        int exponent;
        if (!take_column(rows, cols, a, j, qt + j * width, &exponent))
            return ant_fail(ANTLER_NON_FINITE, "the matrix to decompose is not finite");
        const double left = orthogonalise(k, j, width, qt, r, cols, work);
        r[j * cols + j] = left;
        if (left > 0.0)
            scale(rows, 1.0 / left, qt + j * width);
        else
            complete(k, j, rows, width, qt, work);
        for (size_t i = 0; i <= j; i++)
            r[i * cols + j] = ldexp(r[i * cols + j], exponent);
    }
    return ANTLER_OK;
}
