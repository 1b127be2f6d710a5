/* simulate.c - the public call: options, initial state, integration, noise, and a series of the result. */
#include "base/random.h"
#include "base/sized.h"
#include "data/series.h"
#include "data/systems/integrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

antler_status(antler_simulate_opts_default)(const char *system, antler_simulate_opts *opts,
                                            size_t struct_size)
{
    ANT_NEED(system != NULL && opts != NULL);
    ANT_TRY(ant_sized_check_result(struct_size, sizeof *opts, __func__));
    const ant_system *found;
    ANT_TRY(ant_system_find(system, &found));
    const antler_system_info *info = &found->info;
    antler_simulate_opts standard = {
        .system = info->name,
        .length = info->length,
        .dt = info->dt,
        .transient = info->transient,
        .standardise = true,
        .tolerance = 1e-12,
        .seed = 1,
    };
    for (size_t i = 0; i < info->parameter_count; i++)
        standard.parameters[i] = info->parameters[i].value;
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
    return ANTLER_OK;
}

/* Defaults are those of the system, which is the first field. */
#define TAKE_OPTIONS(given)                                                                                  \
    ANT_TAKE(antler_simulate_opts, given, sizeof(antler_simulate_opts),                                      \
             ANT_TRY(antler_simulate_opts_default((given)->system, &given##_whole)),                         \
             "antler_simulate_opts_default")

antler_status antler_simulate_opts_set(antler_simulate_opts *opts, const char *parameter, double value)
{
    ANT_NEED(opts != NULL && parameter != NULL);
    antler_simulate_opts *const given = opts;
    TAKE_OPTIONS(opts);
    const ant_system *system;
    ANT_TRY(ant_system_find(opts->system, &system));
    const antler_system_info *info = &system->info;
    const char *names[ANTLER_SYSTEM_MAX_PARAMETERS];
    for (size_t i = 0; i < info->parameter_count; i++) {
        names[i] = info->parameters[i].name;
        if (strcmp(parameter, names[i]) == 0) {
            opts->parameters[i] = value;
            ant_sized_fill(opts, sizeof *opts, given, given->struct_size);
            return ANTLER_OK;
        }
    }
    char kind[64];
    snprintf(kind, sizeof kind, "%s parameter", info->name);
    return ant_fail_unknown(kind, parameter, names, info->parameter_count);
}

static antler_status check_numbers(const antler_simulate_opts *o, const antler_system_info *info)
{
    for (size_t i = 0; i < info->parameter_count; i++)
        ANT_CHECK(isfinite(o->parameters[i]), ANTLER_ERROR_ARGUMENT,
                  "parameter %s of %s is %g: give a finite number", info->parameters[i].name, info->name,
                  o->parameters[i]);
    for (size_t i = 0; o->has_initial && i < info->dim; i++)
        ANT_CHECK(isfinite(o->initial[i]), ANTLER_ERROR_ARGUMENT,
                  "the initial value of %s is %g: give a finite number", info->variables[i], o->initial[i]);
    ANT_CHECK(!o->has_t0 || isfinite(o->t0), ANTLER_ERROR_ARGUMENT, "t0 is %g: give a finite number", o->t0);
    return ANTLER_OK;
}

static antler_status check_opts(const antler_simulate_opts *o, const antler_system_info *info)
{
    ANT_CHECK(o->length >= 1, ANTLER_ERROR_ARGUMENT, "the length is 0: take at least one row");
    ANT_CHECK(o->length <= SIZE_MAX / sizeof(double) / info->dim, ANTLER_ERROR_ARGUMENT,
              "%zu rows are more than this machine can address: take fewer", o->length);
    ANT_CHECK(isfinite(o->dt) && o->dt > 0.0, ANTLER_ERROR_ARGUMENT,
              "dt is %g: give a sampling interval above 0", o->dt);
    ANT_CHECK(isfinite(o->transient) && o->transient >= 0.0, ANTLER_ERROR_ARGUMENT,
              "the transient is %g: give a time of 0 or more", o->transient);
    ANT_CHECK(isfinite(o->transient + (double)o->length * o->dt), ANTLER_ERROR_ARGUMENT,
              "%zu rows at dt %g reach beyond the largest number: lower dt or the length", o->length, o->dt);
    ANT_CHECK(isfinite(o->noise) && o->noise >= 0.0, ANTLER_ERROR_ARGUMENT,
              "the noise is %g: give a fraction of the standard deviation, 0 or more", o->noise);
    ANT_CHECK(o->tolerance >= 1e-14 && o->tolerance <= 1e-3, ANTLER_ERROR_ARGUMENT,
              "the tolerance is %g: give a number from 1e-14 to 1e-3", o->tolerance);
    ANT_CHECK(o->length >= 2 || o->noise == 0.0, ANTLER_ERROR_ARGUMENT,
              "noise is a fraction of the standard deviation, which one row does not have: take more rows");
    ANT_CHECK(o->length >= 2 || !o->standardise, ANTLER_ERROR_ARGUMENT,
              "one row cannot be standardised: take more rows or switch standardising off");
    return check_numbers(o, info);
}

/* What the options leave open comes from the seed: the state first, so that a given t0 does not change it. */
static void draw_start(const antler_simulate_opts *o, const ant_system *system, double *initial, double *t0)
{
    ant_stream stream = ant_stream_open(o->seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    for (size_t i = 0; i < system->info.dim; i++) {
        const double drawn =
            system->centre[i] + system->spread[i] * (2.0 * ant_stream_uniform(&stream) - 1.0);
        initial[i] = o->has_initial ? o->initial[i] : drawn;
    }
    const double period = system->period == NULL ? 0.0 : system->period(o->parameters);
    const double drawn = isfinite(period) ? period * ant_stream_uniform(&stream) : 0.0;
    *t0 = o->has_t0 ? o->t0 : drawn;
}

/* Keep the first `kept` of `dim` columns.  x: (length, dim), then (length, kept) in the same memory. */
static void keep_columns(double *x, size_t length, size_t dim, size_t kept)
{
    for (size_t k = 1; k < length && kept < dim; k++)
        memmove(x + k * kept, x + k * dim, kept * sizeof *x);
}

/* Standard deviation (1/T) of one column of x: (length, dim). */
static double column_sd(const double *x, size_t length, size_t dim)
{
    double sum = 0.0, squares = 0.0;
    for (size_t k = 0; k < length; k++)
        sum += x[k * dim];
    const double mean = sum / (double)length;
    for (size_t k = 0; k < length; k++)
        squares += (x[k * dim] - mean) * (x[k * dim] - mean);
    return sqrt(squares / (double)length);
}

/*
 * Add noise to every column of x: (length, dim), its size taken from the clean values.  Each variable
 * has a stream of its own, so that its noise does not depend on which others are kept.
 */
static void add_noise(double *x, size_t length, size_t dim, double fraction, uint64_t seed)
{
    for (size_t j = 0; j < dim; j++) {
        const double size = fraction * column_sd(x + j, length, dim);
        ant_stream stream = ant_stream_open(seed, 0, (uint32_t)j, ANT_PURPOSE_OBSERVATION_NOISE);
        double pair[2] = {0.0, 0.0};
        for (size_t k = 0; k < length; k++) {
            if (k % 2 == 0)
                ant_stream_normal_pair(&stream, pair);
            x[k * dim + j] += size * pair[k % 2];
        }
    }
}

/* Put x: (length, dim) into a new series with the names, dt and origin of the system. */
static antler_status series_of(const antler_simulate_opts *o, const antler_system_info *info, const double *x,
                               size_t dim, antler_series **series)
{
    antler_series *made = NULL;
    antler_status status = antler_series_create(dim, 0, &made);
    if (status == ANTLER_OK)
        status = antler_series_append(made, o->length, x, NULL);
    if (status == ANTLER_OK)
        status = ant_series_set_origin(made, info->name);
    for (size_t i = 0; i < dim && status == ANTLER_OK; i++)
        status = antler_series_set_name(made, i, info->variables[i]);
    if (status == ANTLER_OK)
        status = antler_series_set_dt(made, o->dt);
    if (status == ANTLER_OK && o->standardise) {
        status = antler_series_standardise(made);
        if (status != ANTLER_OK)
            ant_fail_within(status, info->name);
    }
    if (status == ANTLER_OK)
        *series = made;
    else
        antler_series_free(made);
    return status;
}

antler_status antler_simulate(const antler_simulate_opts *opts, antler_series **series)
{
    ANT_NEED(opts != NULL && series != NULL);
    TAKE_OPTIONS(opts);
    const ant_system *system;
    ANT_TRY(ant_system_find(opts->system, &system));
    const antler_system_info *info = &system->info;
    ANT_TRY(check_opts(opts, info));

    double initial[ANTLER_SYSTEM_MAX_DIM];
    ant_integration job = {
        .system = system,
        .parameters = opts->parameters,
        .initial = initial,
        .transient = opts->transient,
        .dt = opts->dt,
        .length = opts->length,
        .tolerance = opts->tolerance,
        .progress = opts->progress,
    };
    draw_start(opts, system, initial, &job.t0);

    const size_t bytes = opts->length * info->dim * sizeof(double);
    double *x = malloc(bytes); // (length, dim)
    if (x == NULL)
        return ant_fail_memory(bytes, "the simulated orbit");
    antler_status status = ant_integrate(&job, x);
    if (status == ANTLER_OK) {
        const size_t kept = opts->all_variables ? info->dim : info->observed;
        keep_columns(x, opts->length, info->dim, kept);
        add_noise(x, opts->length, kept, opts->noise, opts->seed);
        status = series_of(opts, info, x, kept, series);
    }
    free(x);
    return status;
}
