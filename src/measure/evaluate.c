/* evaluate.c - all measures of one model: free run, D_stsp, D_H, forecast errors, Lyapunov exponents, and the
   verdict. */
#include "base/sized.h"
#include "data/missing.h"
#include "measure/floor.h"
#include "measure/forecast.h"
#include "measure/measure_table.h"
#include "measure/range.h"
#include "measure/verdict.h"
#include "model/start.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    DEFAULT_LENGTHS = 3, /* T2 = 3 T1 (spec 8) */
    DEFAULT_RANGE = 5 /* half ranges.  200 rows on one wing of Lorenz-63 see a half range of which the other
                         wing is 3.5 away; nothing that is bounded as the data are goes farther */
};

void(antler_evaluate_opts_default)(antler_evaluate_opts *opts, size_t struct_size)
{
    antler_evaluate_opts standard = {.with_dstsp = true,
                                     .with_rmse = true,
                                     .with_lyapunov = true,
                                     .warmup = ANTLER_WARMUP_AUTO,
                                     .inputs_end = ANTLER_INPUTS_REPEAT,
                                     .range_factor = DEFAULT_RANGE,
                                     .with_verdict = true};
    antler_measure_opts_default(&standard.measure);
    antler_rmse_opts_default(&standard.rmse);
    antler_lyapunov_opts_default(&standard.lyapunov);
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

static void make_empty(antler_evaluate_result *result)
{
    *result = (antler_evaluate_result){.struct_size = sizeof *result,
                                       .plain.struct_size = sizeof result->plain,
                                       .embedded.struct_size = sizeof result->embedded,
                                       .rmse.struct_size = sizeof result->rmse,
                                       .lyapunov.struct_size = sizeof result->lyapunov,
                                       .floors.struct_size = sizeof result->floors,
                                       .verdict.struct_size = sizeof result->verdict};
    for (size_t i = 0; i < ANTLER_MEASURE_MAX; i++)
        result->forecasts[i].struct_size = sizeof result->forecasts[i];
}

void antler_evaluate_result_clear(antler_evaluate_result *result)
{
    if (result == NULL)
        return;
    ANT_CLEAR(antler_evaluate_result, result);
    antler_measure_result_clear(&result->plain);
    antler_measure_result_clear(&result->embedded);
    antler_lyapunov_result_clear(&result->lyapunov);
    make_empty(result);
}

static antler_run_start start_at(const antler_series *truth, size_t trajectory,
                                 const antler_evaluate_opts *opts)
{
    antler_run_start start;
    antler_run_start_default(&start);
    start.context = truth;
    start.trajectory = trajectory;
    start.warmup = opts->warmup;
    start.model_units = opts->model_units;
    start.inputs_end = opts->inputs_end;
    return start;
}

/* The free runs of a model from the first rows of all trajectories of the truth. */
typedef struct comparison {
    const antler_model *model;
    const antler_series *truth;
    const antler_evaluate_opts *opts;
    ant_runner *runner;
    ant_units units;
    antler_series *generated; /* in the units of the truth */
    ant_range range;          /* of the truth */
    antler_evaluate_result *result;
} comparison;

/* Free steps after the first rows of a trajectory. */
static antler_status count_steps(const comparison *c, size_t trajectory, size_t *steps)
{
    const size_t length = antler_series_length(c->truth, trajectory), N = c->runner->N;
    ANT_CHECK(length <= SIZE_MAX / sizeof(double) / DEFAULT_LENGTHS / N &&
                  c->opts->steps <= SIZE_MAX / sizeof(double) / N,
              ANTLER_ERROR_MEMORY, "out of memory: the free run is too long");
    *steps = c->opts->steps > 0 ? c->opts->steps : DEFAULT_LENGTHS * length;
    return ANTLER_OK;
}

static antler_status record_divergence(comparison *c, size_t trajectory, size_t steps, size_t step)
{
    c->result->diverged = true;
    c->result->diverged_step = step;
    c->result->diverged_trajectory = trajectory;
    return ant_fail(ANTLER_DIVERGED, "the free run %s at step %zu of %zu",
                    c->result->left_range ? "left the range of the data" : "diverged", step, steps);
}

/* Append a run to the others in the units of the truth, or record that it diverged.  x: (steps, N) */
static antler_status keep(comparison *c, size_t trajectory, size_t steps, size_t done, double *x)
{
    const size_t N = c->runner->N;
    c->result->free_steps += done;
    for (size_t i = 0; i < done * N; i++)
        x[i] = (x[i] - c->units.shift[i % N]) / c->units.gain[i % N];
    const size_t left = ant_range_leave(&c->range, x, done, c->opts->range_factor, &c->result->reach,
                                        &c->result->reach_variable);
    if (done < steps)
        return record_divergence(c, trajectory, steps, done + 1);
    c->result->left_range = left > 0;
    if (left > 0)
        return record_divergence(c, trajectory, steps, left);
    return antler_series_append(c->generated, steps, x, NULL);
}

/* The runs of `count` trajectories from `first` on, all of the same length. */
static antler_status run_some(comparison *c, size_t first, size_t count, size_t steps)
{
    const size_t N = c->runner->N;
    ant_started *started = calloc(count, sizeof *started);
    size_t *done = calloc(count, sizeof *done);
    double *x = steps > SIZE_MAX / sizeof *x / N / count ? NULL : malloc(count * steps * N * sizeof *x);
    antler_status status = ANTLER_OK;
    if (started == NULL || done == NULL || x == NULL)
        status = ant_fail(ANTLER_ERROR_MEMORY, "out of memory for %zu free runs of %zu steps", count, steps);
    for (size_t i = 0; i < count && status == ANTLER_OK; i++) {
        const antler_run_start start = start_at(c->truth, first + i, c->opts);
        status = ant_start(c->model, c->runner, &start, steps, &started[i]);
        c->result->warmup = started[i].warmup;
    }
    if (status == ANTLER_OK)
        status = ant_free_runs(c->runner, started, count, steps, c->opts->measure.device,
                               c->opts->measure.progress, x, NULL, done);
    for (size_t i = 0; i < count && status == ANTLER_OK; i++) /* x: (count, steps, N) */
        status = keep(c, first + i, steps, done[i], x + i * steps * N);
    for (size_t i = 0; i < count && started != NULL; i++)
        ant_started_clear(&started[i]);
    free(x);
    free(done);
    free(started);
    return status;
}

/* Consecutive trajectories of equal length run together, so that an engine has many orbits at once. */
static antler_status run_all(comparison *c)
{
    const size_t trajectories = antler_series_count(c->truth);
    size_t steps = 0, others = 0;
    for (size_t first = 0, count = 0; first < trajectories; first += count) {
        ANT_TRY(count_steps(c, first, &steps));
        for (count = 1; first + count < trajectories; count++) {
            ANT_TRY(count_steps(c, first + count, &others));
            if (others != steps)
                break;
        }
        ANT_TRY(run_some(c, first, count, steps));
    }
    return ANTLER_OK;
}

static antler_status run_free(const antler_model *model, const antler_series *truth,
                              const antler_evaluate_opts *opts, antler_series **generated,
                              antler_evaluate_result *result)
{
    comparison c = {.model = model, .truth = truth, .opts = opts, .result = result};
    ANT_TRY(ant_runner_create(model, &c.runner));
    antler_status status = ant_units_create(model, truth, opts->model_units, &c.units);
    if (status == ANTLER_OK)
        status = ant_range_create(truth, &c.range);
    if (status == ANTLER_OK)
        status = antler_series_create(c.runner->N, 0, &c.generated);
    if (status == ANTLER_OK)
        status = run_all(&c);
    *generated = c.generated;
    ant_range_free(&c.range);
    ant_units_free(&c.units);
    ant_runner_free(c.runner);
    return status;
}

/* Means and standard deviations from the units of the truth to the model's or the user's. */
static antler_status convert(const antler_model *model, const antler_series *truth,
                             const antler_evaluate_opts *opts, antler_measure_result *m)
{
    ant_units units = {0};
    ANT_TRY(ant_units_create(model, truth, opts->model_units, &units));
    for (size_t n = 0; n < m->dim; n++) {
        double gain = units.gain[n], shift = units.shift[n];
        if (opts->user_units && model->scale != NULL) {
            gain *= model->scale[n];
            shift = shift * model->scale[n] + model->mean[n];
        }
        m->mean_true[n] = m->mean_true[n] * gain + shift;
        m->mean_generated[n] = m->mean_generated[n] * gain + shift;
        m->sd_true[n] *= fabs(gain);
        m->sd_generated[n] *= fabs(gain);
    }
    ant_units_free(&units);
    return ANTLER_OK;
}

/* Copy the fields about D_stsp^DE; the rest is the same as in the plain result. */
static void keep_embedded(const antler_measure_result *from, antler_measure_result *to)
{
    *to = *from;
    to->dim = 0;
    to->hellinger_each = to->mean_true = to->mean_generated = to->sd_true = to->sd_generated = NULL;
}

/* D_stsp, D_stsp^DE and D_H, as far as they are requested.  unit: (N), of the report in the units of the
 * truth */
static antler_status compare_in_units(const antler_series *truth, const antler_series *generated,
                                      const antler_evaluate_opts *opts, const double *unit,
                                      antler_evaluate_result *result)
{
    antler_measure_opts delays = opts->measure;
    delays.unit = unit;
    const bool embedded = delays.embed_dim > 1;
    antler_measure_opts plain = delays;
    plain.embed_dim = 1;
    if (!opts->with_dstsp)
        plain.dstsp = ANTLER_DSTSP_BINS; /* the cheapest: only D_H is used */
    ANT_TRY(antler_measure(truth, generated, &plain, &result->plain));
    if (!opts->with_dstsp)
        result->plain.dstsp = NAN;
    if (embedded) {
        antler_measure_result all = {0};
        const antler_status status = antler_measure(truth, generated, &delays, &all);
        keep_embedded(&all, &result->embedded);
        antler_measure_result_clear(&all);
        ANT_TRY(status);
    }
    return ANTLER_OK;
}

/* What 1 in the units of the report is in the units of the truth: (N), in units->gain, freed by
 * ant_units_free. */
static antler_status report_units(const antler_model *model, const antler_series *truth,
                                  const antler_evaluate_opts *opts, ant_units *units)
{
    ANT_TRY(ant_units_create(model, truth, opts->model_units, units));
    for (size_t n = 0; n < antler_series_dim(truth); n++) {
        units->gain[n] = 1.0 / fabs(units->gain[n]);
        if (opts->user_units && model->scale != NULL)
            units->gain[n] /= model->scale[n];
    }
    return ANTLER_OK;
}

static antler_status compare(const antler_model *model, const antler_series *truth,
                             const antler_series *generated, const antler_evaluate_opts *opts,
                             antler_evaluate_result *result)
{
    ant_units units = {0};
    ANT_TRY(report_units(model, truth, opts, &units));
    const antler_status status = compare_in_units(truth, generated, opts, units.gain, result);
    ant_units_free(&units);
    ANT_TRY(status);
    ANT_TRY(convert(model, truth, opts, &result->plain));
    return ant_spread(truth, generated, &result->spread);
}

/* The floors of the data, measured here or given; those of forecasts are of this model's windows. */
static antler_status find_floors(const antler_model *model, const antler_series *truth,
                                 const antler_evaluate_opts *opts, antler_evaluate_result *result)
{
    ant_units units = {0};
    const antler_floors *floors = opts->floors;
    ANT_HANDED_BACK(antler_floors, floors, "antler_evaluate");
    if (floors != NULL) {
        result->floors = *floors;
    } else {
        ANT_TRY(report_units(model, truth, opts, &units));
        const antler_status status = ant_floors_measure(truth, opts, units.gain, &result->floors);
        ant_units_free(&units);
        ANT_TRY(status);
    }
    ant_floors_forecasts(result);
    return ANTLER_OK;
}

/* A divergence is recorded in the result and is not a failure. */
static antler_status outcome(antler_status status)
{
    return status == ANTLER_DIVERGED ? ANTLER_OK : status;
}

/* Steps of a forecast measure; 0 for any other.  A search for a time takes at most half of a trajectory. */
static size_t forecast_steps(const antler_series *truth, const antler_evaluate_opts *opts, size_t index)
{
    const ant_measure *m = ant_measure_at(index);
    const size_t half = (ant_forecast_longest(truth) + 1) / 2;
    if (m->forecast == NULL)
        return 0;
    if (opts->horizon[index] > 0)
        return opts->horizon[index];
    if (m->info.steps == 0)
        return opts->rmse.steps;
    return m->search && m->info.steps > half ? half : m->info.steps;
}

/* All forecast measures that windows of `length` steps serve. */
static antler_status forecast_group(const antler_model *model, const antler_series *truth,
                                    const antler_evaluate_opts *opts, size_t length,
                                    antler_evaluate_result *result)
{
    ant_forecast_request requests[ANTLER_MEASURE_MAX];
    size_t count = 0;
    antler_rmse_opts windows = opts->rmse;
    windows.steps = length;
    windows.model_units = opts->model_units;
    windows.user_units = opts->user_units;
    windows.device = opts->measure.device;
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const ant_measure *m = ant_measure_at(i);
        const size_t steps = result->forecasts[i].steps;
        const size_t own = steps > opts->rmse.steps ? steps : opts->rmse.steps;
        if (m->forecast != NULL && own == length)
            requests[count++] = (ant_forecast_request){m->forecast, steps, &result->forecasts[i]};
    }
    return count == 0 ? ANTLER_OK : ant_forecasts(model, truth, &windows, requests, count);
}

