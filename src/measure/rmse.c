/* rmse.c - RMSE(n): how far n free steps lead away from the truth (SPEC section 8). */
#include "model/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_NUMBERS = 1 << 26 }; /* of all windows that are side by side on a GPU, about */

void antler_rmse_opts_default(antler_rmse_opts *opts)
{
    *opts = (antler_rmse_opts){.steps = 128, .windows = 100, .warmup = ANTLER_WARMUP_AUTO};
}

/* Windows of warmup + 1 + steps rows that a trajectory holds. */
static size_t places(const antler_series *series, size_t trajectory, size_t warmup, size_t steps)
{
    const size_t length = antler_series_length(series, trajectory);
    return length > warmup && length - warmup > steps ? length - warmup - steps : 0;
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
    double *x;      /* (warmup + 1 + steps, N) */
    double *s;      /* (warmup + 1 + steps, K), NULL when K = 0 */
    double *from;   /* (n) */
    double *states; /* (steps, n) */
    double *xhat;   /* (steps, N) */
} comparison;

static antler_status comparison_create(comparison *c)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1 + c->steps;
    const size_t numbers = rows * (r->N + r->K) + r->n + c->steps * (r->n + r->N);
    c->x = malloc(numbers * sizeof *c->x);
    if (c->x == NULL)
        return ant_fail_memory(numbers * sizeof *c->x, "the windows");
    c->from = c->x + rows * r->N;
    c->states = c->from + r->n;
    c->xhat = c->states + c->steps * r->n;
    c->s = r->K == 0 ? NULL : c->xhat + c->steps * r->N;
    return ANTLER_OK;
}

/*
 * RMSE(n) of one window; infinite when the free steps diverged.
 * x: (warmup + 1 + steps, N), the truth; xhat: (steps, N); states: (steps, n), or NULL: `finite` of them are
 */
static double error_of(const comparison *c, const double *x, const double *xhat, const double *states,
                       size_t finite)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1;
    const double limit = ant_divergence_limit(x, rows * r->N);
    if (ant_rows_within(r, limit, xhat, states, finite) < c->steps)
        return INFINITY;
    double squares = 0.0;
    for (size_t i = 0; i < c->steps * r->N; i++) {
        double difference = x[rows * r->N + i] - xhat[i];
        if (c->user_units && c->model->scale != NULL)
            difference *= c->model->scale[i % r->N];
        squares += difference * difference;
    }
    return sqrt(squares / (double)c->steps);
}

/* The window that begins at row `first` of a trajectory. */
static antler_status window_error(const comparison *c, size_t trajectory, size_t first, double *error)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1;
    ANT_TRY(ant_units_read(&c->units, c->series, trajectory, first, rows + c->steps, c->x, c->s));
    ant_runner_warm(r, c->x, c->s, rows, c->from);
    ant_runner_steps(r, c->from, c->s == NULL ? NULL : c->s + rows * r->K, c->steps, c->states, c->xhat);
    *error = error_of(c, c->x, c->xhat, c->states, c->steps);
    return ANTLER_OK;
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* errors: (count), sorted on return */
static void summarise(double *errors, size_t count, antler_rmse_result *result)
{
    double sum = 0.0, squares = 0.0;
    qsort(errors, count, sizeof *errors, rising);
    for (size_t i = 0; i < count; i++) {
        sum += errors[i];
        result->diverged += isinf(errors[i]) ? 1 : 0;
    }
    result->mean = sum / (double)count;
    const double low = errors[(count - 1) / 2], high = errors[count / 2];
    result->median = low == high ? low : 0.5 * (low + high);
    for (size_t i = 0; i < count; i++)
        squares += (errors[i] - result->mean) * (errors[i] - result->mean);
    result->sd = result->diverged > 0 ? INFINITY : count < 2 ? 0.0 : sqrt(squares / (double)(count - 1));
    result->windows = count;
}

/* Where a window begins. */
typedef struct window {
    size_t trajectory, first;
} window;

/* Spread `count` windows evenly over all places where one fits.  windows: (count) */
static void place_windows(const comparison *c, size_t total, window *windows, size_t count)
{
    size_t trajectory = 0, before = 0; /* places in the trajectories that have been passed */
    for (size_t i = 0; i < count; i++) {
        const size_t place =
            count == 1 ? 0 : (size_t)((double)(total - 1) * ((double)i / (double)(count - 1)) + 0.5);
        while (place - before >= places(c->series, trajectory, c->warmup, c->steps))
            before += places(c->series, trajectory++, c->warmup, c->steps);
        windows[i] = (window){trajectory, place - before};
    }
}

/* Numbers that batch_errors needs for one window. */
static size_t batch_numbers(const comparison *c)
{
    const ant_runner *r = c->runner;
    const size_t warm = c->warmup + 1, rows = warm + c->steps;
    return rows * (r->N + r->K) + c->steps * r->N + warm * r->N;
}

