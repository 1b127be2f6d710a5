/* quick_verdict.c - the verdict of a short evaluation, for models that are judged on held-back rows. */
#include "data/series.h"
#include "measure/measure_table.h"
#include "model/start.h"

enum { SAMPLES = 20000, FORECAST_STEPS = 128 };

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

antler_status antler_verdict_on(const antler_model *model, const antler_series *truth,
                                const antler_loss_curve *training, int threads, antler_floors *floors,
                                antler_verdict *verdict)
{
    antler_evaluate_opts opts;
    antler_evaluate_result result = {0};
    antler_evaluate_opts_default(&opts);
    opts.with_lyapunov = false;
    opts.measure.samples = SAMPLES;
    opts.measure.threads = threads;
    opts.floors = floors->rows > 0 ? floors : NULL;
    opts.training = training;
    fit_rows(model, truth, &opts);
    const antler_status status = antler_evaluate(model, truth, &opts, &result);
    if (status < ANTLER_OK || status == ANTLER_CANCELLED)
        return status;
    *floors = result.floors;
    *verdict = result.verdict;
    antler_evaluate_result_clear(&result);
    return ANTLER_OK;
}