/*
 * Windows of equal length are run once for all measures, and a measure of fewer steps than RMSE(n) takes the
 * first steps of its windows.  A series too short for more than RMSE(n) is no fault: what does not fit has no
 * windows.
 */
static antler_status measure_forecasts(const antler_model *model, const antler_series *truth,
                                       const antler_evaluate_opts *opts, antler_evaluate_result *result)
{
    for (size_t i = 0; i < antler_measure_count(); i++)
        result->forecasts[i].steps = forecast_steps(truth, opts, i);
    ANT_TRY(forecast_group(model, truth, opts, opts->rmse.steps, result));
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const size_t steps = result->forecasts[i].steps;
        if (steps > opts->rmse.steps && result->forecasts[i].windows == 0 &&
            ant_forecast_fits(truth, opts->rmse.warmup, steps))
            ANT_TRY(forecast_group(model, truth, opts, steps, result));
    }
    result->rmse = result->forecasts[antler_measure_index("rmse")];
    return ANTLER_OK;
}

static antler_status measure_model(const antler_model *model, const antler_series *truth,
                                   const antler_evaluate_opts *opts, antler_evaluate_result *result)
{
    if (opts->with_rmse)
        ANT_TRY(measure_forecasts(model, truth, opts, result));
    if (opts->with_lyapunov) {
        antler_lyapunov_opts lyapunov = opts->lyapunov;
        lyapunov.start = start_at(truth, 0, opts);
        lyapunov.progress = opts->measure.progress;
        lyapunov.device = opts->measure.device;
        ANT_TRY(outcome(antler_lyapunov(model, &lyapunov, &result->lyapunov)));
    }
    return ANTLER_OK;
}

