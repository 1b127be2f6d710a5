/* forecast_error.c - the formulas of the forecast measures, each for one window (spec 8 and 13).  True values
 * that are missing (NaN) are left out; where none is left, the error is NaN. */
#include "measure/measure_table.h"

#include <math.h>

/* Value i of an array (steps, dim), in the units of the report. */
static double reported(const ant_forecast_window *w, const double *values, size_t i)
{
    const double scaled = w->scale == NULL ? values[i] : values[i] * w->scale[i % w->dim];
    return w->mean == NULL ? scaled : scaled + w->mean[i % w->dim];
}

/* RMSE(n) = sqrt(1/n sum_k |x_k - xhat_k|^2), not divided by N */
double ant_forecast_rmse(ant_forecast_window *w, size_t steps)
{
    if (w->finite < steps)
        return INFINITY;
    double squares = 0.0;
    size_t seen = 0;
    for (size_t i = 0; i < steps * w->dim; i++) {
        if (isnan(w->x[i]))
            continue;
        double difference = w->x[i] - w->xhat[i];
        if (w->scale != NULL)
            difference *= w->scale[i % w->dim];
        squares += difference * difference;
        seen++;
    }
    return sqrt(squares / ((double)seen / (double)w->dim)); /* in place of n, the rows that the values fill */
}

/* The sum over the variables of |x - xhat| / (|x| + |xhat| + 1e-10) in one row; 0 to N.  Adds to `seen` how
 * many values that are. */
static double relative_errors(const ant_forecast_window *w, size_t row, size_t *seen)
{
    double sum = 0.0;
    for (size_t i = row * w->dim; i < (row + 1) * w->dim; i++) {
        if (isnan(w->x[i]))
            continue;
        *seen += 1;
        const double x = reported(w, w->x, i), xhat = reported(w, w->xhat, i);
        sum += fabs(x - xhat) / (fabs(x) + fabs(xhat) + 1e-10);
    }
    return sum;
}

/* sMAPE = 200 mean(|x - xhat| / (|x| + |xhat| + 1e-10)) over rows and variables; 0 to 200 */
double ant_forecast_smape(ant_forecast_window *w, size_t steps)
{
    if (w->finite < steps)
        return INFINITY;
    double sum = 0.0;
    size_t seen = 0;
    for (size_t row = 0; row < steps; row++)
        sum += relative_errors(w, row, &seen);
    return 200.0 * (sum / (double)seen);
}

/* MASE = mean(|x - xhat|) / mean(|x_t - x_{t-1}|), both over rows and variables */
double ant_forecast_mase(ant_forecast_window *w, size_t steps)
{
    if (w->finite < steps)
        return INFINITY;
    double sum = 0.0;
    size_t seen = 0;
    for (size_t i = 0; i < steps * w->dim; i++) {
        sum += isnan(w->x[i]) ? 0.0 : fabs(reported(w, w->x, i) - reported(w, w->xhat, i));
        seen += !isnan(w->x[i]);
    }
    return sum / (double)seen / w->naive;
}

/* PE(n): the mean over the variables of (x - xhat)^2 in row n alone */
double ant_forecast_pe(ant_forecast_window *w, size_t steps)
{
    if (w->finite < steps)
        return INFINITY;
    double squares = 0.0;
    size_t seen = 0;
    for (size_t i = (steps - 1) * w->dim; i < steps * w->dim; i++) {
        const double difference = reported(w, w->x, i) - reported(w, w->xhat, i);
        squares += isnan(w->x[i]) ? 0.0 : difference * difference;
        seen += !isnan(w->x[i]);
    }
    return squares / (double)seen;
}

/*
 * The first row, counted from 1, at which the sMAPE of all rows up to it exceeds 30; in Lyapunov times where
 * they are known.  Rows of a forecast that diverged count as 200, the largest sMAPE there is.
 */
double ant_forecast_valid_time(ant_forecast_window *w, size_t steps)
{
    const double threshold = 30.0, unit = w->lyapunov > 0.0 ? w->lyapunov : 1.0;
    double sum = 0.0;
    size_t seen = 0;
    for (size_t row = 0; row < steps; row++) {
        if (row < w->finite) {
            sum += relative_errors(w, row, &seen);
        } else {
            sum += (double)w->dim;
            seen += w->dim;
        }
        if (200.0 * (sum / (double)seen) > threshold) /* not of NaN, while all are missing */
            return unit * (double)(row + 1);
    }
    if (seen == 0)
        return NAN;
    w->censored = true;
    return unit * (double)steps;
}

/* Rows before the first value that is not finite.  x: (length, dim) */
static size_t finite_rows(const double *x, size_t length, size_t dim)
{
    for (size_t i = 0; i < length * dim; i++) {
        if (!isfinite(x[i]))
            return i / dim;
    }
    return length;
}

/* The mean absolute difference of neighbouring rows, 0 without any.  x: (length, dim) */
static double naive_error(const double *x, size_t length, size_t dim)
{
    double sum = 0.0;
    size_t pairs = 0;
    for (size_t i = dim; i < length * dim; i++) {
        const double difference = fabs(x[i] - x[i - dim]);
        sum += isnan(difference) ? 0.0 : difference;
        pairs += !isnan(difference);
    }
    return pairs == 0 ? 0.0 : sum / (double)pairs;
}

/* Rows before the first infinite value.  x: (length, dim) */
static size_t bounded_rows(const double *x, size_t length, size_t dim)
{
    for (size_t i = 0; i < length * dim; i++) {
        if (isinf(x[i]))
            return i / dim;
    }
    return length;
}

antler_status ant_forecast_check_naive(ant_forecast_fn *error, double naive)
{
    ANT_CHECK(error != ant_forecast_mase || (isfinite(naive) && naive > 0.0), ANTLER_ERROR_DATA,
              "MASE is not defined here: the mean absolute difference of neighbouring true rows is %g, "
              "because there "
              "is a single row or none differs from the next",
              naive);
    return ANTLER_OK;
}

antler_status antler_forecast_error(const char *measure, const double *x, const double *xhat, size_t length,
                                    size_t dim, double naive, double *value)
{
    ANT_NEED(measure != NULL && x != NULL && xhat != NULL && value != NULL);
    const size_t index = antler_measure_index(measure);
    const ant_measure *m = ant_measure_at(index);
    ANT_CHECK(m != NULL && m->forecast != NULL, ANTLER_ERROR_ARGUMENT, "there is no forecast measure '%s'",
              measure);
    ANT_CHECK(length >= 1 && dim >= 1, ANTLER_ERROR_ARGUMENT,
              "a forecast of %zu rows and %zu variables is empty", length, dim);
    const size_t good = bounded_rows(x, length, dim);
    ANT_CHECK(good == length, ANTLER_ERROR_DATA, "the true rows hold an infinite value in row %zu", good + 1);
    ant_forecast_window window = {.x = x, .xhat = xhat, .finite = finite_rows(xhat, length, dim), .dim = dim};
    window.naive = naive == 0.0 ? naive_error(x, length, dim) : naive;
    ANT_TRY(ant_forecast_check_naive(m->forecast, window.naive));
    *value = m->forecast(&window, length);
    ANT_CHECK(!isnan(*value), ANTLER_ERROR_DATA, "all true values that %s needs are missing", m->info.name);
    ANT_CHECK(isfinite(*value), ANTLER_DIVERGED, "the forecast diverged in row %zu of %zu", window.finite + 1,
              length);
    return ANTLER_OK;
}
