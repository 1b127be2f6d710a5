/* floor.c - floors: the measures of orbits between parts of the true series, and its time scale (spec 8). */
#include "measure/floor.h"

#include "base/sized.h"
#include "data/missing.h"
#include "data/series.h"
#include "measure/compare.h"
#include "measure/forecast.h"
#include "measure/slow.h"
#include "measure/white.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    CUTS = 3,             /* into 2, 4 and 8 parts */
    SPECTRUM_CUTS = 2,    /* D_H needs long parts: of these cuts only the first */
    FLOOR_SAMPLES = 5000, /* of each D_stsp: its standard error, sqrt(2 D / n), is far below the limits */
    NARROW_SAMPLES =
        1000 /* of D_stsp of the narrow copy, which is 0.5 to 6: a standard error of 0.1 at most */
};

/* The sum and number of the values of one floor. */
typedef struct mean {
    double sum;
    size_t count;
} mean;

static void add(mean *m, double value)
{
    m->sum += value;
    m->count++;
}

/* An estimate between equal distributions may be negative; a floor is not. */
static double mean_value(const mean *m)
{
    return m->count == 0 ? NAN : fmax(m->sum / (double)m->count, 0.0);
}

/* Append the parts of one trajectory to two sets in turn.  x: (rows of a part, N) */
static antler_status deal_parts(const antler_series *truth, size_t trajectory, size_t parts, double *x,
                                antler_series *sets[2])
{
    const size_t rows = antler_series_length(truth, trajectory) / parts;
    for (size_t part = 0; part < parts; part++) {
        ANT_TRY(antler_series_read_f64(truth, trajectory, part * rows, rows, x, NULL));
        ANT_TRY(antler_series_append(sets[part % 2], rows, x, NULL));
    }
    return ANTLER_OK;
}

/* Cut each trajectory into parts of at least `least` rows; shorter trajectories are left out. */
static antler_status cut(const antler_series *truth, size_t parts, size_t least, antler_series *sets[2])
{
    const size_t N = antler_series_dim(truth);
    size_t longest = 0;
    for (size_t i = 0; i < antler_series_count(truth); i++) {
        const size_t rows = antler_series_length(truth, i) / parts;
        longest = rows > longest ? rows : longest;
    }
    double *x = malloc((longest * N + 1) * sizeof *x);
    antler_status status = ANTLER_OK;
    if (x == NULL)
        status = ant_fail_memory(longest * N * sizeof *x, "parts of the series");
    for (size_t k = 0; k < 2 && status == ANTLER_OK; k++)
        status = antler_series_create(N, 0, &sets[k]);
    for (size_t i = 0; i < antler_series_count(truth) && status == ANTLER_OK; i++) {
        if (antler_series_length(truth, i) / parts >= least)
            status = deal_parts(truth, i, parts, x, sets);
    }
    free(x);
    return status;
}

/* What is measured between two sets, and where it is added. */
typedef struct floor_sums {
    antler_measure_opts opts;
    mean *dstsp, *hellinger; /* hellinger NULL: not here */
} floor_sums;

/* Parts in which a variable is constant have no D_stsp and are left out.  Parts too far apart for a number
 * are infinitely far. */
static antler_status add_distance(const antler_series *p, const antler_series *q, const floor_sums *sums)
{
    antler_measure_result m = {0};
    const antler_status status = ant_measure_data(p, q, &sums->opts, &m);
    if (status == ANTLER_OK || status == ANTLER_NON_FINITE)
        add(sums->dstsp, status == ANTLER_OK ? m.dstsp : INFINITY);
    if (sums->hellinger != NULL && (status == ANTLER_OK || status == ANTLER_NON_FINITE) &&
        !isnan(m.hellinger))
        add(sums->hellinger, m.hellinger);
    antler_measure_result_clear(&m);
    return status == ANTLER_NON_FINITE || status == ANTLER_ERROR_DATA ? ANTLER_OK : status;
}

