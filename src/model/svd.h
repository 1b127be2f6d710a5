/* svd.h - the thin singular value decomposition of a small matrix, in double, without allocation. */
#ifndef ANT_MODEL_SVD_H
#define ANT_MODEL_SVD_H

#include "base/status.h"

/* Doubles of scratch for a (rows, cols) matrix. */
size_t ant_svd_work(size_t rows, size_t cols);

/*
 * a = u diag(s) vt with k = min(rows, cols), all row-major.  a: (rows, cols); u: (rows, k); s: (k),
 * falling; vt: (k, cols).  ANTLER_NON_FINITE when `a` holds NaN or infinity.
 */
antler_status ant_svd(size_t rows, size_t cols, const double *a, double *u, double *s, double *vt,
                      double *work);

/*
 * The pseudo-inverse from the decomposition; singular values below max(rows, cols) eps s_1 count as zero.
 * pinv: (cols, rows).
 */
void ant_svd_pinv(size_t rows, size_t cols, const double *u, const double *s, const double *vt, double *pinv);

#endif
