/* forecast.h - forecast measures over windows of a series: one free run per window serves all of them. */
#ifndef ANT_MEASURE_FORECAST_H
#define ANT_MEASURE_FORECAST_H

#include "measure/forecast_error.h"

/* One measure on the first `steps` rows of each window. */
typedef struct ant_forecast_request {
    ant_forecast_fn *error;
    size_t steps; /* 1 .. opts->steps */
    antler_rmse_result *result;
} ant_forecast_request;

/*
 * Fill in the results of all requests.  Windows have opts->steps free steps.  A window that diverged is an
 * outcome that the results record: the status is ANTLER_OK.  ANTLER_ERROR_DATA when no window fits.
 */
antler_status ant_forecasts(const antler_model *model, const antler_series *series,
                            const antler_rmse_opts *opts, const ant_forecast_request *requests, size_t count);

/* Whether a series has a trajectory for windows of `steps` free steps. */
bool ant_forecast_fits(const antler_series *series, size_t warmup, size_t steps);

/* Rows of the longest trajectory. */
size_t ant_forecast_longest(const antler_series *series);

#endif
