/* forecast_error.h - the error of one forecast against the true rows (spec 8 and 13). */
#ifndef ANT_MEASURE_FORECAST_ERROR_H
#define ANT_MEASURE_FORECAST_ERROR_H

#include "base/status.h"

/* One forecast in the model's units, and what measures need of it; `mean` and `scale` lead to the units of
   the report. */
typedef struct ant_forecast_window {
    const double *x;     /* (steps, dim): true rows */
    const double *xhat;  /* (steps, dim): predicted rows */
    size_t finite;       /* predicted rows before the forecast diverged */
    size_t dim;          /* N */
    const double *mean;  /* (dim) or NULL: 0 */
    const double *scale; /* (dim) or NULL: 1 */
    double naive;        /* mean absolute difference of neighbouring rows, in the units of the report */
    double lyapunov;     /* Lyapunov times in a row; 0: unknown */
    bool censored;       /* set by a measure whose value is only a lower bound */
} ant_forecast_window;

/* The error over the first `steps` rows.  Infinite when the forecast diverged within them. */
typedef double ant_forecast_fn(ant_forecast_window *window, size_t steps);

ant_forecast_fn ant_forecast_rmse, ant_forecast_smape, ant_forecast_mase, ant_forecast_pe,
    ant_forecast_valid_time;

/* ANTLER_ERROR_DATA when this measure divides by `naive` and it is 0. */
antler_status ant_forecast_check_naive(ant_forecast_fn *error, double naive);

#endif
