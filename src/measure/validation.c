/* validation.c - the measures of a model on held-back rows, and those of the data themselves (spec 14). */
#include "measure/validation.h"

#include "data/series.h"
#include "measure/compare.h"
#include "measure/late.h"
#include "model/start.h"

#include <math.h>
#include <stdlib.h>

enum {
    PREDICTION_STEPS = 20, /* n of PE(n), as in the table of measures */
    MOST_WINDOWS = 100,    /* of PE(n) */
    FEWEST_WINDOWS = 10,   /* where the warm-up is long */
    SAMPLES = 1000,        /* of the Gaussian mixtures, where the options have no number */
    MOST_BINS_DIM = 8,     /* above it, no histogram is tried */
    POINTS_PER_BIN = 40,   /* in the mean over bins that are filled */
};

size_t ant_validation_rows_needed(size_t dim)
{
    /* The warm-up takes at most half of them, and the rest must have more rows than columns. */
    return 100 + 2 * dim;
}

/* ---- what is measured -------------------------------------------------------------------------------- */

/* The first lag at which the autocorrelation is below 1/e, at most `most`.  x: (rows), mean 0 */
static size_t decorrelation_lag(const double *x, size_t rows, size_t most)
{
    double variance = 0.0; /* missing values are 0, the mean */
    for (size_t t = 0; t < rows; t++)
        variance += x[t] * x[t];
    for (size_t lag = 1; lag < most; lag++) {
        double sum = 0.0;
        for (size_t t = lag; t < rows; t++)
            sum += x[t] * x[t - lag];
        if (sum < exp(-1.0) * variance)
            return lag;
    }
    return most;
}

/* The delay for a series of one variable. */
static antler_status choose_delay(const antler_series *series, size_t limit, size_t *delay)
{
    const size_t trajectory = ant_series_longest(series);
    const size_t length = antler_series_length(series, trajectory), rows = length < limit ? length : limit;
    double *x = malloc(rows * sizeof *x), mean = 0.0;
    if (x == NULL)
        return ant_fail_memory(rows * sizeof *x, "the held-back rows");
    const antler_status status = antler_series_read_f64(series, trajectory, 0, rows, x, NULL);
    size_t seen = 0;
    for (size_t t = 0; t < rows && status == ANTLER_OK; t++)
        seen += !isnan(x[t]);
    for (size_t t = 0; t < rows && status == ANTLER_OK; t++)
        mean += isnan(x[t]) ? 0.0 : x[t] / (double)seen;
    for (size_t t = 0; t < rows && status == ANTLER_OK; t++)
        x[t] = isnan(x[t]) ? 0.0 : x[t] - mean;
    if (status == ANTLER_OK)
        *delay = decorrelation_lag(x, rows, rows / 20);
    free(x);
    return status;
}

/*
 * The finest histogram whose filled bins hold enough rows: how fine that is depends on the dimension of the
 * attractor, not on that of its space.  0: even the coarsest is too fine, and mixtures are used.
 */
static antler_status choose_bins(const antler_series *rows, ant_validation_opts *opts)
{
    static const size_t choices[] = {30, 24, 19, 15, 12, 10, 8, 6};
    opts->bins = 0;
    if (antler_series_dim(rows) * opts->embed_dim > MOST_BINS_DIM)
        return ANTLER_OK;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0] && opts->bins == 0; i++) {
        antler_measure_opts m;
        antler_measure_result result = {0};
        antler_measure_opts_default(&m);
        m.dstsp = ANTLER_DSTSP_BINS;
        m.bins = choices[i];
        m.embed_dim = opts->embed_dim;
        m.embed_delay = opts->embed_delay;
        const antler_status status = ant_measure_data(rows, rows, &m, &result);
        if (status == ANTLER_OK && POINTS_PER_BIN * result.bins_filled <= result.true_points)
            opts->bins = choices[i];
        antler_measure_result_clear(&result);
        ANT_TRY(status);
    }
    return ANTLER_OK;
}

