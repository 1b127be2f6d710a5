/* spectral_norm.h - the largest singular value of a small matrix, in double, without allocation. */
#ifndef ANT_MODEL_SPECTRAL_NORM_H
#define ANT_MODEL_SPECTRAL_NORM_H

#include "base/status.h"

/* Doubles of scratch for a (rows, cols) matrix. */
size_t ant_spectral_norm_work(size_t rows, size_t cols);

/* a: (rows, cols); work: ant_spectral_norm_work().  ANTLER_NON_FINITE when `a` holds NaN or infinity. */
antler_status ant_spectral_norm(size_t rows, size_t cols, const double *a, double *norm, double *work);

#endif
