/* generate.c - the free run: from a start into a new series, or until it diverges. */
#include "base/machine.h"
#include "data/series.h"
#include "model/start.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps between two looks at the orbit and the clock; the states of a piece stay in the first cache. */
enum { PIECE = 256 };

void antler_generate_opts_default(antler_generate_opts *opts)
{
    *opts = (antler_generate_opts){.steps = 10000};
    antler_run_start_default(&opts->start);
}

size_t ant_rows_within(const ant_runner *r, double limit, const double *x, const double *states, size_t count)
{
    for (size_t t = 0; t < count; t++) {
        bool good = true;
        for (size_t n = 0; n < r->N; n++)
            good = good && fabs(x[t * r->N + n]) <= limit; /* false for NaN */
        for (size_t i = 0; i < r->n; i++)
            good = good && isfinite(states[t * r->n + i]);
        if (!good)
            return t;
    }
    return count;
}

antler_status ant_free_run(const ant_runner *r, const ant_started *started, size_t steps,
                           antler_progress progress, double *x, double *z, size_t *done)
{
    const size_t numbers = (PIECE + 1) * r->n + PIECE * r->K;
    double *from = malloc(numbers * sizeof *from); // (n)
    if (from == NULL)
        return ant_fail_memory(numbers * sizeof *from, "the free run");
    double *piece = from + r->n; // (PIECE, n)
    double *s = r->K == 0 ? NULL : piece + PIECE * r->n;
    memcpy(from, started->state, r->n * sizeof *from);
    antler_status status = ANTLER_OK;
    double last_report = 0.0;
    *done = 0;
    while (*done < steps && status == ANTLER_OK) {
        const size_t count = steps - *done < PIECE ? steps - *done : PIECE;
        if (s != NULL)
            ant_started_inputs(started, *done, count, s);
        ant_runner_steps(r, from, s, count, piece, x + *done * r->N);
        const size_t good = ant_rows_within(r, started->limit, x + *done * r->N, piece, count);
        for (size_t t = 0; t < good && z != NULL; t++)
            memcpy(z + (*done + t) * r->latent, piece + t * r->n, r->latent * sizeof *z);
        memcpy(from, piece + (count - 1) * r->n, r->n * sizeof *from);
        *done += good;
        if (good < count)
            status = ant_fail(ANTLER_DIVERGED, "the free run diverged at step %zu of %zu", *done + 1, steps);
        else if (ant_progress_due(&last_report))
            status = ant_progress_report(progress, "free run", (double)*done / (double)steps);
    }
    free(from);
    return status;
}

static bool is_scaled(const antler_model *model)
{
    return model->mean != NULL && model->scale != NULL;
}

/* x: (rows, N) */
static void to_user_units(const antler_model *model, size_t rows, double *x)
{
    const size_t N = model->layout.dims.N;
    for (size_t t = 0; is_scaled(model) && t < rows; t++) {
        for (size_t n = 0; n < N; n++)
            x[t * N + n] = x[t * N + n] * model->scale[n] + model->mean[n];
    }
}

/* One trajectory of observations with the model's names and dt, and its scaling unless led back already. */
static antler_status make_orbit(const antler_model *model, size_t length, const double *x, bool user_units,
                                antler_series **orbit)
{
    const size_t N = model->layout.dims.N;
    antler_series *series = NULL;
    ANT_TRY(antler_series_create(N, 0, &series));
    antler_status status = antler_series_set_dt(series, model->dt);
    for (size_t n = 0; n < N && status == ANTLER_OK; n++)
        status = antler_series_set_name(series, n, antler_model_name(model, n));
    if (status == ANTLER_OK && length > 0)
        status = antler_series_append(series, length, x, NULL);
    if (status != ANTLER_OK) {
        antler_series_free(series);
        return status;
    }
    if (is_scaled(model) && !user_units)
        ant_series_set_scaling(series, model->mean, model->scale);
    *orbit = series;
    return ANTLER_OK;
}

