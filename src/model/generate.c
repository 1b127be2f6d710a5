/* generate.c - free runs: from a start, or many, into arrays or a new series, or until they diverge. */
#include "base/machine.h"
#include "base/sized.h"
#include "data/series.h"
#include "model/start.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps between two checks of the orbit and of the clock; the states of a tile fit in the first cache. */
enum { TILE = 256 };

void(antler_generate_opts_default)(antler_generate_opts *opts, size_t struct_size)
{
    antler_generate_opts standard = {.steps = 10000, .orbits = 1};
    antler_run_start_default(&standard.start);
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

size_t ant_rows_within(const ant_runner *r, double limit, const double *x, const double *states, size_t count)
{
    for (size_t t = 0; t < count; t++) {
        bool good = true;
        for (size_t n = 0; n < r->N; n++)
            good = good && fabs(x[t * r->N + n]) <= limit; /* false for NaN */
        for (size_t i = 0; i < r->n && states != NULL; i++)
            good = good && isfinite(states[t * r->n + i]);
        if (!good)
            return t;
    }
    return count;
}

/* ---- one orbit or many ----------------------------------------------------------------------------- */

/* Free runs of one length. */
typedef struct free_runs {
    const ant_runner *runner;
    const ant_started *started; /* (count) */
    size_t count, steps;
    antler_progress progress;
    double *x, *z; /* (count, steps, N), (count, steps, latent) or NULL */
    size_t *done;  /* (count) */
} free_runs;

/* Orbit i in tiles that report progress.  from: (n); tile: (TILE, n); s: (TILE, K) or NULL */
static antler_status run_tiles(const free_runs *f, size_t i, double *from, double *tile, double *s)
{
    const ant_runner *r = f->runner;
    double *x = f->x + i * f->steps * r->N, *z = f->z == NULL ? NULL : f->z + i * f->steps * r->latent;
    size_t *done = &f->done[i];
    double last_report = 0.0;
    memcpy(from, f->started[i].state, r->n * sizeof *from);
    for (*done = 0; *done < f->steps;) {
        const size_t count = f->steps - *done < TILE ? f->steps - *done : TILE;
        if (s != NULL)
            ant_started_inputs(&f->started[i], *done, count, s);
        ant_runner_steps(r, from, s, count, tile, x + *done * r->N);
        const size_t good = ant_rows_within(r, f->started[i].limit, x + *done * r->N, tile, count);
        for (size_t t = 0; t < good && z != NULL; t++)
            memcpy(z + (*done + t) * r->latent, tile + t * r->n, r->latent * sizeof *z);
        memcpy(from, tile + (count - 1) * r->n, r->n * sizeof *from);
        *done += good;
        if (good < count)
            return ANTLER_OK;
        if (ant_progress_due(&last_report))
            ANT_TRY(ant_progress_report(f->progress, "free run",
                                        ((double)i + (double)*done / (double)f->steps) / (double)f->count));
    }
    return ANTLER_OK;
}

static antler_status run_each(const free_runs *f)
{
    const ant_runner *r = f->runner;
    const size_t numbers = (TILE + 1) * r->n + TILE * r->K;
    double *from = malloc(numbers * sizeof *from); // (n)
    if (from == NULL)
        return ant_fail_memory(numbers * sizeof *from, "the free run");
    double *tile = from + r->n; // (TILE, n)
    double *s = r->K == 0 ? NULL : tile + TILE * r->n;
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < f->count && status == ANTLER_OK; i++)
        status = run_tiles(f, i, from, tile, s);
    free(from);
    return status;
}

