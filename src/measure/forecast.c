/*
 * forecast.c - RMSE(n) and the other forecast measures: free steps from many starts in a series, compared
 * with the true rows (spec 8 and 13).
 *
 * A window is warmup + 1 rows that force the model, then `steps` free steps.  Windows are spread evenly over
 * all places where one fits; where values are missing (spec 12), over those at which the last row of the
 * warm-up has a value, and so has a row after it.  They run one after the other on the CPU, or in batches on
 * a GPU.
 */
#include "measure/forecast.h"

#include "base/sized.h"
#include "measure/measure_table.h"
#include "model/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_NUMBERS = 1 << 26, /* of all windows in one batch on a GPU, about */
    HORIZONS = 48            /* of the skill: 1, 2, 4, ... steps */
};

/* Forecasts that are compared by their skill; all but the first are naive. */
typedef enum source { MODEL, PERSISTENCE, AVERAGE, SOURCES } source;

void(antler_rmse_opts_default)(antler_rmse_opts *opts, size_t struct_size)
{
    const antler_rmse_opts standard = {.steps = 128, .windows = 100, .warmup = ANTLER_WARMUP_AUTO};
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

/* Places in a trajectory at which a window of warmup + 1 + steps rows can begin. */
static size_t places(const antler_series *series, size_t trajectory, size_t warmup, size_t steps)
{
    const size_t length = antler_series_length(series, trajectory);
    return length > warmup && length - warmup > steps ? length - warmup - steps : 0;
}

size_t ant_forecast_longest(const antler_series *series)
{
    size_t longest = 0;
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        longest = length > longest ? length : longest;
    }
    return longest;
}

bool ant_forecast_fits(const antler_series *series, size_t warmup, size_t steps)
{
    const size_t longest = ant_forecast_longest(series), rows = warmup == ANTLER_WARMUP_AUTO ? 0 : warmup;
    return longest > rows && longest - rows > steps;
}

/* What all windows share. */
typedef struct comparison {
    const antler_model *model;
    const antler_series *series;
    const ant_runner *runner;
    ant_units units;
    size_t warmup, steps;
    bool user_units;
    antler_device device;
    double naive;                         /* mean absolute difference of neighbouring rows of the series */
    double lyapunov;                      /* Lyapunov times in a row; 0: unknown */
    const ant_forecast_request *requests; /* (request_count) */
    size_t request_count, window_count;
    bool gaps;          /* the series has missing values */
    size_t *counted;    /* (request_count, 2): windows in the means of persistence and average */
    double *errors;     /* (request_count, window_count) */
    double *x;          /* (warmup + 1 + steps, N) */
    double *s;          /* (warmup + 1 + steps, K), NULL when K = 0 */
    double *from;       /* (n) */
    double *states;     /* (steps, n) */
    double *xhat;       /* (steps, N) */
    double *naive_xhat; /* (steps, N): a naive forecast */
    double *average;    /* (N): the mean of the series, in the model's units */
    double *last;       /* (N): the last values before a window, where there are gaps */
    double *squares; /* (SOURCES, HORIZONS): squared errors over the first 1, 2, 4, ... steps, all windows */
} comparison;

static antler_status comparison_create(comparison *c)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1 + c->steps;
    const size_t numbers =
        rows * (r->N + r->K) + r->n + c->steps * (r->n + 2 * r->N) + 2 * r->N + SOURCES * HORIZONS;
    c->x = malloc(numbers * sizeof *c->x);
    if (c->x == NULL)
        return ant_fail_memory(numbers * sizeof *c->x, "the windows");
    c->from = c->x + rows * r->N;
    c->states = c->from + r->n;
    c->xhat = c->states + c->steps * r->n;
    c->naive_xhat = c->xhat + c->steps * r->N;
    c->average = c->naive_xhat + c->steps * r->N;
    c->last = c->average + r->N;
    c->squares = c->last + r->N;
    c->s = r->K == 0 ? NULL : c->squares + SOURCES * HORIZONS;
    memset(c->squares, 0, SOURCES * HORIZONS * sizeof *c->squares);
    for (size_t j = 0; j < r->N; j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(c->series, j, &stats));
        c->average[j] = stats.mean * c->units.gain[j] + c->units.shift[j];
    }
    return ANTLER_OK;
}

