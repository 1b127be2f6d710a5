/* projection.h - many channels that move together, projected onto their few principal components (spec 14).
 */
#ifndef ANT_MEASURE_PROJECTION_H
#define ANT_MEASURE_PROJECTION_H

#include "base/status.h"

/*
 * Principal components of neighbouring rows, (x_t x_{t+1}^T + x_{t+1} x_t^T) / 2 of standardised variables,
 * to which white noise does not contribute.  x: (rows, N), each variable with mean 0 and variance 1; every
 * `step`-th pair is used.  values: (N), ascending; vectors: (N, N), one in each row, or NULL.
 */
antler_status ant_components(const double *x, size_t rows, size_t N, size_t step, double *values,
                             double *vectors);

/* How many of these values carry weight: more than half a percent of the variance of all; at least 1. */
size_t ant_components_count(const double *values, size_t N);

typedef struct ant_projection ant_projection;

/* Of these rows.  NULL, with ANTLER_OK, where there are too few variables to need one, or too many to find
 * it. */
antler_status ant_projection_create(const antler_series *series, ant_projection **projection);
void ant_projection_free(ant_projection *projection);

/* The series in the components of the projection; a copy without its inputs where that is NULL. */
antler_status ant_projection_apply(const ant_projection *projection, const antler_series *series,
                                   antler_series **projected);

#endif