/* The orbits side by side. */
static antler_status run_on_engine(const free_runs *f, const ant_engine *engine, const ant_engine_map *map)
{
    const size_t count = f->count, steps = f->steps, n = map->n, N = map->N, K = map->K;
    const size_t numbers = count * (n + steps * K);
    double *from = malloc(numbers * sizeof *from); // (count, n)
    if (from == NULL)
        return ant_fail_memory(numbers * sizeof *from, "the inputs");
    double *s = from + count * n; // (count, steps, K)
    for (size_t i = 0; i < count; i++) {
        memcpy(from + i * n, f->started[i].state, n * sizeof *from);
        if (K > 0)
            ant_started_inputs(&f->started[i], 0, steps, s + i * steps * K);
    }
    const ant_engine_orbits work = {.map = map,
                                    .count = count,
                                    .steps = steps,
                                    .s = s,
                                    .from = from,
                                    .report = {f->progress, "free run", 0.0, 1.0},
                                    .xhat = f->x,
                                    .finite = f->done,
                                    .latent = f->z == NULL ? 0 : f->runner->latent,
                                    .states = f->z};
    const antler_status status = engine->orbits(&work);
    for (size_t i = 0; i < count && status == ANTLER_OK; i++)
        f->done[i] = ant_rows_within(f->runner, f->started[i].limit, f->x + i * steps * N, NULL, f->done[i]);
    free(from);
    return status;
}

antler_status ant_free_runs(const ant_runner *runner, const ant_started *started, size_t count, size_t steps,
                            antler_device device, antler_progress progress, double *x, double *z,
                            size_t *done)
{
    const free_runs f = {runner, started, count, steps, progress, x, z, done};
    const ant_engine *engine = NULL;
    ant_engine_map map;
    ANT_TRY(ant_runner_engine_for(runner, device, count, (double)steps * (double)count, &map, &engine));
    return engine == NULL ? run_each(&f) : run_on_engine(&f, engine, &map);
}

/* ---- generate -------------------------------------------------------------------------------------- */

/* All orbits of a call.  Those that diverge keep fewer rows. */
typedef struct orbit_set {
    const antler_model *model;
    const antler_generate_opts *opts;
    ant_runner *runner;
    ant_started *started; /* (orbits) */
    size_t *done;         /* (orbits): rows that are good */
    double *x, *z;        /* (orbits, steps, N), (orbits, steps, latent) or NULL: the caller's */
} orbit_set;

/* Rows after the warm-up that the context must have. */
static size_t rows_for_inputs(const antler_model *model, const antler_generate_opts *opts)
{
    const antler_run_start *start = &opts->start;
    if (model->layout.dims.K == 0 || start->inputs != NULL)
        return 0;
    return start->inputs_end == ANTLER_INPUTS_STOP ? opts->steps : 1;
}

/* Orbit i begins where the context is divided evenly; its warm-up is a number of rows. */
static antler_run_start nth_start(const antler_model *model, const antler_generate_opts *opts, size_t i)
{
    antler_run_start start = opts->start;
    const size_t length = antler_series_length(start.context, start.trajectory);
    ant_start_rows(model, &opts->start, &start.first, &start.warmup);
    const size_t after = start.first < length ? length - start.first : 0;
    const size_t used = start.warmup + 1 + rows_for_inputs(model, opts);
    const size_t spare = after > used ? after - used : 0;
    if (opts->orbits > 1)
        start.first += (size_t)((double)spare * ((double)i / (double)(opts->orbits - 1)));
    return start;
}

static antler_status start_one(orbit_set *f, size_t i)
{
    const size_t orbits = f->opts->orbits;
    antler_run_start start = f->opts->start;
    if (orbits > 1) {
        ANT_CHECK(start.context != NULL, ANTLER_ERROR_ARGUMENT,
                  "%zu orbits without data would all be the same: give the data that they begin on", orbits);
        ANT_CHECK(start.trajectory < antler_series_count(start.context), ANTLER_ERROR_ARGUMENT,
                  "the context has %zu trajectories, there is no number %zu",
                  antler_series_count(start.context), start.trajectory);
        ANT_CHECK(!start.from_end, ANTLER_ERROR_ARGUMENT,
                  "%zu orbits begin at rows spread over the data, and only one goes on after the last row: "
                  "leave out "
                  "--orbits or --from end",
                  orbits);
        start = nth_start(f->model, f->opts, i);
    }
    return ant_start(f->model, f->runner, &start, f->opts->steps, &f->started[i]);
}