antler_status ant_validation_choose(const antler_series *held_back, ant_validation_opts *opts)
{
    const size_t needed = ant_validation_rows_needed(antler_series_dim(held_back));
    *opts = (ant_validation_opts){.rows = needed > ANT_VALIDATION_ROWS ? needed : ANT_VALIDATION_ROWS,
                                  .steps = PREDICTION_STEPS,
                                  .embed_dim = 1,
                                  .embed_delay = 1};
    const size_t longest = antler_series_count(held_back) == 0
                               ? 0
                               : antler_series_length(held_back, ant_series_longest(held_back));
    ANT_CHECK(longest >= needed, ANTLER_ERROR_DATA,
              "the longest held-back trajectory has %zu row%s, and a validation needs %zu", longest,
              longest == 1 ? "" : "s", needed);
    if (antler_series_dim(held_back) == 1) {
        opts->embed_dim = 3;
        ANT_TRY(choose_delay(held_back, opts->rows, &opts->embed_delay));
    }
    ant_projection *projection = NULL;
    antler_series *rows = NULL;
    antler_status status = ant_projection_create(held_back, &projection);
    if (status == ANTLER_OK)
        status = ant_projection_apply(projection, held_back, &rows);
    if (status == ANTLER_OK)
        status = choose_bins(rows, opts);
    antler_series_free(rows);
    ant_projection_free(projection);
    return status;
}

/* ---- rows in the model's units ----------------------------------------------------------------------- */

/* The same rows of both, one below the other for each trajectory that is long enough. */
typedef struct pair {
    antler_series *truth, *orbit;
    ant_projection *projection; /* of the truth, once both are projected; NULL: none */
} pair;

static antler_status pair_create(size_t dim, pair *p)
{
    *p = (pair){0};
    ANT_TRY(antler_series_create(dim, 0, &p->truth));
    return antler_series_create(dim, 0, &p->orbit);
}

static void pair_free(pair *p)
{
    antler_series_free(p->truth);
    antler_series_free(p->orbit);
    ant_projection_free(p->projection);
}

static antler_status project_one(const ant_projection *projection, antler_series **series)
{
    antler_series *projected = NULL;
    const antler_status status = ant_projection_apply(projection, *series, &projected);
    antler_series_free(*series);
    *series = projected;
    return status;
}

/* Many channels are compared in their principal components. */
static antler_status pair_project(pair *p)
{
    ANT_TRY(ant_projection_create(p->truth, &p->projection));
    if (p->projection == NULL)
        return ANTLER_OK;
    ANT_TRY(project_one(p->projection, &p->truth));
    return project_one(p->projection, &p->orbit);
}

/* Append rows of one trajectory in the model's units. */
static antler_status append_rows(const antler_model *model, const antler_series *from, size_t trajectory,
                                 size_t first, size_t rows, antler_series *to)
{
    const size_t N = antler_series_dim(from), K = antler_series_input_dim(from);
    ant_units units = {0};
    double *x = malloc(rows * (N + K) * sizeof *x); // (rows, N), then (rows, K)
    if (x == NULL)
        return ant_fail_memory(rows * (N + K) * sizeof *x, "the held-back rows");
    antler_status status = ant_units_create(model, from, false, &units);
    if (status == ANTLER_OK)
        status = ant_units_read(&units, from, trajectory, first, rows, x, K == 0 ? NULL : x + rows * N);
    if (status == ANTLER_OK)
        status = antler_series_append(to, rows, x, NULL);
    ant_units_free(&units);
    free(x);
    return status;
}

/* ---- free runs --------------------------------------------------------------------------------------- */

/* One free run, and the true rows beside it.  `left`: rows that may still be used. */
static antler_status run_trajectory(const antler_model *model, const antler_series *held_back,
                                    size_t trajectory, size_t *left, pair *p)
{
    const size_t N = antler_series_dim(held_back), length = antler_series_length(held_back, trajectory);
    const size_t warmup = ant_model_warmup(model, ANTLER_WARMUP_AUTO, length / 2);
    const size_t after = length - warmup - 1, steps = after < *left ? after : *left;
    antler_generate_opts opts;
    antler_generate_opts_default(&opts);
    opts.start.context = held_back;
    opts.start.trajectory = trajectory;
    opts.start.warmup = warmup;
    opts.steps = steps;
    opts.device = ANTLER_DEVICE_CPU;
    double *x = malloc(steps * N * sizeof *x); // (steps, N)
    size_t done = 0;
    if (x == NULL)
        return ant_fail_memory(steps * N * sizeof *x, "a free run");
    antler_status status = antler_generate_into(model, &opts, x, NULL, &done);
    if (status == ANTLER_OK)
        status = antler_series_append(p->orbit, steps, x, NULL);
    if (status == ANTLER_OK)
        status = append_rows(model, held_back, trajectory, warmup + 1, steps, p->truth);
    *left -= steps;
    free(x);
    return status;
}