static antler_status add_cut(const antler_series *truth, size_t parts, const floor_sums *sums)
{
    enum { ROWS = 8 }; /* the least that a part has, besides its first delays */
    antler_series *sets[2] = {NULL, NULL};
    const size_t reach = (sums->opts.embed_dim - 1) * sums->opts.embed_delay;
    antler_status status = cut(truth, parts, reach + ROWS, sets);
    if (status == ANTLER_OK && antler_series_count(sets[0]) > 0)
        status = add_distance(sets[0], sets[1], sums);
    if (status == ANTLER_OK && antler_series_count(sets[0]) > 0)
        status = add_distance(sets[1], sets[0], sums);
    antler_series_free(sets[0]);
    antler_series_free(sets[1]);
    return status;
}

/* opts: of the comparison with the model; hellinger: NULL, or where that is added */
static antler_status add_cuts(const antler_series *truth, const antler_measure_opts *opts, mean *dstsp,
                              mean *hellinger)
{
    floor_sums sums = {.opts = *opts, .dstsp = dstsp};
    if (sums.opts.samples > FLOOR_SAMPLES)
        sums.opts.samples = FLOOR_SAMPLES;
    for (size_t k = 0; k < CUTS; k++) {
        sums.hellinger = k < SPECTRUM_CUTS ? hellinger : NULL;
        ANT_TRY(add_cut(truth, (size_t)2 << k, &sums));
    }
    return ANTLER_OK;
}

/* Halve the distance of every value to the mean of its variable.  x: (rows, N); centre: (N) */
static void narrow_rows(double *x, size_t rows, size_t N, const double *centre)
{
    for (size_t t = 0; t < rows; t++) {
        for (size_t j = 0; j < N; j++)
            x[t * N + j] = centre[j] + 0.5 * (x[t * N + j] - centre[j]); /* a missing value stays one */
    }
}

/* Append a copy with half the spread. */
static antler_status append_narrow(const antler_series *truth, antler_series *copy)
{
    const size_t N = antler_series_dim(truth),
                 longest = antler_series_length(truth, ant_series_longest(truth));
    antler_status status = ANTLER_OK;
    double *x = malloc((longest + 1) * N * sizeof *x); /* (longest, N), then (N) means */
    if (x == NULL)
        return ant_fail_memory((longest + 1) * N * sizeof *x, "a copy of the series");
    double *centre = x + longest * N;
    for (size_t j = 0; j < N && status == ANTLER_OK; j++) {
        antler_variable_stats stats;
        status = antler_series_stats(truth, j, &stats);
        centre[j] = stats.mean;
    }
    for (size_t i = 0; i < antler_series_count(truth) && status == ANTLER_OK; i++) {
        const size_t rows = antler_series_length(truth, i);
        status = antler_series_read_f64(truth, i, 0, rows, x, NULL);
        narrow_rows(x, rows, N, centre);
        if (status == ANTLER_OK)
            status = antler_series_append(copy, rows, x, NULL);
    }
    free(x);
    return status;
}

/*
 * D_stsp of an attractor that is known to be wrong, half as wide as the data and otherwise the same.  Where
 * it is within the limits, so are others that are wrong.
 */
static antler_status measure_narrow(const antler_series *truth, const antler_measure_opts *opts,
                                    antler_floors *floors)
{
    mean dstsp = {0};
    antler_series *copy = NULL;
    floor_sums sums = {.opts = *opts, .dstsp = &dstsp};
    if (sums.opts.samples > NARROW_SAMPLES)
        sums.opts.samples = NARROW_SAMPLES;
    antler_status status = antler_series_create(antler_series_dim(truth), 0, &copy);
    if (status == ANTLER_OK)
        status = append_narrow(truth, copy);
    if (status == ANTLER_OK)
        status = add_distance(truth, copy, &sums);
    if (status == ANTLER_OK && dstsp.count > 0)
        floors->narrow = fmax(mean_value(&dstsp), DBL_MIN); /* 0: not known */
    antler_series_free(copy);
    return status;
}