/* All windows of a batch, side by side.  block: (count, batch_numbers()); finite: (count) */
static antler_status batch_errors(const comparison *c, const ant_engine *engine, const ant_engine_map *map,
                                  const window *windows, size_t count, double *block, size_t *finite,
                                  double *errors)
{
    const ant_runner *r = c->runner;
    const size_t warm = c->warmup + 1, rows = warm + c->steps;
    double *x = block;                                // (count, rows, N)
    double *s = x + count * rows * r->N;              // (count, rows, K)
    double *xhat = s + count * rows * r->K;           // (count, steps, N)
    double *forcing = xhat + count * c->steps * r->N; // (count, warm, N)
    for (size_t i = 0; i < count; i++) {
        double *truth = x + i * rows * r->N;
        ANT_TRY(ant_units_read(&c->units, c->series, windows[i].trajectory, windows[i].first, rows, truth,
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
        errors[i] = error_of(c, x + i * rows * r->N, xhat + i * c->steps * r->N, NULL, finite[i]);
    return ANTLER_OK;
}

static antler_status measure_on_engine(const comparison *c, const ant_engine *engine,
                                       const ant_engine_map *map, const window *windows, double *errors,
                                       size_t count)
{
    const size_t fit = BATCH_NUMBERS / batch_numbers(c) + 1, batch = fit < count ? fit : count;
    double *block = malloc(batch * batch_numbers(c) * sizeof *block);
    size_t *finite = malloc(batch * sizeof *finite);
    antler_status status = ANTLER_OK;
    if (block == NULL || finite == NULL)
        status = ant_fail_memory(batch * batch_numbers(c) * sizeof *block, "the windows");
    for (size_t i = 0; i < count && status == ANTLER_OK; i += batch)
        status = batch_errors(c, engine, map, windows + i, count - i < batch ? count - i : batch, block,
                              finite, errors + i);
    free(finite);
    free(block);
    return status;
}

/* One after the other on the CPU, or side by side on a GPU. */
static antler_status measure_windows(const comparison *c, const window *windows, double *errors, size_t count)
{
    const ant_engine *engine = NULL;
    ant_engine_map map;
    ANT_TRY(ant_runner_engine_for(c->runner, c->device, count, (double)(c->warmup + c->steps) * (double)count,
                                  &map, &engine));
    if (engine != NULL)
        return measure_on_engine(c, engine, &map, windows, errors, count);
    for (size_t i = 0; i < count; i++)
        ANT_TRY(window_error(c, windows[i].trajectory, windows[i].first, &errors[i]));
    return ANTLER_OK;
}

static antler_status compare(comparison *c, size_t windows, antler_rmse_result *result)
{
    size_t total = 0;
    for (size_t i = 0; i < antler_series_count(c->series); i++)
        total += places(c->series, i, c->warmup, c->steps);
    ANT_CHECK(total >= 1, ANTLER_ERROR_DATA,
              "RMSE(%zu) after a warm-up of %zu rows needs a trajectory of %zu rows, and none is that long: "
              "give fewer steps or a shorter warm-up",
              c->steps, c->warmup, c->warmup + 1 + c->steps);
    const size_t count = windows < total ? windows : total;
    double *errors = malloc(count * sizeof *errors);
    window *places_of = malloc(count * sizeof *places_of);
    antler_status status = errors == NULL || places_of == NULL
                               ? ant_fail_memory(count * (sizeof *errors + sizeof *places_of), "the windows")
                               : comparison_create(c);
    if (status == ANTLER_OK) {
        place_windows(c, total, places_of, count);
        status = measure_windows(c, places_of, errors, count);
    }
    if (status == ANTLER_OK)
        summarise(errors, count, result);
    free(places_of);
    free(errors);
    free(c->x);
    return status;
}

antler_status antler_rmse(const antler_model *model, const antler_series *series,
                          const antler_rmse_opts *opts, antler_rmse_result *result)
{
    *result = (antler_rmse_result){0};
    ANT_CHECK(opts->steps >= 1 && opts->windows >= 1, ANTLER_ERROR_ARGUMENT,
              "RMSE needs at least one step and one window");
    ANT_TRY(ant_model_check_series(model, series, "the true series"));
    size_t longest = 0;
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        longest = length > longest ? length : longest;
    }
    const size_t room = longest > opts->steps ? (longest - opts->steps) / 2 : 0;
    ant_runner *runner = NULL;
    ANT_TRY(ant_runner_create(model, &runner));
    comparison c = {.model = model,
                    .series = series,
                    .runner = runner,
                    .warmup = ant_model_warmup(model, opts->warmup, room),
                    .steps = opts->steps,
                    .user_units = opts->user_units,
                    .device = opts->device};
    antler_status status = ant_units_create(model, series, opts->model_units, &c.units);
    if (status == ANTLER_OK)
        status = compare(&c, opts->windows, result);
    result->warmup = c.warmup;
    ant_units_free(&c.units);
    ant_runner_free(runner);
    if (status == ANTLER_OK && result->diverged > 0)
        status = ant_fail(ANTLER_DIVERGED, "%zu of %zu windows diverged within %zu steps", result->diverged,
                          result->windows, opts->steps);
    return status;
}