/* Of the trajectories that are long enough, until `rows` are reached. */
static antler_status run_all(const antler_model *model, const antler_series *held_back, size_t rows, pair *p)
{
    const size_t needed = ant_validation_rows_needed(antler_series_dim(held_back));
    size_t left = rows;
    for (size_t i = 0; i < antler_series_count(held_back) && left >= needed; i++) {
        if (antler_series_length(held_back, i) >= needed)
            ANT_TRY(run_trajectory(model, held_back, i, &left, p));
    }
    return ANTLER_OK;
}

/* ---- the measures ------------------------------------------------------------------------------------ */

/* D_stsp by histograms where they can be filled, else by Gaussian mixtures of few samples; D_H. */
static antler_measure_opts choose_measures(const antler_series *truth, const ant_validation_opts *opts)
{
    const size_t rows = antler_series_total_length(truth);
    antler_measure_opts m;
    antler_measure_opts_default(&m);
    m.dstsp = opts->bins > 0 ? ANTLER_DSTSP_BINS : ANTLER_DSTSP_GMM_SILVERMAN;
    m.bins = opts->bins > 0 ? opts->bins : m.bins;
    m.samples = opts->samples > 0 ? opts->samples : SAMPLES;
    m.embed_dim = opts->embed_dim;
    m.embed_delay = opts->embed_delay;
    m.smoothing = fmin(m.smoothing, (double)rows / (double)antler_series_count(truth) / 100.0);
    m.threads = opts->threads;
    m.device = ANTLER_DEVICE_CPU;
    m.match_noise = true;
    return m;
}

/* data: the orbit is a part of the data, too, and may have missing values */
static antler_status compare(const pair *p, bool data, const ant_validation_opts *opts,
                             ant_validation_measures *out)
{
    const antler_measure_opts m = choose_measures(p->truth, opts);
    antler_measure_result result = {0};
    const antler_status status = data ? ant_measure_data(p->truth, p->orbit, &m, &result)
                                      : antler_measure(p->truth, p->orbit, &m, &result);
    out->dstsp = result.dstsp;
    out->hellinger = result.hellinger;
    antler_measure_result_clear(&result);
    return status;
}

/* D_stsp is the larger one of the free run beside the data and of the ends of longer ones. */
static antler_status measure_late(const antler_model *model, const antler_series *held_back, const pair *p,
                                  const ant_validation_opts *opts, ant_validation_measures *out)
{
    const antler_measure_opts m = choose_measures(p->truth, opts);
    double late = NAN;
    ANT_TRY(ant_late_dstsp(model, held_back, opts->late, p->truth, p->projection, &m, &late));
    out->dstsp = fmax(out->dstsp, late); /* a NaN does not count */
    return ANTLER_OK;
}

/* Long warm-ups have fewer windows, so that they do not cost more than the free run. */
static antler_status measure_error(const antler_model *model, const antler_series *held_back,
                                   const ant_validation_opts *opts, ant_validation_measures *out)
{
    const size_t longest = antler_series_length(held_back, ant_series_longest(held_back));
    const size_t rows = ant_model_warmup(model, ANTLER_WARMUP_AUTO, longest / 2) + opts->steps;
    const size_t windows = opts->rows / rows;
    antler_rmse_opts r;
    antler_rmse_result result = {0};
    antler_rmse_opts_default(&r);
    r.steps = opts->steps;
    r.windows = windows < FEWEST_WINDOWS ? FEWEST_WINDOWS : windows > MOST_WINDOWS ? MOST_WINDOWS : windows;
    r.device = ANTLER_DEVICE_CPU;
    const antler_status status = antler_forecast(model, held_back, "prediction_error", &r, &result);
    out->prediction_error = result.mean;
    return status;
}

/* Free runs beside the rows of `series`, and D_stsp and D_H between the two. */
static antler_status run_and_compare(const antler_model *model, const antler_series *series,
                                     const ant_validation_opts *opts, pair *p, ant_validation_measures *out)
{
    ANT_TRY(pair_create(antler_series_dim(series), p));
    ANT_TRY(run_all(model, series, opts->rows, p));
    ANT_TRY(pair_project(p));
    return compare(p, false, opts, out);
}

