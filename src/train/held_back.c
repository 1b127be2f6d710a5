/* held_back.c - the division of the data into rows for training and held-back rows (spec 14). */
#include "train/held_back.h"

#include "base/sized.h"
#include "data/missing.h"
#include "data/series.h"
#include "train/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the division ------------------------------------------------------------------------------------ */

static antler_status divide(const antler_settings *settings, const antler_series *series,
                            ant_division *division)
{
    if (settings->validation_data[0] != '\0') {
        const antler_status status = ant_settings_validation_series(settings, &division->owned[0]);
        division->held_back = division->owned[0];
        return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, "validation_data");
    }
    if (settings->validation == 0.0)
        return ANTLER_OK;
    ANT_TRY(ant_series_split(series, settings->validation, &division->owned[0], &division->owned[1]));
    division->training = division->owned[0];
    division->held_back = division->owned[1];
    return ANTLER_OK;
}

/* What was done with the missing values of one part. */
typedef struct treated {
    size_t missing, values, filled;
    size_t longest; /* rows of the longest stretch without missing values, where it was cut */
} treated;

/*
 * Replace one part by what `missing` makes of it; without a missing value it stays.  least: rows that a
 * stretch needs; copy: of the series
 */
static antler_status treat(const antler_settings *s, size_t least, const antler_series **part,
                           antler_series **copy, treated *t)
{
    antler_status status = ANTLER_OK;
    bool inputs = false;
    ANT_TRY(ant_series_missing(*part, &t->missing, &t->values));
    for (size_t k = 0; k < (*part)->input_dim; k++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(*part, (*part)->dim + k, &stats));
        inputs = inputs || stats.nan > 0;
    }
    if (t->missing == 0 && !inputs)
        return ANTLER_OK;
    if (s->missing == ANTLER_MISSING_SPLIT)
        status = ant_series_cut(*part, least, copy, &t->longest);
    else if (s->missing == ANTLER_MISSING_INTERPOLATE)
        status = ant_series_interpolate(*part, s->missing_interpolate, copy, &t->filled);
    *part = *copy == NULL ? *part : *copy;
    return status;
}

/* The rows for training are usable: inputs are complete, and a window fits. */
static antler_status check_training(const antler_settings *s, const ant_division *division, size_t longest)
{
    const antler_series *training = division->training;
    ANT_CHECK(
        antler_series_count(training) > 0 || s->missing != ANTLER_MISSING_SPLIT, ANTLER_ERROR_DATA,
        "cut at rows with missing values, the longest stretch has %zu rows, and a window takes %zu; take "
        "missing: mask, or a smaller sequence_length",
        longest, s->sequence_length + 1);
    return division->gaps ? ant_series_check_gaps(training, 1, false) : antler_series_check(training, 1);
}

antler_status ant_division_create(const antler_settings *settings, const antler_series *series,
                                  ant_division *division)
{
    treated own = {0}, other = {0};
    *division = (ant_division){.training = series, .gaps = settings->missing != ANTLER_MISSING_REFUSE};
    ANT_TRY(divide(settings, series, division));
    if (division->gaps) {
        ANT_TRY(
            treat(settings, settings->sequence_length + 1, &division->training, &division->owned[2], &own));
        if (division->held_back != NULL)
            ANT_TRY(treat(settings, ant_validation_rows_needed(series->dim), &division->held_back,
                          &division->owned[3], &other));
    }
    division->missing = own.missing;
    division->values = own.values;
    division->filled = own.filled;
    if (division->training == series && division->missing == 0) /* checked with the settings */
        return ANTLER_OK;
    const antler_status status = check_training(settings, division, own.longest);
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, "the rows for training");
}

void ant_division_free(ant_division *division)
{
    for (size_t i = 0; i < sizeof division->owned / sizeof division->owned[0]; i++)
        antler_series_free(division->owned[i]);
    *division = (ant_division){0};
}

