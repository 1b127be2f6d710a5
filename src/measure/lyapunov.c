/*
 * lyapunov.c - all Lyapunov exponents of a free-running model (spec 8).
 *
 * Tangent vectors go through the Jacobian of every step and are orthonormalised again and again
 * (Benettin et al. 1980); the logarithms of the lengths that are taken off, divided by the steps, are the
 * exponents.  The transient carries the vectors along too, so that they point where they should when the
 * averages begin.
 */
#include "base/machine.h"
#include "base/sized.h"
#include "measure/tangent.h"
#include "measure/unforced.h"
#include "model/start.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 256, PARTS = 10 };

/* Latent numbers up to which all exponents are computed by default, and how many of them beyond. */
enum { ALL_UP_TO = 256, LEADING = 32 };

/* From so many numbers in all tangent vectors and so many multiply-adds (some seconds of one core) on, a GPU
   pays. */
enum { LARGE = 32 * 32 };
#define WORTH 2e10

typedef struct averages {
    size_t M, steps;      /* M: exponents */
    double *logs;         /* (M): of one orthonormalisation */
    double *sum;          /* (M) */
    double *part;         /* (PARTS, M) */
    double *least, *most; /* (M): of the running estimate, in the last half */
    size_t part_steps[PARTS];
} averages;