/* Add the squared errors of one window over its first 1, 2, 4, ... steps.  sums: (HORIZONS) */
static void add_squares(const ant_forecast_window *w, size_t steps, double *sums)
{
    double squares = 0.0;
    size_t horizon = 0;
    for (size_t row = 0; row < steps; row++) {
        for (size_t i = row * w->dim; i < (row + 1) * w->dim; i++)
            squares += isnan(w->x[i]) ? 0.0 : (w->x[i] - w->xhat[i]) * (w->x[i] - w->xhat[i]);
        if (row + 1 == (size_t)1 << horizon)
            sums[horizon++] += row < w->finite ? squares : INFINITY;
    }
}

/* The same window predicted by one row that is repeated.  repeated: (N) */
static void measure_naive(const comparison *c, ant_forecast_window window, source of, const double *repeated)
{
    window.xhat = c->naive_xhat;
    window.finite = c->steps;
    for (size_t i = 0; i < c->steps * window.dim; i++)
        c->naive_xhat[i] = repeated[i % window.dim];
    add_squares(&window, c->steps, c->squares + of * HORIZONS);
    for (size_t k = 0; k < c->request_count; k++) {
        antler_rmse_result *result = c->requests[k].result;
        const double error = c->requests[k].error(&window, c->requests[k].steps) / (double)c->window_count;
        if (isnan(error)) /* all values that it needs are missing */
            continue;
        *(of == PERSISTENCE ? &result->persistence : &result->average) += error;
        c->counted[2 * k + (of == PERSISTENCE ? 0 : 1)]++;
    }
}

/* 1 - squared error / that of the better naive forecast, over so many first steps that it is largest. */
static void find_skill(const comparison *c, double *skill, size_t *steps)
{
    *skill = NAN;
    *steps = 0;
    for (size_t h = 0; h < HORIZONS && (size_t)1 << h <= c->steps; h++) {
        const double naive = fmin(c->squares[PERSISTENCE * HORIZONS + h], c->squares[AVERAGE * HORIZONS + h]);
        const double found = 1.0 - c->squares[MODEL * HORIZONS + h] / naive;
        if (naive > 0.0 && !(found <= *skill)) {
            *skill = found;
            *steps = (size_t)1 << h;
        }
    }
}

/* The last value of each variable in the warm-up, its mean where there is none.  x: (warmup + 1, N) */
static const double *last_values(const comparison *c, const double *x)
{
    const size_t N = c->runner->N;
    if (!c->gaps)
        return x + c->warmup * N;
    for (size_t n = 0; n < N; n++) {
        c->last[n] = c->average[n];
        for (size_t t = 0; t <= c->warmup; t++)
            c->last[n] = isnan(x[t * N + n]) ? c->last[n] : x[t * N + n];
    }
    return c->last;
}

/*
 * The errors of window `index`.
 * x: (warmup + 1 + steps, N), true rows; xhat: (steps, N); states: (steps, n) or NULL; `finite` rows are
 * finite
 */
static void measure_window(const comparison *c, size_t index, const double *x, const double *xhat,
                           const double *states, size_t finite)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1;
    const double limit = ant_divergence_limit(x, rows * r->N);
    const bool scaled = c->user_units && c->model->scale != NULL;
    ant_forecast_window window = {.x = x + rows * r->N,
                                  .xhat = xhat,
                                  .finite = ant_rows_within(r, limit, xhat, states, finite),
                                  .dim = r->N,
                                  .mean = scaled ? c->model->mean : NULL,
                                  .scale = scaled ? c->model->scale : NULL,
                                  .naive = c->naive,
                                  .lyapunov = c->lyapunov};
    for (size_t k = 0; k < c->request_count; k++) {
        const ant_forecast_request *request = &c->requests[k];
        window.censored = false;
        c->errors[k * c->window_count + index] = request->error(&window, request->steps);
        if (isnan(c->errors[k * c->window_count + index])) /* not in this window */
            continue;
        request->result->diverged += window.finite < request->steps ? 1 : 0;
        request->result->censored += window.censored ? 1 : 0;
    }
    add_squares(&window, c->steps, c->squares + MODEL * HORIZONS);
    measure_naive(c, window, PERSISTENCE, last_values(c, x));
    measure_naive(c, window, AVERAGE, c->average);
}

