/* quick_verdict.c - the verdict of a short evaluation, for models that are judged on held-back rows. */
#include "base/sized.h"
#include "data/series.h"
#include "measure/late.h"
#include "measure/measure_table.h"
#include "measure/validation.h"
#include "model/start.h"

enum { SAMPLES = 20000, LATE_SAMPLES = 5000, FORECAST_STEPS = 128, FEW_VARIABLES = 8 };

/* Warm-up and forecasts that fit into the rows: half of them at most are for the warm-up, half of the rest
   for a forecast. */
static void fit_rows(const antler_model *model, const antler_series *truth, antler_evaluate_opts *opts)
{
    const size_t rows = antler_series_length(truth, ant_series_longest(truth));
    opts->warmup = opts->rmse.warmup = ant_model_warmup(model, ANTLER_WARMUP_AUTO, rows / 2);
    const size_t steps = rows > opts->warmup + 2 ? (rows - opts->warmup - 1) / 2 : 0;
    opts->rmse.steps = steps < FORECAST_STEPS ? steps : FORECAST_STEPS;
    opts->with_rmse = steps > 0;
}

/* The ends of long free runs from other rows, by the limits of D_stsp: worse than them, a model is not good.
 */
static antler_status check_late(const antler_model *model, const antler_series *truth,
                                const antler_measure_opts *measure, const antler_floors *floors,
                                antler_verdict *verdict)
{
    antler_series *rows = NULL;
    antler_measure_opts opts = *measure;
    double late = 0.0;
    opts.samples = LATE_SAMPLES;
    opts.device = ANTLER_DEVICE_CPU;
    ANT_TRY(antler_series_create(antler_series_dim(truth), 0, &rows));
    antler_status status = ant_validation_take(model, truth, ANT_VALIDATION_ROWS, rows);
    if (status == ANTLER_OK)
        status = ant_late_dstsp(model, truth, ANT_LATE_STEPS_LONG, rows, NULL, &opts, &late);
    antler_series_free(rows);
    if (status == ANTLER_OK)
        ant_verdict_on_late(floors, opts.embed_dim > 1, late, verdict);
    return status;
}

/*
 * Delay vectors of a single variable, as in the validation, but mixtures in place of its histograms.  A
 * histogram counts a row in a cell that the other orbit does not visit as 11.5 nats or more, however near the
 * next cell is: beside a thin attractor a small error is then many times the floor (spec 14).
 */
static void choose_measures(const antler_series *truth, antler_measure_opts *opts)
{
    ant_validation_opts chosen;
    if (ant_validation_choose(truth, &chosen) != ANTLER_OK)
        return; /* too few rows: the verdict says so */
    opts->embed_dim = chosen.embed_dim;
    opts->embed_delay = chosen.embed_delay;
    if (antler_series_dim(truth) > FEW_VARIABLES)
        return;
    opts->dstsp = ANTLER_DSTSP_GMM_SILVERMAN;
    opts->samples = ANT_VERDICT_SAMPLES;
}

antler_status ant_verdict_check_whole(const antler_model *model, const antler_series *series,
                                      const antler_series *const halves[2], const ant_validation_opts *opts,
                                      antler_verdict *verdict)
{
    ant_validation_opts mixtures = *opts;
    ant_validation_measures whole, floor;
    if (!ant_verdict_may_worsen(verdict))
        return ANTLER_OK;
    mixtures.bins = 0;
    mixtures.samples = ANT_VERDICT_SAMPLES;
    ANT_TRY(ant_validation_compare(model, series, &mixtures, &whole));
    ANT_TRY(ant_validation_floor(model, halves[1], halves[0], &mixtures, &floor));
    if (floor.dstsp < 0.0)
        floor.dstsp = 0.0; /* an estimate between equal distributions may be negative */
    ant_verdict_on_whole(&whole, &floor, verdict);
    return ANTLER_OK;
}

static antler_status judge(const antler_model *model, const antler_series *truth,
                           const antler_loss_curve *training, int threads, antler_floors *floors,
                           antler_verdict *verdict)
{
    antler_evaluate_opts opts;
    antler_evaluate_result result = {0};
    antler_evaluate_opts_default(&opts);
    opts.with_lyapunov = false;
    opts.measure.samples = SAMPLES;
    opts.measure.threads = threads;
    opts.measure.match_noise = true;
    choose_measures(truth, &opts.measure);
    opts.floors = floors->rows > 0 ? floors : NULL;
    opts.training = training;
    fit_rows(model, truth, &opts);
    const antler_status status = antler_evaluate(model, truth, &opts, &result);
    if (status < ANTLER_OK || status == ANTLER_CANCELLED)
        return status;
    *floors = result.floors;
    *verdict = result.verdict;
    antler_evaluate_result_clear(&result);
    return ant_verdict_may_worsen(verdict) ? check_late(model, truth, &opts.measure, floors, verdict)
                                           : ANTLER_OK;
}

antler_status(antler_verdict_on)(const antler_model *model, const antler_series *truth,
                                 const antler_loss_curve *training, int threads, antler_floors *floors,
                                 antler_verdict *verdict, size_t floors_size, size_t verdict_size)
{
    ANT_NEED(model != NULL && truth != NULL && floors != NULL && verdict != NULL);
    ANT_RESULT(
        antler_floors, floors, floors_size,
        (antler_verdict_on)(model, truth, training, threads, &whole, verdict, sizeof whole, verdict_size),
        (void)0);
    ANT_RESULT(antler_verdict, verdict, verdict_size,
               antler_verdict_on(model, truth, training, threads, floors, &whole), (void)0);
    const size_t needed = ant_validation_rows_needed(antler_series_dim(truth)),
                 count = antler_series_count(truth);
    size_t enough = 0;
    for (size_t i = 0; i < count; i++)
        enough += antler_series_length(truth, i) >= needed;
    if (enough == 0 || enough == count)
        return judge(model, truth, training, threads, floors, verdict);
    antler_series *used = NULL; /* as a validation, without trajectories that are too short */
    ANT_TRY(ant_series_long(truth, needed, &used));
    const antler_status status = judge(model, used, training, threads, floors, verdict);
    antler_series_free(used);
    return status;
}
