/* start.c - where a free run begins: units, warm-up, inputs, and the limit of divergence. */
#include "model/start.h"

#include "base/sized.h"
#include "data/series.h"
#include "model/kind.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* An orbit beyond this has diverged; times the largest value of the context, where that is above 1. */
static const double farthest = 1e6;

static const size_t unknown_warmup = 100;

antler_status ant_model_check_series(const antler_model *model, const antler_series *series, const char *what)
{
    const ant_model_dims *d = &model->layout.dims;
    ANT_CHECK(antler_series_count(series) >= 1, ANTLER_ERROR_DATA, "%s has no trajectory", what);
    ANT_CHECK(antler_series_dim(series) == d->N, ANTLER_ERROR_DATA,
              "%s has %zu variable%s and the model %zu: choose the model's with --columns", what,
              antler_series_dim(series), antler_series_dim(series) == 1 ? "" : "s", d->N);
    ANT_CHECK(antler_series_input_dim(series) == d->K, ANTLER_ERROR_DATA,
              "%s has %zu input%s and the model %zu: name the columns that are inputs with --inputs", what,
              antler_series_input_dim(series), antler_series_input_dim(series) == 1 ? "" : "s", d->K);
    return ANTLER_OK;
}

antler_status ant_units_create(const antler_model *model, const antler_series *series, bool as_is,
                               ant_units *units)
{
    const size_t N = model->layout.dims.N;
    double *numbers = malloc(4 * N * sizeof *numbers);
    if (numbers == NULL)
        return ant_fail_memory(4 * N * sizeof *numbers, "the scaling");
    double *gain = numbers, *shift = gain + N, *mean = shift + N, *scale = mean + N;
    const bool scaled = antler_series_scaling(series, mean, scale);
    const bool known = !as_is && model->mean != NULL && model->scale != NULL;
    for (size_t n = 0; n < N; n++) {
        const double to_user = scaled ? scale[n] : 1.0, offset = scaled ? mean[n] : 0.0;
        gain[n] = known ? to_user / model->scale[n] : 1.0;
        shift[n] = known ? (offset - model->mean[n]) / model->scale[n] : 0.0;
    }
    *units = (ant_units){.gain = gain, .shift = shift};
    return ANTLER_OK;
}

void ant_units_free(ant_units *units)
{
    free(units->gain);
    *units = (ant_units){0};
}

antler_status ant_units_read(const ant_units *units, const antler_series *series, size_t trajectory,
                             size_t first, size_t count, double *x, double *s)
{
    const size_t N = antler_series_dim(series);
    ANT_TRY(antler_series_read_f64(series, trajectory, first, count, x, s));
    for (size_t t = 0; t < count; t++) {
        for (size_t n = 0; n < N; n++) {
            double *value = &x[t * N + n];
            ANT_CHECK(!isinf(*value), ANTLER_ERROR_DATA,
                      "%s is infinite in row %zu of trajectory %zu: 'antler info --check' finds all such "
                      "values",
                      antler_series_name(series, n), first + t + 1, trajectory + 1);
            *value = *value * units->gain[n] + units->shift[n];
        }
    }
    return ANTLER_OK;
}

/* One row of data gives the whole state: z = B+ x. */
static bool state_is_observed(const antler_model *model)
{
    const ant_model_dims *d = &model->layout.dims;
    return ant_model_kind_of(d->kind)->forced && d->M <= d->N;
}

size_t ant_model_warmup(const antler_model *model, size_t requested, size_t most)
{
    if (requested != ANTLER_WARMUP_AUTO)
        return requested;
    size_t rows = 0;
    if (!ant_model_setting_count(model, "warmup", &rows) || rows == 0)
        rows = state_is_observed(model) ? 0 : unknown_warmup;
    return rows < most ? rows : most;
}

double ant_divergence_limit(const double *x, size_t count)
{
    double largest = 1.0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    return farthest * largest;
}

const char *antler_inputs_end_name(antler_inputs_end end)
{
    switch (end) {
    case ANTLER_INPUTS_STOP:
        return "stop";
    case ANTLER_INPUTS_HOLD:
        return "hold";
    case ANTLER_INPUTS_REPEAT:
        return "repeat";
    }
    return "unknown";
}

void(antler_run_start_default)(antler_run_start *start, size_t struct_size)
{
    const antler_run_start standard = {.warmup = ANTLER_WARMUP_AUTO};
    ant_sized_default(&standard, sizeof standard, start, struct_size);
}

void ant_start_rows(const antler_model *model, const antler_run_start *start, size_t *first, size_t *warmup)
{
    const size_t length = antler_series_length(start->context, start->trajectory);
    const size_t before_last = length > 0 ? length - 1 : 0;
    const size_t after = start->first < length ? length - start->first : 0;
    *first = start->first;
    if (!start->from_end) {
        *warmup = ant_model_warmup(model, start->warmup, after / 2);
        return;
    }
    *warmup = ant_model_warmup(model, start->warmup, before_last);
    if (start->warmup == ANTLER_WARMUP_AUTO && *warmup < unknown_warmup) /* more rows cost nothing here */
        *warmup = unknown_warmup < before_last ? unknown_warmup : before_last;
    *first = *warmup < before_last ? before_last - *warmup : 0;
}