static antler_status evaluate(const antler_model *model, const antler_series *truth,
                              const antler_evaluate_opts *opts, antler_evaluate_result *result)
{
    result->plain.dstsp = result->plain.hellinger = result->embedded.dstsp = result->spread = NAN;
    ANT_TRY(ant_model_check_series(model, truth, "the true series"));
    ANT_TRY(ant_series_check_gaps(truth, 2, false));
    ANT_TRY(ant_series_check_squares(truth));
    ANT_TRY(ant_series_missing(truth, &result->missing, &result->true_values));
    antler_series *generated = NULL;
    antler_status status = outcome(run_free(model, truth, opts, &generated, result));
    if (status == ANTLER_OK)
        status = measure_model(model, truth, opts, result);
    if (status == ANTLER_OK && opts->with_verdict)
        status = find_floors(model, truth, opts, result);
    if (status == ANTLER_OK && !result->diverged)
        status = compare(model, truth, generated, opts, result);
    antler_series_free(generated);
    if (status == ANTLER_OK && result->diverged)
        return ant_fail(ANTLER_DIVERGED, "the free run %s at step %zu",
                        result->left_range ? "left the range of the data" : "diverged",
                        result->diverged_step);
    if (status == ANTLER_DIVERGED || status == ANTLER_NON_FINITE)
        result->diverged = true; /* the orbit is finite but too far away to be compared */
    return status;
}

