/* rmse.c - RMSE(n): how far n free steps lead away from the truth (SPEC section 8). */
#include "model/start.h"

#include <math.h>
#include <stdlib.h>

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

/* RMSE(n) of the window that begins at row `first`; infinite when the free steps diverge. */
static antler_status window_error(const comparison *c, size_t trajectory, size_t first, double *error)
{
    const ant_runner *r = c->runner;
    const size_t rows = c->warmup + 1;
    ANT_TRY(ant_units_read(&c->units, c->series, trajectory, first, rows + c->steps, c->x, c->s));
    ant_runner_warm(r, c->x, c->s, rows, c->from);
    ant_runner_steps(r, c->from, c->s == NULL ? NULL : c->s + rows * r->K, c->steps, c->states, c->xhat);
    const double limit = ant_divergence_limit(c->x, rows * r->N);
    if (ant_rows_within(r, limit, c->xhat, c->states, c->steps) < c->steps) {
        *error = INFINITY;
        return ANTLER_OK;
    }
    double squares = 0.0;
    for (size_t i = 0; i < c->steps * r->N; i++) {
        double difference = c->x[rows * r->N + i] - c->xhat[i];
        if (c->user_units && c->model->scale != NULL)
            difference *= c->model->scale[i % r->N];
        squares += difference * difference;
    }
    *error = sqrt(squares / (double)c->steps);
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

/* Spread `count` windows evenly over all places where one fits. */
static antler_status measure_windows(const comparison *c, size_t total, double *errors, size_t count)
{
    size_t trajectory = 0, before = 0; /* places in the trajectories that have been passed */
    for (size_t i = 0; i < count; i++) {
        const size_t place =
            count == 1 ? 0 : (size_t)((double)(total - 1) * ((double)i / (double)(count - 1)) + 0.5);
        while (place - before >= places(c->series, trajectory, c->warmup, c->steps))
            before += places(c->series, trajectory++, c->warmup, c->steps);
        ANT_TRY(window_error(c, trajectory, place - before, &errors[i]));
    }
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
    if (errors == NULL)
        return ant_fail_memory(count * sizeof *errors, "the windows");
    antler_status status = comparison_create(c);
    if (status == ANTLER_OK)
        status = measure_windows(c, total, errors, count);
    if (status == ANTLER_OK)
        summarise(errors, count, result);
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
                    .user_units = opts->user_units};
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