/* A model that diverges is an outcome. */
static antler_status conclude(antler_status status, ant_validation_measures *out)
{
    if (status < ANTLER_OK || (status == ANTLER_OK && isfinite(out->dstsp)))
        return status;
    *out = (ant_validation_measures){INFINITY, INFINITY, INFINITY};
    return ANTLER_OK;
}

antler_status ant_validation_measure(const antler_model *model, const antler_series *held_back,
                                     const ant_validation_opts *opts, ant_validation_measures *out)
{
    pair p = {0};
    ANT_TRY(ant_model_check_series(model, held_back, "the held-back series"));
    antler_status status = run_and_compare(model, held_back, opts, &p, out);
    if (status == ANTLER_OK)
        status = measure_late(model, held_back, &p, opts, out);
    if (status == ANTLER_OK)
        status = measure_error(model, held_back, opts, out);
    pair_free(&p);
    return conclude(status, out);
}

antler_status ant_validation_compare(const antler_model *model, const antler_series *series,
                                     const ant_validation_opts *opts, ant_validation_measures *out)
{
    pair p = {0};
    ANT_TRY(ant_model_check_series(model, series, "the data"));
    out->prediction_error = NAN;
    const antler_status status = run_and_compare(model, series, opts, &p, out);
    pair_free(&p);
    return conclude(status, out);
}

antler_status ant_validation_stays(const antler_model *model, const antler_series *held_back,
                                   const ant_validation_opts *opts, bool *stays)
{
    pair p;
    double late = NAN;
    antler_status status = pair_create(antler_series_dim(held_back), &p);
    if (status == ANTLER_OK)
        status = ant_validation_take(model, held_back, opts->rows, p.truth);
    if (status == ANTLER_OK)
        status = pair_project(&p);
    const antler_measure_opts m = choose_measures(p.truth, opts);
    if (status == ANTLER_OK)
        status = ant_late_dstsp(model, held_back, ANT_LATE_STEPS_LONG, p.truth, p.projection, &m, &late);
    *stays = !(late >= ANT_LATE_COLLAPSED);
    pair_free(&p);
    return status;
}

/* ---- the floor --------------------------------------------------------------------------------------- */

/* All rows of a set in one array, with where each trajectory begins. */
typedef struct library {
    size_t dim, count; /* variables, trajectories */
    double *x;         /* (first[count], dim) */
    size_t *first;     /* (count + 1) */
} library;

static void library_free(library *l)
{
    free(l->x);
    free(l->first);
}

static antler_status library_create(const antler_series *series, library *l)
{
    const size_t numbers = antler_series_total_length(series) * antler_series_dim(series);
    *l = (library){.dim = antler_series_dim(series), .count = antler_series_count(series)};
    l->x = malloc(numbers * sizeof *l->x);
    l->first = calloc(l->count + 1, sizeof *l->first);
    if (l->x == NULL || l->first == NULL)
        return ant_fail_memory(numbers * sizeof *l->x, "rows of the data");
    for (size_t i = 0; i < l->count; i++) {
        const size_t rows = antler_series_length(series, i);
        ANT_TRY(antler_series_read_f64(series, i, 0, rows, l->x + l->first[i] * l->dim, NULL));
        l->first[i + 1] = l->first[i] + rows;
    }
    return ANTLER_OK;
}

static double squared_distance(const double *x, const double *y, size_t dim)
{
    double sum = 0.0;
    for (size_t n = 0; n < dim; n++)
        sum += (x[n] - y[n]) * (x[n] - y[n]);
    return sum; /* NaN where a value is missing */
}

/* Of two delay vectors, which end at x and y. */
static double delay_distance(const double *x, const double *y, size_t dim, const ant_validation_opts *opts)
{
    double sum = 0.0;
    for (size_t k = 0; k < opts->embed_dim; k++) {
        const size_t back = k * opts->embed_delay * dim;
        sum += squared_distance(x - back, y - back, dim);
    }
    return sum;
}

/* The error of the row that follows the nearest delay vector of the library after `steps`.  x: a row that has
   as many rows before and after it as are needed */
