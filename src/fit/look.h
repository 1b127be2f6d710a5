/* look.h - properties of data that decide settings: time scales, noise, dimension, hidden variables. */
#ifndef ANT_FIT_LOOK_H
#define ANT_FIT_LOOK_H

#include "base/status.h"

/* An excerpt of the data: contiguous rows of the longest trajectory, each variable with mean 0 and
 * variance 1. */
typedef struct ant_excerpt {
    size_t rows, dim;
    double *x; /* (rows, dim) */
} ant_excerpt;

antler_status ant_excerpt_take(const antler_series *series, ant_excerpt *excerpt);
void ant_excerpt_free(ant_excerpt *excerpt);

/* Autocorrelation, mean over the variables, for lags 0 .. lags-1.  out: (lags), lags <= rows. */
void ant_autocorrelation(const ant_excerpt *e, size_t lags, double *out);

/*
 * Standard deviation of white noise on the data, in units of the data's own, by third differences
 * (measure/noise.h).  The median over the variables.  An upper bound where rows are far apart.
 */
antler_status ant_noise_level(const ant_excerpt *e, double *noise);

/*
 * How many variables move independently: principal components of neighbouring rows, which white noise does
 * not reach, with more than half a percent of the variance.
 */
antler_status ant_effective_dimension(const ant_excerpt *e, size_t *dimension);

/*
 * Root mean squared error of the nearest neighbour's future, `horizon` rows ahead, in units of the data's
 * standard deviation.  Neighbours are looked for in x_t (delays = 0) or in (x_t, x_{t-delay}, x_{t-2 delay},
 * ...).  Where the delays help much, one row does not determine the next ones: there are hidden variables.
 */
antler_status ant_neighbour_error(const ant_excerpt *e, size_t delays, size_t delay, size_t horizon,
                                  double *error);

#endif
