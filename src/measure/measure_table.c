/* measure_table.c - every measure: its name, label, unit, direction, format and meaning, in one table. */
#include "measure/measure_table.h"

#include "base/sized.h"

#include <math.h>
#include <string.h>

static bool wants_dstsp(const antler_evaluate_opts *opts)
{
    return opts->with_dstsp;
}

static bool wants_embedded(const antler_evaluate_opts *opts)
{
    return opts->measure.embed_dim > 1;
}

static bool wants_always(const antler_evaluate_opts *opts)
{
    (void)opts;
    return true;
}

static bool wants_forecasts(const antler_evaluate_opts *opts)
{
    return opts->with_rmse;
}

static bool wants_exponents(const antler_evaluate_opts *opts)
{
    return opts->with_lyapunov;
}

static double dstsp(const antler_evaluate_opts *opts, const antler_evaluate_result *r)
{
    return !opts->with_dstsp ? NAN : r->diverged ? INFINITY : r->plain.dstsp;
}

static double dstsp_embedded(const antler_evaluate_opts *opts, const antler_evaluate_result *r)
{
    (void)opts;
    return !r->has_embedded ? NAN : r->diverged ? INFINITY : r->embedded.dstsp;
}

static double hellinger(const antler_evaluate_opts *opts, const antler_evaluate_result *r)
{
    (void)opts;
    return r->diverged ? INFINITY : r->plain.hellinger;
}

static double largest_exponent(const antler_evaluate_opts *opts, const antler_evaluate_result *r)
{
    (void)opts;
    const antler_lyapunov_result *l = &r->lyapunov;
    return l->count == 0 ? NAN : l->diverged_step > 0 ? INFINITY : l->exponents[0];
}

static double kaplan_yorke(const antler_evaluate_opts *opts, const antler_evaluate_result *r)
{
    (void)opts;
    const antler_lyapunov_result *l = &r->lyapunov;
    return l->count == 0 ? NAN : l->diverged_step > 0 ? INFINITY : l->kaplan_yorke;
}

static const ant_measure table[] = {
    {{.name = "dstsp",
      .label = "D_stsp",
      .unit = "nats",
      .better = -1,
      .digits = 6,
      .json = "dstsp.value",
      .meaning = "distance of the attractors; 0 is perfect",
      .standard = true},
     .wanted = wants_dstsp,
     .value = dstsp},
    {{.name = "dstsp_embedded",
      .label = "D_stsp^DE",
      .unit = "nats",
      .better = -1,
      .digits = 6,
      .json = "dstsp_embedded.value",
      .meaning = "the same on delay vectors"},
     .wanted = wants_embedded,
     .value = dstsp_embedded},
    {{.name = "hellinger",
      .label = "D_H",
      .unit = "",
      .better = -1,
      .digits = 6,
      .json = "hellinger.value",
      .meaning = "distance of the power spectra, 0 to 1",
      .standard = true},
     .wanted = wants_always,
     .value = hellinger},
    {{.name = "rmse",
      .label = "RMSE(n)",
      .unit = "of the data",
      .better = -1,
      .digits = 6,
      .json = "rmse.value",
      .meaning = "error of short forecasts",
      .standard = true,
      .forecast = true},
     .wanted = wants_forecasts,
     .forecast = ant_forecast_rmse},
    {{.name = "lyapunov_max",
      .label = "lambda_max per step",
      .unit = "1/step",
      .better = 0,
      .digits = 5,
      .json = "lyapunov.exponents.0",
      .meaning = "largest Lyapunov exponent; only a positive one means chaos",
      .standard = true},
     .wanted = wants_exponents,
     .value = largest_exponent},
    {{.name = "kaplan_yorke",
      .label = "Kaplan-Yorke dimension",
      .unit = "",
      .better = 0,
      .digits = 4,
      .json = "lyapunov.kaplan_yorke",
      .meaning = "of the model's attractor",
      .standard = true},
     .wanted = wants_exponents,
     .value = kaplan_yorke},
    {{.name = "smape",
      .label = "sMAPE(n)",
      .unit = "percent, 0 to 200",
      .better = -1,
      .digits = 6,
      .json = "smape.value",
      .meaning = "symmetric relative error of short forecasts",
      .standard = true,
      .forecast = true},
     .wanted = wants_forecasts,
     .forecast = ant_forecast_smape},
    {{.name = "mase",
      .label = "MASE(n)",
      .unit = "",
      .better = -1,
      .digits = 6,
      .json = "mase.value",
      .meaning = "absolute error of short forecasts over the change from row to row",
      .standard = true,
      .forecast = true},
     .wanted = wants_forecasts,
     .forecast = ant_forecast_mase},
    {{.name = "prediction_error",
      .label = "PE(n)",
      .unit = "of the data, squared",
      .better = -1,
      .digits = 6,
      .json = "prediction_error.value",
      .meaning = "squared error n steps ahead",
      .standard = true,
      .forecast = true,
      .steps = 20},
     .wanted = wants_forecasts,
     .forecast = ant_forecast_pe},
    {{.name = "valid_time",
      .label = "valid prediction time",
      .unit = "rows",
      .better = 1,
      .digits = 4,
      .json = "valid_time.value",
      .meaning = "how long forecasts stay valid: sMAPE up to there at most 30",
      .standard = true,
      .forecast = true,
      .steps = 1000},
     .wanted = wants_forecasts,
     .forecast = ant_forecast_valid_time,
     .search = true},
};

enum { TABLE_ROWS = sizeof table / sizeof table[0] };
_Static_assert(TABLE_ROWS <= ANTLER_MEASURE_MAX, "arrays by measure are too short");

const ant_measure *ant_measure_at(size_t index)
{
    return index < TABLE_ROWS ? &table[index] : NULL;
}

size_t antler_measure_count(void)
{
    return TABLE_ROWS;
}

const antler_measure_info *antler_measure_at(size_t index)
{
    return index < TABLE_ROWS ? &table[index].info : NULL;
}

size_t antler_measure_index(const char *name)
{
    size_t index = name == NULL ? TABLE_ROWS : 0;
    while (index < TABLE_ROWS && strcmp(table[index].info.name, name) != 0)
        index++;
    return index;
}

double antler_measure_worst(size_t index)
{
    return index < TABLE_ROWS && table[index].info.better > 0 ? -INFINITY : INFINITY;
}

static antler_status find_wanted(const antler_evaluate_opts *opts, size_t index, bool *wanted)
{
    ANT_NEED(opts != NULL);
    ANT_OPTIONS(antler_evaluate_opts, opts);
    *wanted = index < TABLE_ROWS && table[index].wanted(opts);
    return ANTLER_OK;
}

bool antler_evaluate_wants(const antler_evaluate_opts *opts, size_t index)
{
    bool wanted = false;
    return find_wanted(opts, index, &wanted) == ANTLER_OK && wanted;
}

void ant_measure_values(const antler_evaluate_opts *opts, antler_evaluate_result *result)
{
    for (size_t i = 0; i < ANTLER_MEASURE_MAX; i++) {
        const ant_measure *m = ant_measure_at(i);
        const antler_rmse_result *windows = &result->forecasts[i];
        if (m == NULL)
            result->values[i] = NAN;
        else if (m->forecast != NULL)
            result->values[i] = windows->windows == 0 ? NAN : windows->mean;
        else
            result->values[i] = m->value(opts, result);
    }
}