antler_status(antler_evaluate)(const antler_model *model, const antler_series *truth,
                               const antler_evaluate_opts *opts, antler_evaluate_result *result,
                               size_t struct_size)
{
    ANT_NEED(result != NULL);
    ANT_RESULT(antler_evaluate_result, result, struct_size, antler_evaluate(model, truth, opts, &whole),
               ANT_CLEAR_REST(antler_evaluate_result, struct_size));
    make_empty(result);
    ANT_NEED(model != NULL && truth != NULL && opts != NULL);
    ANT_OPTIONS(antler_evaluate_opts, opts);
    ANT_PART(antler_measure_opts, &opts->measure);
    ANT_PART(antler_rmse_opts, &opts->rmse);
    ANT_PART(antler_lyapunov_opts, &opts->lyapunov);
    result->has_embedded = opts->measure.embed_dim > 1;
    antler_status status = evaluate(model, truth, opts, result);
    if (status == ANTLER_OK || status == ANTLER_DIVERGED || status == ANTLER_NON_FINITE) {
        ant_measure_values(opts, result);
        const antler_status judged =
            opts->with_verdict ? ant_judge(result, opts->training, truth, &result->verdict) : ANTLER_OK;
        status = judged == ANTLER_OK ? status : judged;
    }
    if (status < ANTLER_OK || status == ANTLER_CANCELLED)
        antler_evaluate_result_clear(result);
    return status;
}