antler_status antler_settings_held_back(const antler_settings *settings, const antler_series *series,
                                        antler_series **held_back)
{
    ANT_NEED(settings != NULL && series != NULL && held_back != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(ant_settings_are_readable(settings));
    ant_division division = {0};
    const antler_status status = ant_division_create(settings, series, &division);
    if (status == ANTLER_OK) {
        *held_back = NULL;
        for (size_t i = 0; i < sizeof division.owned / sizeof division.owned[0]; i++) {
            if (division.owned[i] == NULL || division.owned[i] != division.held_back)
                continue;
            *held_back = division.owned[i];
            division.owned[i] = NULL;
        }
    }
    ant_division_free(&division);
    return status;
}

/* ---- copies ------------------------------------------------------------------------------------------ */

static antler_status copy_rows(const antler_series *from, size_t trajectory, size_t first, size_t rows,
                               antler_series *to)
{
    const size_t N = from->dim, K = from->input_dim;
    double *x = malloc(rows * (N + K) * sizeof *x); // (rows, N), then (rows, K)
    if (x == NULL)
        return ant_fail_memory(rows * (N + K) * sizeof *x, "the held-back rows");
    double *s = K == 0 ? NULL : x + rows * N;
    antler_status status = antler_series_read_f64(from, trajectory, first, rows, x, s);
    if (status == ANTLER_OK)
        status = antler_series_append(to, rows, x, s);
    free(x);
    return status;
}

/* The first rows of the held-back trajectories, as many as are measured after their warm-ups. */
static antler_status copy_held_back(const antler_series *from, size_t rows, size_t warmup, antler_series **to)
{
    const size_t needed = ant_validation_rows_needed(from->dim);
    size_t left = rows;
    ANT_TRY(ant_series_like(from, to));
    for (size_t i = 0; i < from->count && left > 0; i++) {
        const size_t length = antler_series_length(from, i), most = left + warmup + 1;
        const size_t count = length < most ? length : most;
        if (length < needed)
            continue;
        ANT_TRY(copy_rows(from, i, 0, count, *to));
        left -= count < left ? count : left;
    }
    return ANTLER_OK;
}

/* The last rows of all training trajectories, about as many as the held-back ones. */
static antler_status copy_others(const antler_series *from, size_t held_rows, antler_series **to)
{
    const size_t needed = ant_validation_rows_needed(from->dim), each = held_rows / from->count + 1;
    const size_t quota = each < needed ? needed : each;
    ANT_TRY(ant_series_like(from, to));
    for (size_t i = 0; i < from->count; i++) {
        const size_t length = antler_series_length(from, i), count = length < quota ? length : quota;
        ANT_TRY(copy_rows(from, i, length - count, count, *to));
    }
    return ANTLER_OK;
}

static antler_status hash_rows(const antler_series *series, char hash[ANT_HASH_TEXT])
{
    const size_t width = series->dim + series->input_dim;
    ant_hash h = ant_hash_begin();
    for (size_t i = 0; i < series->count; i++) {
        const size_t rows = antler_series_length(series, i);
        double *x = malloc(rows * width * sizeof *x);
        if (x == NULL)
            return ant_fail_memory(rows * width * sizeof *x, "the held-back rows");
        const antler_status status = antler_series_read_f64(series, i, 0, rows, x, x + rows * series->dim);
        if (status == ANTLER_OK)
            h = ant_hash_add(ant_hash_add(h, &rows, sizeof rows), x, rows * width * sizeof *x);
        free(x);
        ANT_TRY(status);
    }
    ant_hash_print(h, hash);
    return ANTLER_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------- */

/* Every variable has a value to measure. */
static antler_status check_held_back(const ant_division *division)
{
    const antler_series *series = division->held_back;
    ANT_CHECK(
        antler_series_count(series) > 0 || !division->gaps, ANTLER_ERROR_DATA,
        "no stretch without missing values has the %zu rows that a validation needs; take missing: mask, or "
        "set validation: 0",
        ant_validation_rows_needed(series->dim));
    for (size_t v = 0; v < series->dim && division->gaps; v++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(series, v, &stats));
        ANT_CHECK(stats.nan == 0 || !isnan(stats.min), ANTLER_ERROR_DATA,
                  "%s has no value there; give other rows with validation_data, or set validation: 0",
                  series->names[v]);
    }
    return division->gaps ? ant_series_check_gaps(series, 1, false) : antler_series_check(series, 1);
}

static antler_status fill(ant_held_back *h, const ant_division *division, size_t warmup,
                          const antler_model *model)
{
    antler_series *others = NULL;
    ANT_TRY(check_held_back(division));
    ANT_TRY(ant_validation_choose(division->held_back, &h->opts));
    ANT_TRY(copy_held_back(division->held_back, h->opts.rows, warmup, &h->series));
    ANT_TRY(hash_rows(h->series, h->hash));
    antler_status status = copy_others(division->training, antler_series_total_length(h->series), &others);
    if (status == ANTLER_OK)
        status = ant_validation_floor(model, h->series, others, &h->opts, &h->floor);
    antler_series_free(others);
    return status;
}

antler_status ant_held_back_create(const ant_division *division, size_t warmup, const antler_model *model,
                                   ant_held_back **held_back)
{
    ant_held_back *h = calloc(1, sizeof *h);
    if (h == NULL)
        return ant_fail_memory(sizeof *h, "the held-back rows");
    const antler_status status = fill(h, division, warmup, model);
    if (status != ANTLER_OK) {
        ant_held_back_free(h);
        return ant_fail_within(status, "the held-back rows");
    }
    *held_back = h;
    return ANTLER_OK;
}

void ant_held_back_free(ant_held_back *held_back)
{
    if (held_back == NULL)
        return;
    antler_series_free(held_back->series);
    free(held_back);
}

/* ---- when, and what is kept -------------------------------------------------------------------------- */

size_t ant_validation_interval(const antler_settings *s, const ant_held_back *held_back, bool engine)
{
    enum { MOST = 15 };
    const double row_cost = engine ? 16.0 : 8.0; /* steps of training, forward and back, in the same time */
    const double share = 0.05;
    const double rows = 2.0 * (double)antler_series_total_length(held_back->series);
    const double steps = (double)s->updates * (double)s->batch_size * (double)s->sequence_length;
    const double count = fmin(fmax(floor(share * steps / (row_cost * rows)), 1.0), MOST);
    const size_t interval = (size_t)ceil((double)s->updates / count);
    const size_t whole = (interval + s->log_interval - 1) / s->log_interval * s->log_interval;
    return whole < s->updates ? whole : s->updates;
}

void ant_run_keep_validation(ant_run *run, size_t total, const ant_validation_measures *measures,
                             double score)
{
    run->validation = *measures;
    if (run->best.update > 0 && !(score <= run->best.score))
        return;
    run->best.update = run->update;
    run->best.score = score;
    run->best.measures = *measures;
    memcpy(run->best.parameters, run->state.parameters, total * sizeof *run->best.parameters);
}
