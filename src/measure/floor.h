/*
 * floor.h - what measures are worth on these data: the same measures between parts of the true series, the
 * time scale of the series, and how far its halves agree (spec 8).
 */
#ifndef ANT_MEASURE_FLOOR_H
#define ANT_MEASURE_FLOOR_H

#include "measure/forecast_error.h"

/*
 * As antler_floors_of, with the units of `gmm-fixed`.  unit: (N) or NULL.  Parts that are too short for a
 * measure are left out; a floor is NaN where no cut is left.
 */
antler_status ant_floors_measure(const antler_series *truth, const antler_evaluate_opts *opts,
                                 const double *unit, antler_floors *floors);

/* Of forecasts: the better one of persistence and average, from the windows of a result. */
void ant_floors_forecasts(antler_evaluate_result *result);

#endif