static antler_status measure_parts(const antler_series *truth, const antler_evaluate_opts *opts,
                                   const double *unit, antler_floors *floors)
{
    mean plain = {0}, embedded = {0}, hellinger = {0};
    antler_measure_opts measure = opts->measure;
    measure.unit = unit;
    if (measure.embed_dim > 1)
        ANT_TRY(add_cuts(truth, &measure, &embedded, NULL));
    if (measure.embed_dim > 1 || opts->with_dstsp)
        ANT_TRY(measure_narrow(truth, &measure, floors));
    measure.embed_dim = 1;
    if (!opts->with_dstsp)
        measure.dstsp = ANTLER_DSTSP_BINS; /* the cheapest: only D_H is used */
    ANT_TRY(add_cuts(truth, &measure, &plain, &hellinger));
    floors->values[antler_measure_index("dstsp")] = opts->with_dstsp ? mean_value(&plain) : NAN;
    floors->values[antler_measure_index("dstsp_embedded")] = mean_value(&embedded);
    floors->values[antler_measure_index("hellinger")] = mean_value(&hellinger);
    return ANTLER_OK;
}

/* Sum of (x_t - m)(x_{t+lag} - m) of one variable over all trajectories, as if pairs of which one is missing
 * were like the others.  x: (all rows, N), one below the other */
static double products(const antler_series *truth, const double *x, size_t variable, double m, size_t lag)
{
    const size_t N = antler_series_dim(truth);
    double sum = 0.0;
    size_t all = 0, seen = 0;
    for (size_t i = 0; i < antler_series_count(truth); i++) {
        const size_t length = antler_series_length(truth, i);
        for (size_t t = 0; t + lag < length; t++) {
            const double product = (x[t * N + variable] - m) * (x[(t + lag) * N + variable] - m);
            sum += isnan(product) ? 0.0 : product;
            seen += !isnan(product);
        }
        all += length > lag ? length - lag : 0;
        x += length * N;
    }
    return seen == all || seen == 0 ? sum : sum * ((double)all / (double)seen);
}

/*
 * Rows until the autocorrelation of a variable falls below 1/e.  Lags grow by a half from one to the next,
 * which steps over no quarter of a period; then the interval is halved.
 */
static double correlation_rows(const antler_series *truth, const double *x, size_t variable, double m,
                               size_t longest)
{
    const double limit = exp(-1.0) * products(truth, x, variable, m, 0);
    size_t above = 0, below = 1;
    while (below < longest && products(truth, x, variable, m, below) > limit) {
        above = below;
        below += below / 2 + 1;
    }
    if (below > longest)
        below = longest;
    while (below - above > 1) {
        const size_t middle = above + (below - above) / 2;
        if (products(truth, x, variable, m, middle) > limit)
            above = middle;
        else
            below = middle;
    }
    return (double)below;
}

/* The difference of the means of first and second halves of all trajectories.  x: (all rows, N) */
static double half_difference(const antler_series *truth, const double *x, size_t variable)
{
    const size_t N = antler_series_dim(truth);
    mean first = {0}, second = {0};
    for (size_t i = 0; i < antler_series_count(truth); i++) {
        const size_t length = antler_series_length(truth, i);
        for (size_t t = 0; t < length; t++) {
            if (!isnan(x[t * N + variable]))
                add(t < length / 2 ? &first : &second, x[t * N + variable]);
        }
        x += length * N;
    }
    return first.count == 0 || second.count == 0
               ? 0.0
               : fabs(first.sum / (double)first.count - second.sum / (double)second.count);
}

/* x: (all rows, N) */
static antler_status measure_scales(const antler_series *truth, const double *x, antler_floors *floors)
{
    const size_t longest = ant_forecast_longest(truth);
    for (size_t j = 0; j < antler_series_dim(truth); j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(truth, j, &stats));
        if (stats.sd <= 0.0)
            continue;
        const double rows = correlation_rows(truth, x, j, stats.mean, longest);
        const double shift = half_difference(truth, x, j) / stats.sd;
        if (rows > floors->correlation) {
            floors->correlation = rows;
            floors->slowest = j;
        }
        if (shift > floors->shift) {
            floors->shift = shift;
            floors->shifted = j;
        }
    }
    return ANTLER_OK;
}

/* The longest trajectory, each variable with mean 0 and variance 1.  x: (all rows, N); returns (its rows, N)
 */
