/* held_back.c - the division of the data into rows for training and held-back rows (spec 14). */
#include "train/held_back.h"

#include "data/series.h"
#include "train/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the division ------------------------------------------------------------------------------------ */

antler_status ant_division_create(const antler_settings *settings, const antler_series *series,
                                  ant_division *division)
{
    *division = (ant_division){.training = series};
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
    const antler_status status = antler_series_check(division->training, 1);
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, "the rows for training");
}

void ant_division_free(ant_division *division)
{
    antler_series_free(division->owned[0]);
    antler_series_free(division->owned[1]);
    *division = (ant_division){0};
}

antler_status antler_settings_held_back(const antler_settings *settings, const antler_series *series,
                                        antler_series **held_back)
{
    ant_division division = {0};
    const antler_status status = ant_division_create(settings, series, &division);
    if (status == ANTLER_OK) {
        *held_back = NULL;
        for (size_t i = 0; i < 2; i++) {
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

/* An empty set for rows of `from`. */
static antler_status copy_create(const antler_series *from, antler_series **to)
{
    ANT_TRY(antler_series_create(from->dim, from->input_dim, to));
    for (size_t v = 0; v < from->dim + from->input_dim; v++)
        ANT_TRY(antler_series_set_name(*to, v, from->names[v]));
    if (from->scaled)
        ant_series_set_scaling(*to, from->mean, from->scale);
    return antler_series_set_dt(*to, from->dt);
}

/* The first rows of the held-back trajectories, as many as are measured after their warm-ups. */
static antler_status copy_held_back(const antler_series *from, size_t rows, size_t warmup, antler_series **to)
{
    const size_t needed = ant_validation_rows_needed(from->dim);
    size_t left = rows;
    ANT_TRY(copy_create(from, to));
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
    ANT_TRY(copy_create(from, to));
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

static antler_status fill(ant_held_back *h, const ant_division *division, size_t warmup,
                          const antler_model *model)
{
    antler_series *others = NULL;
    ANT_TRY(antler_series_check(division->held_back, 1));
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