/* Where a window begins. */
typedef struct window {
    size_t trajectory, first;
} window;

/* Run and measure one window on the CPU. */
static antler_status run_window(const comparison *c, size_t index, window at)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1;
    ANT_TRY(ant_units_read(&c->units, c->series, at.trajectory, at.first, rows + c->steps, c->x, c->s));
    ant_runner_warm(r, c->x, c->s, rows, c->from);
    ant_runner_steps(r, c->from, c->s == NULL ? NULL : c->s + rows * r->K, c->steps, c->states, c->xhat);
    measure_window(c, index, c->x, c->xhat, c->states, c->steps);
    return ANTLER_OK;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* errors: (all), sorted on return */
static void summarise(double *errors, size_t all, antler_rmse_result *result)
{
    double sum = 0.0, squares = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < all; i++) { /* windows without the values that the measure needs do not count */
        errors[count] = errors[i];
        count += !isnan(errors[i]);
    }
    if (count == 0) {
        result->mean = result->median = result->sd = NAN;
        return;
    }
    qsort(errors, count, sizeof *errors, rising);
    for (size_t i = 0; i < count; i++)
        sum += errors[i];
    result->mean = sum / (double)count;
    const double low = errors[(count - 1) / 2], high = errors[count / 2];
    result->median = low == high ? low : 0.5 * (low + high);
    for (size_t i = 0; i < count; i++)
        squares += (errors[i] - result->mean) * (errors[i] - result->mean);
    result->sd = isinf(result->mean) ? INFINITY : count < 2 ? 0.0 : sqrt(squares / (double)(count - 1));
    result->windows = count;
}

static bool row_has_value(const double *x, size_t N)
{
    for (size_t n = 0; n < N; n++) {
        if (!isnan(x[n]))
            return true;
    }
    return false;
}

/* Spread the windows evenly over all places where one fits.  fit: (total), NULL: all; windows: (window_count)
 */
static void place_windows(const comparison *c, size_t total, const window *fit, window *windows)
{
    const size_t count = c->window_count;
    size_t trajectory = 0, before = 0; /* places in the trajectories that have been passed */
    for (size_t i = 0; i < count; i++) {
        const size_t place =
            count == 1 ? 0 : (size_t)((double)(total - 1) * ((double)i / (double)(count - 1)) + 0.5);
        if (fit != NULL) {
            windows[i] = fit[place];
            continue;
        }
        while (place - before >= places(c->series, trajectory, c->warmup, c->steps))
            before += places(c->series, trajectory++, c->warmup, c->steps);
        windows[i] = (window){trajectory, place - before};
    }
}

/* Numbers that run_batch needs for one window. */
static size_t batch_numbers(const comparison *c)
{
    const ant_runner *r = c->runner;
    const size_t warm = c->warmup + 1, rows = warm + c->steps;
    return rows * (r->N + r->K) + c->steps * r->N + warm * r->N;
}

/*
 * Windows first .. first+count-1 on an engine.
 * windows: (window_count); room: (count, batch_numbers()); finite: (count)
 */
static antler_status run_batch(const comparison *c, const ant_engine *engine, const ant_engine_map *map,
                               const window *windows, size_t first, size_t count, double *room,
                               size_t *finite)
{
    const ant_runner *r = c->runner;
    const size_t warm = c->warmup + 1, rows = warm + c->steps;
    double *x = room;                                 // (count, rows, N)
    double *s = x + count * rows * r->N;              // (count, rows, K)
    double *xhat = s + count * rows * r->K;           // (count, steps, N)
    double *forcing = xhat + count * c->steps * r->N; // (count, warm, N)
    for (size_t i = 0; i < count; i++) {
        const window at = windows[first + i];
        double *truth = x + i * rows * r->N;
        ANT_TRY(ant_units_read(&c->units, c->series, at.trajectory, at.first, rows, truth,
                               r->K == 0 ? NULL : s + i * rows * r->K));
        memcpy(forcing + i * warm * r->N, truth, warm * r->N * sizeof *forcing);
    }
    const ant_engine_orbits work = {.map = map,
                                    .count = count,
                                    .rows = warm,
                                    .steps = c->steps,
                                    .x = forcing,
                                    .s = s,
                                    .report = {.what = "RMSE", .span = 1.0},
                                    .xhat = xhat,
                                    .finite = finite};
    ANT_TRY(engine->orbits(&work));
    for (size_t i = 0; i < count; i++)
        measure_window(c, first + i, x + i * rows * r->N, xhat + i * c->steps * r->N, NULL, finite[i]);
    return ANTLER_OK;
}

