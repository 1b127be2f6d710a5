/* svd.c - the singular value decomposition by LAPACK, and the pseudo-inverse from it. */
#include "model/svd.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

static size_t scratch_count(size_t rows, size_t cols)
{
    const size_t small = rows < cols ? rows : cols;
    const size_t large = rows < cols ? cols : rows;
    return 2 * (5 * small + large) + 64;
}

size_t ant_svd_work(size_t rows, size_t cols)
{
    return rows * cols + scratch_count(rows, cols);
}

static antler_status check_finite(size_t count, const double *a)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(a[i]))
            return ant_fail(ANTLER_NON_FINITE, "the matrix to decompose is not finite");
    }
    return ANTLER_OK;
}

static antler_status check_converged(lapack_int info)
{
    return info == 0 ? ANTLER_OK
                     : ant_fail(ANTLER_NOT_CONVERGED, "the singular value decomposition did not converge");
}

antler_status ant_svd(size_t rows, size_t cols, const double *a, double *u, double *s, double *vt,
                      double *work)
{
    ANT_TRY(check_finite(rows * cols, a));
    const lapack_int m = (lapack_int)cols, n = (lapack_int)rows;
    const lapack_int k = m < n ? m : n;
    double *copy = work;
    memcpy(copy, a, rows * cols * sizeof *a);
    /* Row-major (rows, cols) is column-major (cols, rows): the transpose, so u and vt change places.
       The column-major _work call neither transposes nor allocates. */
    const lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', m, n, copy, m, s, vt, m, u, k,
                                                work + rows * cols, (lapack_int)scratch_count(rows, cols));
    return check_converged(info);
}

antler_status ant_svd_largest(size_t rows, size_t cols, double *a, double *largest, double *work)
{
    const size_t k = rows < cols ? rows : cols;
    const lapack_int m = (lapack_int)cols, n = (lapack_int)rows;
    double none[1], *s = work; /* (k) falling; ant_svd_work has room for s and LAPACK's own scratch */
    ANT_TRY(check_finite(rows * cols, a));
    const lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'N', m, n, a, m, s, none, 1, none, 1,
                                                work + k, (lapack_int)scratch_count(rows, cols));
    ANT_TRY(check_converged(info));
    *largest = s[0];
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