/* Warm up on the context.  Fills state, limit and warmup. */
static antler_status warm(const antler_model *model, const ant_runner *runner, const antler_run_start *start,
                          ant_started *started)
{
    const antler_series *context = start->context;
    ANT_TRY(ant_model_check_series(model, context, "the context"));
    ANT_CHECK(start->trajectory < antler_series_count(context), ANTLER_ERROR_ARGUMENT,
              "the context has %zu trajectories, there is no number %zu", antler_series_count(context),
              start->trajectory);
    size_t first = 0;
    ant_start_rows(model, start, &first, &started->warmup);
    const size_t length = antler_series_length(context, start->trajectory);
    const size_t after = first < length ? length - first : 0;
    ANT_CHECK(started->warmup < after, ANTLER_ERROR_DATA,
              "a warm-up of %zu rows needs %zu rows of context from row %zu on, and there are %zu: give a "
              "shorter warm-up",
              started->warmup, started->warmup + 1, first + 1, after);
    const size_t rows = started->warmup + 1;
    ant_units units = {0};
    double *x = malloc(rows * (runner->N + runner->K) * sizeof *x); // (rows, N)
    if (x == NULL)
        return ant_fail_memory(rows * (runner->N + runner->K) * sizeof *x, "the warm-up");
    double *s = runner->K == 0 ? NULL : x + rows * runner->N; // (rows, K)
    antler_status status = ant_units_create(model, context, start->model_units, &units);
    if (status == ANTLER_OK)
        status = ant_units_read(&units, context, start->trajectory, first, rows, x, s);
    if (status == ANTLER_OK) {
        ant_runner_warm(runner, x, s, rows, started->state);
        started->limit = ant_divergence_limit(x, rows * runner->N);
    }
    ant_units_free(&units);
    free(x);
    return status;
}

/* Find the rows that drive the free steps. */
static antler_status find_inputs(const antler_run_start *start, size_t K, size_t steps, ant_started *started)
{
    started->K = K;
    started->end = start->inputs_end;
    if (K == 0)
        return ANTLER_OK;
    if (start->inputs != NULL) {
        const antler_series *inputs = start->inputs;
        const bool own = antler_series_input_dim(inputs) == K;
        ANT_CHECK(own || (antler_series_input_dim(inputs) == 0 && antler_series_dim(inputs) == K),
                  ANTLER_ERROR_DATA, "the model has %zu input%s, and the series of inputs has other columns",
                  K, K == 1 ? "" : "s");
        ANT_CHECK(antler_series_count(inputs) >= 1, ANTLER_ERROR_DATA,
                  "the series of inputs has no trajectory");
        started->inputs = inputs;
        started->column0 = own ? antler_series_dim(inputs) : 0;
        started->rows = antler_series_length(inputs, 0);
    } else if (start->context != NULL) {
        ANT_CHECK(
            !start->from_end, ANTLER_ERROR_DATA,
            "free steps after the last row of the data need inputs that the data do not have: give them with "
            "--input-file, or begin at the first rows with --from start");
        started->inputs = start->context;
        started->column0 = antler_series_dim(start->context);
        started->trajectory = start->trajectory;
        started->first = start->first + started->warmup + 1;
        started->rows = antler_series_length(start->context, start->trajectory) - started->first;
    }
    if (started->inputs == NULL)
        return ANTLER_OK;
    ANT_CHECK(started->rows >= 1, ANTLER_ERROR_DATA,
              "there is no row of inputs after the warm-up: give a longer series or a shorter warm-up");
    ANT_CHECK(started->end != ANTLER_INPUTS_STOP || steps <= started->rows, ANTLER_ERROR_DATA,
              "%zu free steps need as many rows of inputs, and %zu follow the warm-up: give more rows or "
              "fewer steps, or have the inputs held or repeated",
              steps, started->rows);
    return ANTLER_OK;
}

antler_status ant_start(const antler_model *model, const ant_runner *runner, const antler_run_start *start,
                        size_t steps, ant_started *started)
{
    *started = (ant_started){.limit = ant_divergence_limit(NULL, 0)};
    started->state = calloc(2 * runner->n, sizeof *started->state);
    if (started->state == NULL)
        return ant_fail_memory(2 * runner->n * sizeof *started->state, "the initial state");
    antler_status status = ANTLER_OK;
    const double *zeros = started->state + runner->n;
    if (start->context != NULL)
        status = warm(model, runner, start, started);
    else
        runner->ops->begin(runner->self, start->state != NULL ? start->state : zeros, started->state);
    if (status == ANTLER_OK)
        status = find_inputs(start, runner->K, steps, started);
    if (status != ANTLER_OK)
        ant_started_clear(started);
    return status;
}

void ant_started_clear(ant_started *started)
{
    free(started->state);
    *started = (ant_started){0};
}

void ant_started_inputs(const ant_started *started, size_t step, size_t count, double *s)
{
    for (size_t i = 0; i < count * started->K && started->inputs == NULL; i++)
        s[i] = 0.0;
    if (started->inputs == NULL)
        return;
    const ant_part *part = ant_series_part(started->inputs, started->trajectory);
    const size_t trajectory = started->trajectory - part->first;
    for (size_t done = 0; done < count;) {
        size_t row = step + done, length = count - done;
        if (row >= started->rows && started->end == ANTLER_INPUTS_REPEAT)
            row %= started->rows;
        if (row >= started->rows) { /* the last row is held, one step at a time */
            row = started->rows - 1;
            length = 1;
        }
        if (length > started->rows - row)
            length = started->rows - row;
        for (size_t k = 0; k < started->K; k++)
            ant_column_read_f64(&part->columns[started->column0 + k], trajectory, started->first + row,
                                length, s + done * started->K + k, started->K);
        done += length;
    }
}
