/* noise.h - white measurement noise: its level on smooth signals, and the same level for a free run. */
#ifndef ANT_MEASURE_NOISE_H
#define ANT_MEASURE_NOISE_H

#include "base/status.h"

/*
 * Standard deviation of white noise on a column, from differences of the given order: those of white noise of
 * variance s^2 have the variance (2k over k) s^2, and those of a smooth signal are small.  An upper bound
 * where rows are far apart.  Differences with a missing value (NaN) do not count; 0: there are fewer than 8
 * rows, or no difference.  x: (rows), `stride` numbers apart; order: 3 or 4
 */
double ant_noise_bound(const double *x, size_t rows, size_t stride, int order);

/*
 * The level of white noise of a column, or 0 where none is seen: third and fourth differences must agree
 * about it, as they do for white noise, and it must be less than a fifth of the standard deviation: beyond
 * that, rows are too far apart to separate noise from signal.  x: (rows), `stride` numbers apart
 */
double ant_noise_seen(const double *x, size_t rows, size_t stride);

/*
 * A copy of the free run with the white noise that is seen on the truth, variable by variable (spec 14): the
 * same numbers for the same series.  *noisy is NULL where no variable has any.
 */
antler_status ant_noise_match(const antler_series *truth, const antler_series *generated,
                              antler_series **noisy);

#endif
