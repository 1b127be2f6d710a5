/* slow.h - slow changes of the amplitude: a slow forcing, or a slow hidden variable, shows in them alone. */
#ifndef ANT_MEASURE_SLOW_H
#define ANT_MEASURE_SLOW_H

#include "base/status.h"

/*
 * Rows after which the autocorrelation of the mean square over `width` rows falls below 1/e, where that is
 * several widths and these means carry a good part of the variance of the squares; 0: not.  width: ten times
 * the rows over which the values themselves decay.  x: (rows, N), each variable with mean 0 and variance 1
 */
antler_status ant_slow_scale(const double *x, size_t rows, size_t N, size_t width, double *slow);

#endif