void(antler_lyapunov_opts_default)(antler_lyapunov_opts *opts, size_t struct_size)
{
    antler_lyapunov_opts standard = {.steps = 20000, .transient = 1000, .interval = 1};
    antler_run_start_default(&standard.start);
    standard.start.inputs_end = ANTLER_INPUTS_REPEAT;
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

void antler_lyapunov_result_clear(antler_lyapunov_result *result)
{
    if (result == NULL)
        return;
    ANT_CLEAR(antler_lyapunov_result, result);
    free(result->exponents);
    *result = (antler_lyapunov_result){.struct_size = sizeof *result};
}

static antler_status averages_create(averages *a, size_t M, size_t steps)
{
    *a = (averages){.M = M, .steps = steps};
    const size_t numbers = (4 + PARTS) * M;
    a->logs = calloc(numbers, sizeof *a->logs);
    if (a->logs == NULL)
        return ant_fail_memory(numbers * sizeof *a->logs, "the Lyapunov exponents");
    a->sum = a->logs + M;
    a->part = a->sum + M;
    a->least = a->part + PARTS * M;
    a->most = a->least + M;
    for (size_t k = 0; k < M; k++) {
        a->least[k] = INFINITY;
        a->most[k] = -INFINITY;
    }
    return ANTLER_OK;
}

/* Add `logs`, those of the last `count` of `done` steps. */
static void averages_add(averages *a, size_t done, size_t count)
{
    const size_t part = (done - 1) / ((a->steps + PARTS - 1) / PARTS);
    a->part_steps[part] += count;
    for (size_t k = 0; k < a->M; k++) {
        a->sum[k] += a->logs[k];
        a->part[part * a->M + k] += a->logs[k];
        const double now = a->sum[k] / (double)done;
        if (done >= a->steps - a->steps / 2) {
            a->least[k] = fmin(a->least[k], now);
            a->most[k] = fmax(a->most[k], now);
        }
    }
}

/* Standard error of exponent k from the means of the parts. */
static double standard_error(const averages *a, size_t k)
{
    double sum = 0.0, squares = 0.0;
    size_t parts = 0;
    for (size_t i = 0; i < PARTS; i++) {
        if (a->part_steps[i] == 0)
            continue;
        sum += a->part[i * a->M + k] / (double)a->part_steps[i];
        parts++;
    }
    for (size_t i = 0; i < PARTS; i++) {
        if (a->part_steps[i] == 0)
            continue;
        const double deviation = a->part[i * a->M + k] / (double)a->part_steps[i] - sum / (double)parts;
        squares += deviation * deviation;
    }
    return parts < 2 ? 0.0 : sqrt(squares / (double)(parts * (parts - 1)));
}

/*
 * Dimension by Kaplan and Yorke: how many exponents sum to 0, the last one in part.  `reduced` leaves out
 * those of latent directions without forcing.
 */
static double kaplan_yorke(const antler_lyapunov_result *r, bool reduced)
{
    double sum = 0.0, dimension = 0.0;
    for (size_t k = 0; k < r->count; k++) {
        if (reduced && !isnan(r->unforced[k]))
            continue;
        if (sum + r->exponents[k] < 0.0)
            return dimension + sum / fabs(r->exponents[k]);
        sum += r->exponents[k];
        dimension += 1.0;
    }
    return dimension;
}

/* The exponent nearest to 0: that of the direction along the orbit of a flow. */
static size_t along_the_orbit(const antler_lyapunov_result *r)
{
    size_t nearest = 0;
    for (size_t k = 1; k < r->count; k++)
        nearest = fabs(r->exponents[k]) < fabs(r->exponents[nearest]) ? k : nearest;
    return nearest;
}

/* Give the exponent of each direction without forcing to the nearest exponent of the model, if it is near
   enough (spec 8).  alone: (count) */
static void match_unforced(antler_lyapunov_result *r, const double *alone, size_t count)
{
    const size_t flow = along_the_orbit(r);
    for (size_t i = 0; i < count && isfinite(alone[i]); i++) { /* falling: only the last may be infinite */
        size_t nearest = r->count;
        double distance = 0.2 * r->exponents[0] + 0.1 * fabs(alone[i]);
        for (size_t k = 0; k < r->count; k++) {
            if (k != flow && isnan(r->unforced[k]) && fabs(r->exponents[k] - alone[i]) <= distance) {
                nearest = k;
                distance = fabs(r->exponents[k] - alone[i]);
            }
        }
        if (nearest < r->count) {
            r->unforced[nearest] = alone[i];
            r->unforced_count++;
        }
    }
}

/* Sort by falling exponent while filling the result. */
static void finish(const averages *a, antler_lyapunov_result *result)
{
    result->steps = a->steps;
    for (size_t k = 0; k < a->M; k++) {
        const double exponent = a->sum[k] / (double)a->steps;
        const bool infinite = isinf(exponent);
        size_t place = k;
        for (; place > 0 && result->exponents[place - 1] < exponent; place--) {
            result->exponents[place] = result->exponents[place - 1];
            result->error[place] = result->error[place - 1];
            result->spread[place] = result->spread[place - 1];
        }
        result->exponents[place] = exponent;
        result->error[place] = infinite ? 0.0 : standard_error(a, k);
        result->spread[place] = infinite ? 0.0 : a->most[k] - a->least[k];
        result->sum += exponent;
    }
    result->kaplan_yorke = result->kaplan_yorke_reduced = kaplan_yorke(result, false);
}

/* A pass along the orbit with its tangent vectors. */
typedef struct orbit_pass {
    const antler_model *model;
    const ant_runner *runner;
    const ant_started *started;
    const antler_lyapunov_opts *opts;
    const ant_tangent_kernels *kernels;
    ant_tangent tangent;
    averages averages;
    size_t done;    /* steps since the start of the transient */
    size_t pending; /* steps since the last orthonormalisation */
    double *tile;   /* (1 + TILE, n): row 0 is the state before its first step */
    double *x;      /* (TILE, N) */
    double *s;      /* (TILE, K) */
} orbit_pass;

/* One step of the tangent vectors from a state, with input s. */
static void pass_step(orbit_pass *w, const double *from, const double *s)
{
    const size_t transient = w->opts->transient, all = transient + w->opts->steps;
    ant_tangent_push(&w->tangent, from, s);
    w->done++;
    w->pending++;
    if (w->pending < w->opts->interval && w->done != transient && w->done != all)
        return;
    w->kernels->orthonormalise(&w->tangent, w->averages.logs);
    if (w->done > transient)
        averages_add(&w->averages, w->done - transient, w->pending);
    w->pending = 0;
}

static antler_status pass_on_cpu(orbit_pass *w)
{
    const ant_runner *r = w->runner;
    const size_t all = w->opts->transient + w->opts->steps;
    double last_report = 0.0;
    memcpy(w->tile, w->started->state, r->n * sizeof *w->tile);
    while (w->done < all) {
        const size_t count = all - w->done < TILE ? all - w->done : TILE;
        double *after = w->tile + r->n;
        ant_started_inputs(w->started, w->done, count, w->s);
        ant_runner_steps(r, w->tile, w->s, count, after, w->x);
        const size_t good = ant_rows_within(r, w->started->limit, w->x, after, count);
        if (good < count)
            return ant_fail(ANTLER_DIVERGED,
                            "the orbit diverged at step %zu, so it has no Lyapunov exponents",
                            (w->done += good + 1));
        for (size_t t = 0; t < count; t++)
            pass_step(w, w->tile + t * r->n, w->s + t * r->K);
        memcpy(w->tile, w->tile + count * r->n, r->n * sizeof *w->tile);
        if (ant_progress_due(&last_report))
            ANT_TRY(
                ant_progress_report(w->opts->progress, "Lyapunov exponents", (double)w->done / (double)all));
    }
    return ANTLER_OK;
}

static void inputs_of_steps(const void *cookie, size_t first, size_t count, double *s)
{
    const orbit_pass *w = cookie;
    ant_started_inputs(w->started, first, count, s);
}

/* Add the logarithms of a whole pass, which an engine computed.  logs: (events, M) */
static void average_events(orbit_pass *w, const double *logs)
{
    const size_t transient = w->opts->transient, all = transient + w->opts->steps;
    for (w->done = transient; w->done < all;) {
        const size_t rest = all - w->done, count = rest < w->opts->interval ? rest : w->opts->interval;
        memcpy(w->averages.logs, logs, w->averages.M * sizeof *logs);
        logs += w->averages.M;
        w->done += count;
        averages_add(&w->averages, w->done - transient, count);
    }
}

static antler_status pass_on_engine(orbit_pass *w, const ant_engine *engine, const ant_engine_map *map)
{
    const size_t events = (w->opts->steps - 1) / w->opts->interval + 1, M = w->averages.M;
    ANT_CHECK(events <= SIZE_MAX / sizeof(double) / M, ANTLER_ERROR_MEMORY,
              "out of memory: %zu steps are too many", w->opts->steps);
    double *logs = malloc(events * M * sizeof *logs); // (events, M)
    if (logs == NULL)
        return ant_fail_memory(events * M * sizeof *logs, "the Lyapunov exponents");
    ant_engine_tangents work = {.map = map,
                                .transient = w->opts->transient,
                                .steps = w->opts->steps,
                                .interval = w->opts->interval,
                                .count = M,
                                .from = w->started->state,
                                .vectors = w->tangent.P,
                                .stride = w->tangent.stride,
                                .inputs = inputs_of_steps,
                                .cookie = w,
                                .limit = w->started->limit,
                                .report = {w->opts->progress, "Lyapunov exponents", 0.0, 1.0},
                                .logs = logs};
    antler_status status = engine->tangents(&work);
    if (status == ANTLER_OK && work.bad_step > 0) {
        w->done = work.bad_step;
        status = ant_fail(ANTLER_DIVERGED, "the orbit diverged at step %zu, so it has no Lyapunov exponents",
                          work.bad_step);
    } else if (status == ANTLER_OK) {
        average_events(w, logs);
    }
    free(logs);
    return status;
}

/* On the CPU, or on a GPU when the vectors are many or long and the steps many.  A step takes every vector
   through the model and then through a QR. */
static antler_status pass_anywhere(orbit_pass *w)
{
    const double count = (double)w->averages.M, numbers = count * (double)w->runner->n;
    const double steps = (double)(w->opts->transient + w->opts->steps);
    const double work = steps * count * (ant_runner_step_work(w->runner) + 2.0 * numbers);
    const ant_engine *engine = NULL;
    ant_engine_map map;
    ANT_TRY(ant_runner_engine(w->runner, w->opts->device, numbers >= LARGE && work > WORTH, &map, &engine));
    return engine == NULL ? pass_on_cpu(w) : pass_on_engine(w, engine, &map);
}

/* Which exponents belong to latent directions without forcing, for the dimension of a chaotic model of which
   all exponents are known. */
static antler_status reduce(const orbit_pass *w, antler_lyapunov_result *result)
{
    const antler_lyapunov_opts *opts = w->opts;
    const size_t count = ant_unforced_count(w->model, w->runner, opts->transient + opts->steps);
    if (count == 0 || result->count < w->runner->latent || !(result->exponents[0] > 0.0))
        return ANTLER_OK;
    double *alone = malloc(count * sizeof *alone);
    if (alone == NULL)
        return ant_fail_memory(count * sizeof *alone, "the Lyapunov exponents");
    antler_status status =
        ant_unforced_exponents(w->model, w->runner, w->started, opts->transient, opts->steps, count, alone);
    if (status == ANTLER_OK) {
        match_unforced(result, alone, count);
        result->kaplan_yorke_reduced = kaplan_yorke(result, true);
    }
    free(alone);
    return status;
}

/* How many exponents to compute: all of the latent state, or the leading ones of a large one. */
static size_t exponent_count(const ant_runner *runner, size_t wanted)
{
    const size_t most = runner->latent;
    if (wanted == 0)
        return most <= ALL_UP_TO ? most : LEADING;
    return wanted < most ? wanted : most;
}

static antler_status result_create(const antler_model *model, size_t M, antler_lyapunov_result *result)
{
    result->exponents = malloc(4 * M * sizeof *result->exponents);
    if (result->exponents == NULL)
        return ant_fail_memory(4 * M * sizeof *result->exponents, "the Lyapunov exponents");
    result->error = result->exponents + M;
    result->spread = result->error + M;
    result->unforced = result->spread + M;
    for (size_t i = 0; i < 4 * M; i++)
        result->exponents[i] = NAN;
    result->count = M;
    result->dt = model->dt;
    return ANTLER_OK;
}

static antler_status pass_create(orbit_pass *w, size_t exponents)
{
    const ant_runner *r = w->runner;
    const size_t numbers = (1 + TILE) * r->n + TILE * (r->N + r->K);
    w->tile = malloc(numbers * sizeof *w->tile);
    if (w->tile == NULL)
        return ant_fail_memory(numbers * sizeof *w->tile, "the orbit");
    w->x = w->tile + (1 + TILE) * r->n;
    w->s = w->x + TILE * r->N;
    w->kernels = ant_tangent_kernels_here();
    ANT_TRY(averages_create(&w->averages, exponents, w->opts->steps));
    return ant_tangent_create(r, exponents, &w->tangent);
}

antler_status(antler_lyapunov)(const antler_model *model, const antler_lyapunov_opts *opts,
                               antler_lyapunov_result *result, size_t struct_size)
{
    ANT_NEED(result != NULL);
    ANT_RESULT(antler_lyapunov_result, result, struct_size, antler_lyapunov(model, opts, &whole),
               ANT_CLEAR_REST(antler_lyapunov_result, struct_size));
    *result = (antler_lyapunov_result){.struct_size = sizeof *result};
    ANT_NEED(model != NULL && opts != NULL);
    ANT_OPTIONS_PART(antler_lyapunov_opts, opts);
    ANT_PART(antler_run_start, &opts->start);
    ANT_CHECK(opts->steps >= 1 && opts->interval >= 1, ANTLER_ERROR_ARGUMENT,
              "Lyapunov exponents need at least one step and an interval of at least one");
    ANT_CHECK(opts->steps <= SIZE_MAX / 4 && opts->transient <= SIZE_MAX / 4, ANTLER_ERROR_ARGUMENT,
              "%zu steps after a transient of %zu are too many", opts->steps, opts->transient);
    ant_runner *runner = NULL;
    ant_started started = {0};
    ANT_TRY(ant_runner_create(model, &runner));
    orbit_pass w = {.model = model, .runner = runner, .started = &started, .opts = opts};
    antler_status status = ant_start(model, runner, &opts->start, opts->transient + opts->steps, &started);
    const size_t exponents = exponent_count(runner, opts->exponents);
    if (status == ANTLER_OK)
        status = pass_create(&w, exponents);
    if (status == ANTLER_OK)
        status = result_create(model, exponents, result);
    if (status == ANTLER_OK)
        status = pass_anywhere(&w);
    if (status == ANTLER_DIVERGED)
        result->diverged_step = w.done;
    if (status == ANTLER_OK) {
        finish(&w.averages, result);
        status = reduce(&w, result);
    }
    if (status != ANTLER_OK && status != ANTLER_DIVERGED)
        antler_lyapunov_result_clear(result);
    ant_tangent_destroy(&w.tangent);
    free(w.averages.logs);
    free(w.tile);
    ant_started_clear(&started);
    ant_runner_free(runner);
    return status;
}