static antler_status run_on_engine(const comparison *c, const ant_engine *engine, const ant_engine_map *map,
                                   const window *windows)
{
    const size_t count = c->window_count, fit = BATCH_NUMBERS / batch_numbers(c) + 1;
    const size_t batch = fit < count ? fit : count;
    double *room = malloc(batch * batch_numbers(c) * sizeof *room);
    size_t *finite = malloc(batch * sizeof *finite);
    antler_status status = ANTLER_OK;
    if (room == NULL || finite == NULL)
        status = ant_fail_memory(batch * batch_numbers(c) * sizeof *room, "the windows");
    for (size_t i = 0; i < count && status == ANTLER_OK; i += batch)
        status = run_batch(c, engine, map, windows, i, count - i < batch ? count - i : batch, room, finite);
    free(finite);
    free(room);
    return status;
}

/* windows: (window_count) */
static antler_status run_windows(const comparison *c, const window *windows)
{
    const ant_engine *engine = NULL;
    ant_engine_map map;
    const size_t count = c->window_count;
    const antler_device device = c->gaps ? ANTLER_DEVICE_CPU : c->device; /* engines take complete rows */
    ANT_TRY(ant_runner_engine_for(c->runner, device, count, (double)(c->warmup + c->steps) * (double)count,
                                  &map, &engine));
    if (engine != NULL)
        return run_on_engine(c, engine, &map, windows);
    for (size_t i = 0; i < count; i++)
        ANT_TRY(run_window(c, i, windows[i]));
    return ANTLER_OK;
}

/* The means of naive forecasts over the windows in which they were measured. */
static void complete_naive(const comparison *c, size_t k)
{
    antler_rmse_result *result = c->requests[k].result;
    double *const means[] = {&result->persistence, &result->average};
    for (size_t i = 0; i < 2; i++) {
        const size_t measured = c->counted[2 * k + i];
        if (measured < c->window_count)
            *means[i] = measured == 0 ? NAN : *means[i] * ((double)c->window_count / (double)measured);
    }
}

/* The places of one trajectory at which a window may begin.  x: (length, N); fit: room for all of them */
static size_t list_trajectory(const comparison *c, size_t trajectory, const double *x, window *fit)
{
    const size_t N = c->runner->N, all = places(c->series, trajectory, c->warmup, c->steps);
    size_t count = 0, next = 0; /* next: the first row after the start that has a value */
    for (size_t first = 0; first < all; first++) {
        const size_t last = first + c->warmup;
        next = next > last ? next : last + 1;
        while (next <= last + c->steps && !row_has_value(x + next * N, N))
            next++;
        if (next <= last + c->steps && row_has_value(x + last * N, N))
            fit[count++] = (window){trajectory, first};
    }
    return count;
}

/* Where windows fit when values are missing; total: all places on entry, on return those of `fit`. */
static antler_status list_places(const comparison *c, window **fit, size_t *total)
{
    const size_t N = c->runner->N, longest = ant_forecast_longest(c->series);
    double *x = malloc(longest * N * sizeof *x); // (longest, N)
    *fit = malloc(*total * sizeof **fit);
    antler_status status =
        x == NULL || *fit == NULL ? ant_fail_memory(longest * N * sizeof *x, "the windows") : ANTLER_OK;
    *total = 0;
    for (size_t i = 0; i < antler_series_count(c->series) && status == ANTLER_OK; i++) {
        status = antler_series_read_f64(c->series, i, 0, antler_series_length(c->series, i), x, NULL);
        if (status == ANTLER_OK)
            *total += list_trajectory(c, i, x, *fit + *total);
    }
    free(x);
    if (status == ANTLER_OK && *total == 0)
        status =
            ant_fail(ANTLER_ERROR_DATA,
                     "no window of %zu rows has a value at its start and one within the %zu steps after it: "
                     "too much is missing",
                     c->warmup + 1 + c->steps, c->steps);
    if (status != ANTLER_OK) {
        free(*fit);
        *fit = NULL;
    }
    return status;
}

