/* thin_qr.h - the thin QR factorisation of a tall matrix, in double, without allocation. */
#ifndef ANT_MODEL_THIN_QR_H
#define ANT_MODEL_THIN_QR_H

#include "base/status.h"

#include <stddef.h>

/* Doubles of a row of `qt` for so many rows of the matrix. */
size_t ant_thin_qr_width(size_t rows);

/*
 * a = q r with rows >= cols: q has orthonormal columns whatever the rank of a is, r is upper triangular.
 * a: (rows, cols); qt: (cols, width) on a 64-byte boundary, the transpose of q with zeros behind; r: (cols,
 * cols); work: (cols).  ANTLER_NON_FINITE when `a` holds NaN or infinity.
 */
antler_status ant_thin_qr(size_t rows, size_t cols, const double *a, double *qt, double *r, double *work);

/* The loops over long rows, once per instruction set.  rows: (count, width); x: (width) */
typedef struct ant_thin_qr_kernels {
    void (*dots)(size_t count, size_t width, const double *rows, const double *x, double *out);
    /* x -= sum_i c_i rows_i */
    void (*subtract)(size_t count, size_t width, const double *rows, const double *c, double *x);
} ant_thin_qr_kernels;

#endif