/* One trajectory of states, called z1, z2, ... */
static antler_status make_latent(const antler_model *model, size_t length, const double *z,
                                 antler_series **latent)
{
    const size_t M = antler_model_state_dim(model);
    antler_series *series = NULL;
    ANT_TRY(antler_series_create(M, 0, &series));
    antler_status status = antler_series_set_dt(series, model->dt);
    for (size_t m = 0; m < M && status == ANTLER_OK; m++) {
        char name[32];
        snprintf(name, sizeof name, "z%zu", m + 1);
        status = antler_series_set_name(series, m, name);
    }
    if (status == ANTLER_OK && length > 0)
        status = antler_series_append(series, length, z, NULL);
    if (status == ANTLER_OK)
        *latent = series;
    else
        antler_series_free(series);
    return status;
}

/* Room for the whole orbit, z included when it is wanted. */
static antler_status allocate(const antler_model *model, size_t steps, bool latent, double **x, double **z)
{
    const size_t N = model->layout.dims.N, M = latent ? antler_model_state_dim(model) : 0;
    ANT_CHECK(steps <= SIZE_MAX / sizeof(double) / (N + M), ANTLER_ERROR_MEMORY,
              "out of memory: %zu steps are too many", steps);
    *x = malloc(steps * (N + M) * sizeof **x);
    if (*x == NULL)
        return ant_fail_memory(steps * (N + M) * sizeof **x, "the free run");
    *z = latent ? *x + steps * N : NULL;
    return ANTLER_OK;
}

static antler_status check_steps(const antler_generate_opts *opts)
{
    ANT_CHECK(opts->steps >= 1, ANTLER_ERROR_ARGUMENT, "a free run of 0 steps: give at least 1");
    return ANTLER_OK;
}

/* Run free into x and z, in the model's units. */
static antler_status run_free(const antler_model *model, const antler_generate_opts *opts, double *x,
                              double *z, size_t *done)
{
    ant_runner *runner = NULL;
    ant_started started = {0};
    ANT_TRY(ant_runner_create(model, &runner));
    antler_status status = ant_start(model, runner, &opts->start, opts->steps, &started);
    if (status == ANTLER_OK)
        status = ant_free_run(runner, &started, opts->steps, opts->progress, x, z, done);
    ant_started_clear(&started);
    ant_runner_free(runner);
    return status;
}

antler_status antler_generate_into(const antler_model *model, const antler_generate_opts *opts, double *x,
                                   double *z, size_t *done)
{
    ANT_TRY(check_steps(opts));
    size_t rows = 0;
    const antler_status status = run_free(model, opts, x, z, &rows);
    if (status != ANTLER_OK && status != ANTLER_DIVERGED)
        return status;
    if (opts->user_units)
        to_user_units(model, rows, x);
    *done = rows;
    return status;
}

antler_status antler_generate(const antler_model *model, const antler_generate_opts *opts,
                              antler_series **orbit, antler_series **latent)
{
    antler_series *made = NULL, *states = NULL;
    double *x = NULL, *z = NULL; // (steps, N), (steps, latent)
    size_t done = 0;
    ANT_TRY(check_steps(opts));
    ANT_TRY(allocate(model, opts->steps, latent != NULL, &x, &z));
    const antler_status run = antler_generate_into(model, opts, x, z, &done);
    antler_status status = run == ANTLER_OK || run == ANTLER_DIVERGED ? ANTLER_OK : run;
    if (status == ANTLER_OK && latent != NULL)
        status = make_latent(model, done, z, &states);
    if (status == ANTLER_OK)
        status = make_orbit(model, done, x, opts->user_units, &made);
    if (status == ANTLER_OK) {
        *orbit = made;
        if (latent != NULL)
            *latent = states;
        status = run;
    } else {
        antler_series_free(states);
    }
    free(x);
    return status;
}