static antler_status compare(comparison *c, size_t windows)
{
    size_t total = 0;
    window *fit = NULL; // (total): where a window fits, when values are missing
    for (size_t i = 0; i < antler_series_count(c->series); i++)
        total += places(c->series, i, c->warmup, c->steps);
    ANT_CHECK(total >= 1, ANTLER_ERROR_DATA,
              "RMSE(%zu) after a warm-up of %zu rows needs a trajectory of %zu rows, and none is that long: "
              "give fewer steps or a shorter warm-up",
              c->steps, c->warmup, c->warmup + 1 + c->steps);
    if (c->gaps)
        ANT_TRY(list_places(c, &fit, &total));
    const size_t count = c->window_count = windows < total ? windows : total;
    c->errors = malloc(c->request_count * count * sizeof *c->errors);
    c->counted = calloc(2 * c->request_count, sizeof *c->counted);
    window *at = malloc(count * sizeof *at);
    antler_status status = c->errors == NULL || c->counted == NULL || at == NULL
                               ? ant_fail_memory(count * (sizeof *c->errors + sizeof *at), "the windows")
                               : comparison_create(c);
    if (status == ANTLER_OK) {
        place_windows(c, total, fit, at);
        status = run_windows(c, at);
    }
    for (size_t k = 0; k < c->request_count && status == ANTLER_OK; k++) {
        antler_rmse_result *result = c->requests[k].result;
        summarise(c->errors + k * count, count, result);
        complete_naive(c, k);
        find_skill(c, &result->skill, &result->skill_steps);
    }
    free(fit);
    free(at);
    free(c->errors);
    free(c->counted);
    free(c->x);
    return status;
}

/* An infinite value would make every mean infinite; a NaN is missing. */
static antler_status check_finite(const antler_series *series, bool *gaps)
{
    *gaps = false;
    for (size_t j = 0; j < antler_series_dim(series); j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(series, j, &stats));
        *gaps = *gaps || stats.nan > 0;
        ANT_CHECK(stats.inf == 0, ANTLER_ERROR_DATA,
                  "the true series: %s has %zu infinite values: remove them or write nan",
                  antler_series_name(series, j), stats.inf);
    }
    return ANTLER_OK;
}

/* Sums |x_t - x_{t-1}| of one trajectory over all rows and variables, in the units of the report. */
static antler_status add_differences(const comparison *c, size_t trajectory, double *sum, size_t *pairs)
{
    enum { ROWS = 1024 };
    const size_t N = c->runner->N, length = antler_series_length(c->series, trajectory);
    double *x = malloc(ROWS * N * sizeof *x); // (ROWS, N)
    antler_status status =
        x == NULL ? ant_fail_memory(ROWS * N * sizeof *x, "rows of the series") : ANTLER_OK;
    for (size_t first = 0; first + 1 < length && status == ANTLER_OK; first += ROWS - 1) {
        const size_t rows = length - first < ROWS ? length - first : ROWS;
        status = antler_series_read_f64(c->series, trajectory, first, rows, x, NULL);
        for (size_t i = N; i < rows * N && status == ANTLER_OK; i++) {
            const double gain = c->units.gain[i % N];
            const double scale = c->user_units && c->model->scale != NULL ? c->model->scale[i % N] : 1.0;
            const double difference = fabs((x[i] - x[i - N]) * gain * scale);
            *sum += isnan(difference) ? 0.0 : difference;
            *pairs += !isnan(difference);
        }
    }
    free(x);
    return status;
}

/* The mean absolute difference of all neighbouring rows of the series, which MASE divides by. */
static antler_status fill_naive(comparison *c)
{
    size_t pairs = 0;
    double sum = 0.0;
    for (size_t i = 0; i < antler_series_count(c->series); i++) {
        ANT_TRY(add_differences(c, i, &sum, &pairs));
    }
    c->naive = pairs == 0 ? 0.0 : sum / (double)pairs;
    for (size_t k = 0; k < c->request_count; k++)
        ANT_TRY(ant_forecast_check_naive(c->requests[k].error, c->naive));
    return ANTLER_OK;
}