static double analogue_error(const library *l, const double *x, const ant_validation_opts *opts)
{
    const size_t reach = (opts->embed_dim - 1) * opts->embed_delay;
    double nearest = INFINITY, error = NAN;
    for (size_t i = 0; i < l->count; i++) {
        for (size_t row = l->first[i] + reach; row + opts->steps < l->first[i + 1]; row++) {
            const double *y = l->x + row * l->dim;
            const double distance = delay_distance(x, y, l->dim, opts);
            if (!(distance < nearest))
                continue;
            const double own = squared_distance(x + opts->steps * l->dim, y + opts->steps * l->dim, l->dim);
            if (isnan(own))
                continue;
            nearest = distance;
            error = own;
        }
    }
    return error / (double)l->dim;
}

/* PE(n) of the forecast by the nearest row: windows spread over the longest trajectory of the truth. */
static antler_status analogue_errors(const pair *p, const ant_validation_opts *opts, double *value)
{
    const size_t longest = ant_series_longest(p->truth), dim = antler_series_dim(p->truth);
    const size_t reach = (opts->embed_dim - 1) * opts->embed_delay;
    const size_t places = antler_series_length(p->truth, longest) - reach - opts->steps;
    const size_t windows = places < MOST_WINDOWS ? places : MOST_WINDOWS;
    library truth = {0}, others = {0};
    antler_status status = library_create(p->truth, &truth);
    if (status == ANTLER_OK)
        status = library_create(p->orbit, &others);
    size_t found = 0;
    *value = 0.0;
    for (size_t i = 0; i < windows && status == ANTLER_OK; i++) {
        const size_t row = truth.first[longest] + reach + i * places / windows;
        const double error = analogue_error(&others, truth.x + row * dim, opts) / (double)windows;
        *value += isnan(error) ? 0.0 : error; /* values are missing */
        found += !isnan(error);
    }
    if (found < windows)
        *value = found == 0 ? NAN : *value * ((double)windows / (double)found);
    library_free(&truth);
    library_free(&others);
    return status;
}

/* A share of the variance that no forecast needs to be better than.  Of exactly periodic data the error is 0.
 */
static antler_status least_error(const antler_series *truth, double *value)
{
    const size_t dim = antler_series_dim(truth);
    *value = 0.0;
    for (size_t n = 0; n < dim; n++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(truth, n, &stats));
        *value += 1e-6 * stats.sd * stats.sd / (double)dim;
    }
    return ANTLER_OK;
}

antler_status ant_validation_take(const antler_model *model, const antler_series *from, size_t rows,
                                  antler_series *to)
{
    const size_t needed = ant_validation_rows_needed(antler_series_dim(from));
    size_t left = rows;
    for (size_t i = 0; i < antler_series_count(from) && left >= needed; i++) {
        const size_t length = antler_series_length(from, i), count = length < left ? length : left;
        if (length < needed)
            continue;
        ANT_TRY(append_rows(model, from, i, 0, count, to));
        left -= count;
    }
    ANT_CHECK(antler_series_count(to) > 0, ANTLER_ERROR_DATA,
              "no trajectory has the %zu rows that a validation needs", needed);
    return ANTLER_OK;
}

antler_status ant_validation_floor(const antler_model *model, const antler_series *held_back,
                                   const antler_series *others, const ant_validation_opts *opts,
                                   ant_validation_measures *out)
{
    pair p;
    ANT_TRY(ant_model_check_series(model, held_back, "the held-back series"));
    ANT_TRY(ant_model_check_series(model, others, "the training data"));
    antler_status status = pair_create(antler_series_dim(held_back), &p);
    if (status == ANTLER_OK)
        status = ant_validation_take(model, held_back, opts->rows, p.truth);
    if (status == ANTLER_OK)
        status = ant_validation_take(model, others, opts->rows, p.orbit);
    double least = 0.0;
    if (status == ANTLER_OK)
        status = analogue_errors(&p, opts, &out->prediction_error);
    if (status == ANTLER_OK)
        status = least_error(p.truth, &least);
    if (status == ANTLER_OK)
        status = pair_project(&p);
    if (status == ANTLER_OK)
        status = compare(&p, true, opts, out);
    out->prediction_error = fmax(out->prediction_error, least);
    pair_free(&p);
    return status;
}