static antler_status fail_diverged(const orbit_set *f, size_t diverged, size_t first)
{
    if (f->opts->orbits == 1)
        return ant_fail(ANTLER_DIVERGED, "the free run diverged at step %zu of %zu", f->done[0] + 1,
                        f->opts->steps);
    return ant_fail(ANTLER_DIVERGED, "%zu of %zu orbits diverged, orbit %zu at step %zu of %zu", diverged,
                    f->opts->orbits, first + 1, f->done[first] + 1, f->opts->steps);
}

static antler_status run_all(orbit_set *f)
{
    const size_t orbits = f->opts->orbits;
    size_t diverged = 0, first = 0;
    ANT_TRY(ant_free_runs(f->runner, f->started, orbits, f->opts->steps, f->opts->device, f->opts->progress,
                          f->x, f->z, f->done));
    for (size_t i = orbits; i-- > 0;) {
        if (f->done[i] < f->opts->steps) {
            diverged++;
            first = i;
        }
    }
    return diverged == 0 ? ANTLER_OK : fail_diverged(f, diverged, first);
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

static antler_status check_sizes(const antler_generate_opts *opts)
{
    ANT_CHECK(opts->steps >= 1, ANTLER_ERROR_ARGUMENT, "a free run of 0 steps: give at least 1");
    ANT_CHECK(opts->orbits >= 1, ANTLER_ERROR_ARGUMENT, "0 orbits: give at least 1");
    return ANTLER_OK;
}

antler_status antler_generate_into(const antler_model *model, const antler_generate_opts *opts, double *x,
                                   double *z, size_t *done)
{
    ANT_NEED(model != NULL && opts != NULL && x != NULL && done != NULL);
    ANT_OPTIONS(antler_generate_opts, opts);
    ANT_PART(antler_run_start, &opts->start);
    ANT_TRY(check_sizes(opts));
    orbit_set f = {.model = model, .opts = opts, .x = x, .z = z, .done = done};
    ANT_TRY(ant_runner_create(model, &f.runner));
    f.started = calloc(opts->orbits, sizeof *f.started);
    antler_status status =
        f.started == NULL ? ant_fail_memory(opts->orbits * sizeof *f.started, "the orbits") : ANTLER_OK;
    for (size_t i = 0; i < opts->orbits && status == ANTLER_OK; i++)
        status = start_one(&f, i);
    if (status == ANTLER_OK)
        status = run_all(&f);
    for (size_t i = 0; i < opts->orbits && status >= ANTLER_OK && opts->user_units; i++)
        to_user_units(model, done[i], x + i * opts->steps * f.runner->N);
    for (size_t i = 0; f.started != NULL && i < opts->orbits; i++)
        ant_started_clear(&f.started[i]);
    free(f.started);
    ant_runner_free(f.runner);
    return status;
}

/* ---- series ---------------------------------------------------------------------------------------- */

/* Append the good rows of every orbit, at the times that follow those of its warm-up.  values: (orbits,
 * steps, dim); done: (orbits) */
static antler_status append_all(const antler_model *model, const antler_generate_opts *opts,
                                const double *values, size_t dim, const size_t *done, antler_series *series)
{
    antler_status status = antler_series_set_dt(series, model->dt);
    for (size_t i = 0; i < opts->orbits && status == ANTLER_OK; i++) {
        if (done[i] == 0)
            continue;
        status = antler_series_append(series, done[i], values + i * opts->steps * dim, NULL);
        if (status != ANTLER_OK || opts->start.context == NULL)
            continue;
        const antler_run_start start = nth_start(model, opts, i);
        ant_series_continue_time(series, start.context, start.trajectory, start.first + start.warmup + 1);
    }
    return status;
}

/* Trajectories of observations with the model's names and dt, and its scaling unless x is in user units. */
static antler_status make_orbit(const antler_model *model, const antler_generate_opts *opts, const double *x,
                                const size_t *done, antler_series **orbit)
{
    const size_t N = model->layout.dims.N;
    antler_series *series = NULL;
    ANT_TRY(antler_series_create(N, 0, &series));
    antler_status status = ANTLER_OK;
    for (size_t n = 0; n < N && status == ANTLER_OK; n++)
        status = antler_series_set_name(series, n, antler_model_name(model, n));
    if (status == ANTLER_OK)
        status = append_all(model, opts, x, N, done, series);
    if (status != ANTLER_OK) {
        antler_series_free(series);
        return status;
    }
    if (is_scaled(model) && !opts->user_units)
        ant_series_set_scaling(series, model->mean, model->scale);
    *orbit = series;
    return ANTLER_OK;
}

/* Trajectories of states, called z1, z2, ... */
static antler_status make_latent(const antler_model *model, const antler_generate_opts *opts, const double *z,
                                 const size_t *done, antler_series **latent)
{
    const size_t M = antler_model_state_dim(model);
    antler_series *series = NULL;
    ANT_TRY(antler_series_create(M, 0, &series));
    antler_status status = ANTLER_OK;
    for (size_t m = 0; m < M && status == ANTLER_OK; m++) {
        char name[32];
        snprintf(name, sizeof name, "z%zu", m + 1);
        status = antler_series_set_name(series, m, name);
    }
    if (status == ANTLER_OK)
        status = append_all(model, opts, z, M, done, series);
    if (status == ANTLER_OK)
        *latent = series;
    else
        antler_series_free(series);
    return status;
}

/* Memory of all orbits; z only where `latent` is true. */
static antler_status allocate(const antler_model *model, const antler_generate_opts *opts, bool latent,
                              double **x, double **z, size_t **done)
{
    const size_t N = model->layout.dims.N, M = latent ? antler_model_state_dim(model) : 0;
    ANT_CHECK(opts->steps <= SIZE_MAX / sizeof(double) / (N + M) / opts->orbits, ANTLER_ERROR_MEMORY,
              "out of memory: %zu steps are too many", opts->steps);
    const size_t rows = opts->orbits * opts->steps;
    *x = malloc(rows * (N + M) * sizeof **x);
    *done = calloc(opts->orbits, sizeof **done);
    if (*x == NULL || *done == NULL)
        return ant_fail_memory(rows * (N + M) * sizeof **x, "the free run");
    *z = latent ? *x + rows * N : NULL;
    return ANTLER_OK;
}

antler_status antler_generate(const antler_model *model, const antler_generate_opts *opts,
                              antler_series **orbit, antler_series **latent)
{
    ANT_NEED(model != NULL && opts != NULL && orbit != NULL);
    ANT_OPTIONS(antler_generate_opts, opts);
    antler_series *made = NULL, *states = NULL;
    double *x = NULL, *z = NULL; // (orbits, steps, N), (orbits, steps, latent)
    size_t *done = NULL;         // (orbits)
    ANT_TRY(check_sizes(opts));
    antler_status run = allocate(model, opts, latent != NULL, &x, &z, &done);
    if (run == ANTLER_OK)
        run = antler_generate_into(model, opts, x, z, done);
    antler_status status = run == ANTLER_OK || run == ANTLER_DIVERGED ? ANTLER_OK : run;
    if (status == ANTLER_OK && latent != NULL)
        status = make_latent(model, opts, z, done, &states);
    if (status == ANTLER_OK)
        status = make_orbit(model, opts, x, done, &made);
    if (status == ANTLER_OK) {
        *orbit = made;
        if (latent != NULL)
            *latent = states;
        status = run;
    } else {
        antler_series_free(states);
    }
    free(done);
    free(x);
    return status;
}