/* Lyapunov times in a row of the series. */
static antler_status lyapunov_times(const antler_model *model, const antler_series *series, double exponent,
                                    double *per_row)
{
    const double own = antler_series_dt(series), dt = own > 0.0 ? own : antler_model_dt(model);
    ANT_CHECK(isfinite(exponent) && exponent >= 0.0, ANTLER_ERROR_ARGUMENT,
              "the largest Lyapunov exponent is %g; give a number above 0, or 0 when it is unknown",
              exponent);
    ANT_CHECK(exponent == 0.0 || dt > 0.0, ANTLER_ERROR_ARGUMENT,
              "the exponent %g is per unit of time, and the time between two rows is unknown: give --dt",
              exponent);
    *per_row = exponent * dt;
    return ANTLER_OK;
}

antler_status ant_forecasts(const antler_model *model, const antler_series *series,
                            const antler_rmse_opts *opts, const ant_forecast_request *requests, size_t count)
{
    for (size_t k = 0; k < count; k++)
        *requests[k].result =
            (antler_rmse_result){.struct_size = sizeof(antler_rmse_result), .steps = requests[k].steps};
    ANT_CHECK(opts->steps >= 1 && opts->windows >= 1, ANTLER_ERROR_ARGUMENT,
              "RMSE needs at least one step and one window");
    ANT_TRY(ant_model_check_series(model, series, "the true series"));
    bool gaps = false;
    ANT_TRY(check_finite(series, &gaps));
    double lyapunov = 0.0;
    ANT_TRY(lyapunov_times(model, series, opts->exponent, &lyapunov));
    const size_t longest = ant_forecast_longest(series);
    const size_t room = longest > opts->steps ? (longest - opts->steps) / 2 : 0;
    ant_runner *runner = NULL;
    ANT_TRY(ant_runner_create(model, &runner));
    comparison c = {.model = model,
                    .series = series,
                    .runner = runner,
                    .warmup = ant_model_warmup(model, opts->warmup, room),
                    .steps = opts->steps,
                    .user_units = opts->user_units,
                    .device = opts->device,
                    .lyapunov = lyapunov,
                    .gaps = gaps,
                    .requests = requests,
                    .request_count = count};
    antler_status status = ant_units_create(model, series, opts->model_units, &c.units);
    if (status == ANTLER_OK)
        status = fill_naive(&c);
    if (status == ANTLER_OK)
        status = compare(&c, opts->windows);
    for (size_t k = 0; k < count; k++)
        requests[k].result->warmup = c.warmup;
    ant_units_free(&c.units);
    ant_runner_free(runner);
    return status;
}

antler_status(antler_rmse)(const antler_model *model, const antler_series *series,
                           const antler_rmse_opts *opts, antler_rmse_result *result, size_t struct_size)
{
    ANT_NEED(model != NULL && series != NULL && opts != NULL && result != NULL);
    return (antler_forecast)(model, series, "rmse", opts, result, struct_size);
}

antler_status(antler_forecast)(const antler_model *model, const antler_series *series, const char *measure,
                               const antler_rmse_opts *opts, antler_rmse_result *result, size_t struct_size)
{
    ANT_NEED(model != NULL && series != NULL && measure != NULL && opts != NULL && result != NULL);
    ANT_RESULT(antler_rmse_result, result, struct_size, antler_forecast(model, series, measure, opts, &whole),
               (void)0);
    ANT_OPTIONS_PART(antler_rmse_opts, opts);
    const ant_measure *m = ant_measure_at(antler_measure_index(measure));
    ANT_CHECK(m != NULL && m->forecast != NULL, ANTLER_ERROR_ARGUMENT, "there is no forecast measure '%s'",
              measure);
    const ant_forecast_request request = {m->forecast, opts->steps, result};
    ANT_TRY(ant_forecasts(model, series, opts, &request, 1));
    ANT_CHECK(result->diverged == 0, ANTLER_DIVERGED, "%zu of %zu windows diverged within %zu steps",
              result->diverged, result->windows, opts->steps);
    return ANTLER_OK;
}
