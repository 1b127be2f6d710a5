/* eigen.h - eigenvalues and eigenvectors of small dense matrices, in double, without allocation. */
#ifndef ANT_MODEL_EIGEN_H
#define ANT_MODEL_EIGEN_H

#include "base/status.h"

#include <complex.h>

/* re + i im, as CMPLX of C11, which clang does not find in glibc. */
static inline double complex ant_complex(double re, double im)
{
    const union {
        double parts[2];
        double complex value;
    } both = {{re, im}};
    return both.value;
}

/*
 * Of a symmetric matrix.  a: (n, n), of which the lower half is read; it becomes the eigenvectors, one per
 * row, of length 1.  values: (n), rising; work: (n).
 */
antler_status ant_eigen_symmetric(size_t n, double *a, double *values, double *work);

/*
 * Of any real matrix.  a: (n, n), finite, overwritten.  re, im: (n); of a pair of complex eigenvalues the one
 * with im > 0 comes first.  vectors: (n, n), one per row, of length 1; a pair has the real part of its first
 * vector and then the imaginary part.  work: (3, n).
 */
antler_status ant_eigen(size_t n, double *a, double *re, double *im, double *vectors, double *work);

#endif