static antler_status standardise_longest(const antler_series *truth, double *x, double **out)
{
    const size_t N = antler_series_dim(truth), longest = ant_series_longest(truth),
                 rows = antler_series_length(truth, longest);
    for (size_t i = 0; i < longest; i++)
        x += antler_series_length(truth, i) * N;
    for (size_t j = 0; j < N; j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(truth, j, &stats));
        for (size_t t = 0; t < rows; t++)
            x[t * N + j] = stats.sd > 0.0 ? (x[t * N + j] - stats.mean) / stats.sd : 0.0;
    }
    *out = x;
    return ANTLER_OK;
}

/* Slow changes of the amplitude count as a time scale, too.  x: (rows, N) of the longest trajectory */
static antler_status measure_amplitude(const double *x, size_t rows, size_t N, antler_floors *floors)
{
    double slow = 0.0;
    ANT_TRY(ant_slow_scale(x, rows, N, 10 * (size_t)floors->correlation, &slow));
    if (slow > floors->correlation) {
        floors->correlation = slow;
        floors->slowest = N;
    }
    return ANTLER_OK;
}

/* What the longest trajectory shows besides.  x: (all rows, N), of which that trajectory is standardised here
 */
static antler_status measure_longest(const antler_series *truth, double *x, antler_floors *floors)
{
    const size_t N = antler_series_dim(truth), rows = antler_series_length(truth, ant_series_longest(truth));
    bool white = false;
    ANT_TRY(standardise_longest(truth, x, &x));
    if (floors->correlation >= 1.0)
        ANT_TRY(measure_amplitude(x, rows, N, floors));
    if (floors->correlation <= 1.0 && antler_series_input_dim(truth) == 0)
        ANT_TRY(ant_rows_are_white(x, rows, N, &white));
    floors->white = white;
    return ANTLER_OK;
}

static antler_status find_scales(const antler_series *truth, antler_floors *floors)
{
    const size_t N = antler_series_dim(truth);
    for (size_t i = 0; i < antler_series_count(truth); i++)
        floors->rows += antler_series_length(truth, i);
    double *x = malloc((floors->rows * N + 1) * sizeof *x), *next = x; // (rows, N)
    antler_status status =
        x == NULL ? ant_fail_memory(floors->rows * N * sizeof *x, "the autocorrelation") : ANTLER_OK;
    for (size_t i = 0; i < antler_series_count(truth) && status == ANTLER_OK; i++) {
        const size_t length = antler_series_length(truth, i);
        status = antler_series_read_f64(truth, i, 0, length, next, NULL);
        next += length * N;
    }
    if (status == ANTLER_OK)
        status = measure_scales(truth, x, floors);
    if (status == ANTLER_OK)
        status = measure_longest(truth, x, floors);
    free(x);
    return status;
}

antler_status ant_floors_measure(const antler_series *truth, const antler_evaluate_opts *opts,
                                 const double *unit, antler_floors *floors)
{
    *floors = (antler_floors){.struct_size = sizeof *floors};
    for (size_t i = 0; i < ANTLER_MEASURE_MAX; i++)
        floors->values[i] = NAN;
    ANT_TRY(find_scales(truth, floors));
    return measure_parts(truth, opts, unit, floors);
}

antler_status(antler_floors_of)(const antler_series *truth, const antler_evaluate_opts *opts,
                                antler_floors *floors, size_t struct_size)
{
    ANT_CHECK(truth != NULL && opts != NULL && floors != NULL, ANTLER_ERROR_ARGUMENT,
              "floors need a series and options");
    ANT_RESULT(antler_floors, floors, struct_size, antler_floors_of(truth, opts, &whole), (void)0);
    ANT_OPTIONS(antler_evaluate_opts, opts);
    ANT_PART(antler_measure_opts, &opts->measure);
    ANT_TRY(ant_series_check_gaps(truth, 2, true));
    ANT_TRY(ant_series_check_squares(truth));
    return ant_floors_measure(truth, opts, opts->measure.unit, floors);
}

void ant_floors_forecasts(antler_evaluate_result *result)
{
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const antler_rmse_result *r = &result->forecasts[i];
        const bool larger = antler_measure_at(i)->better > 0;
        if (r->windows > 0)
            result->floors.values[i] =
                larger ? fmax(r->persistence, r->average) : fmin(r->persistence, r->average);
    }
}
