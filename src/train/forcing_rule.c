/* forcing_rule.c - the strength of forcing by schedule; the interval of sparse forcing from the data (spec
 * 10). */
#include "train/forcing_rule.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 64 }; /* of each axis of the joint histogram */

bool ant_forcing_is_sparse(const antler_settings *s)
{
    return s->forcing_interval > 0 || s->forcing_interval_method != ANTLER_INTERVAL_GIVEN;
}

double ant_alpha_scheduled(const antler_settings *s, size_t update)
{
    const double pi = 3.14159265358979323846;
    const double start = s->gtf_alpha, end = s->gtf_alpha_end;
    const double done = s->updates > 1 ? (double)(update - 1) / (double)(s->updates - 1) : 0.0;
    switch (s->gtf_alpha_schedule) {
    case ANTLER_ALPHA_SCHEDULE_LINEAR:
        return (1.0 - done) * start + done * end;
    case ANTLER_ALPHA_SCHEDULE_EXPONENTIAL:
        return start * pow(end / start, done);
    case ANTLER_ALPHA_SCHEDULE_COSINE:
        return end + 0.5 * (start - end) * (1.0 + cos(pi * done));
    case ANTLER_ALPHA_SCHEDULE_CONSTANT:
        break;
    }
    return start;
}

/* ---- scheduled sampling ------------------------------------------------------------------------------ */

bool ant_settings_sample(const antler_settings *s)
{
    return s->sampling_start > 0.0 || s->sampling_end > 0.0;
}

void ant_sampling_draw(const antler_settings *s, uint32_t run, uint32_t update, unsigned char *drawn)
{
    const double last = s->updates > 1 ? (double)(s->updates - 1) : 1.0,
                 share = s->sampling_start +
                         (s->sampling_end - s->sampling_start) * ((double)(update - 1) / last);
    ant_stream stream = ant_stream_open(s->seed, run, update, ANT_PURPOSE_SAMPLING);
    for (size_t k = 0; k < s->batch_size * s->sequence_length; k++)
        drawn[k] = ant_stream_uniform(&stream) < share;
}

/* ---- the first minimum of a function of the lag ------------------------------------------------------ */

typedef struct lagged {
    const double *values; /* of one variable */
    const size_t *first;  /* (count + 1): rows of the trajectories */
    size_t count;
    double low, high, mean;
    double *joint; /* (BINS, BINS) */
} lagged;

/* Rows that have a value. */
static size_t rows_of(const lagged *l)
{
    size_t rows = 0;
    for (size_t t = l->first[0]; t < l->first[l->count]; t++)
        rows += !isnan(l->values[t]);
    return rows;
}

/* Mean of (x_t - mean) (x_{t+lag} - mean). */
static double autocovariance(const lagged *l, size_t lag)
{
    double sum = 0.0;
    size_t pairs = 0;
    for (size_t i = 0; i < l->count; i++) {
        for (size_t t = l->first[i]; t + lag < l->first[i + 1]; t++) {
            const double product = (l->values[t] - l->mean) * (l->values[t + lag] - l->mean);
            sum += isnan(product) ? 0.0 : product; /* of a missing value */
            pairs += !isnan(product);
        }
    }
    return pairs == 0 ? INFINITY : sum / (double)pairs;
}

static size_t bin_of(const lagged *l, double value)
{
    const double place = BINS * (value - l->low) / (l->high - l->low);
    return place >= BINS ? BINS - 1 : (size_t)place;
}

/* Of x_t and x_{t+lag}, in nats, by a joint histogram. */
static double mutual_information(const lagged *l, size_t lag)
{
    double now[BINS] = {0}, later[BINS] = {0}, sum = 0.0;
    size_t pairs = 0;
    memset(l->joint, 0, BINS * BINS * sizeof *l->joint);
    for (size_t i = 0; i < l->count; i++) {
        for (size_t t = l->first[i]; t + lag < l->first[i + 1]; t++) {
            if (isnan(l->values[t]) || isnan(l->values[t + lag]))
                continue;
            l->joint[bin_of(l, l->values[t]) * BINS + bin_of(l, l->values[t + lag])] += 1.0;
            pairs++;
        }
    }
    for (size_t k = 0; k < (size_t)BINS * BINS; k++) {
        now[k / BINS] += l->joint[k];
        later[k % BINS] += l->joint[k];
    }
    for (size_t k = 0; k < (size_t)BINS * BINS; k++) {
        if (l->joint[k] > 0.0)
            sum += l->joint[k] * log(l->joint[k] * (double)pairs / (now[k / BINS] * later[k % BINS]));
    }
    return pairs == 0 ? INFINITY : sum / (double)pairs;
}

static size_t first_minimum(lagged *l, size_t limit, double (*function)(const lagged *l, size_t lag))
{
    const size_t rows = rows_of(l);
    l->low = l->high = l->values[l->first[0]]; /* fmin and fmax leave out what is missing */
    l->mean = 0.0;
    for (size_t t = l->first[0]; t < l->first[l->count]; t++) {
        l->low = fmin(l->low, l->values[t]);
        l->high = fmax(l->high, l->values[t]);
        l->mean += isnan(l->values[t]) ? 0.0 : l->values[t] / (double)rows;
    }
    if (!(l->high > l->low))
        return 0;
    double before = function(l, 0), here = function(l, 1);
    for (size_t lag = 1; lag < limit; lag++) {
        const double next = function(l, lag + 1);
        if (here < before && here <= next)
            return lag;
        before = here;
        here = next;
    }
    return 0;
}

size_t ant_lag_of_autocorrelation(const double *values, const size_t *first, size_t count, size_t limit)
{
    lagged l = {.values = values, .first = first, .count = count};
    return first_minimum(&l, limit, autocovariance);
}

size_t ant_lag_of_mutual_information(const double *values, const size_t *first, size_t count, size_t limit)
{
    double joint[BINS * BINS];
    lagged l = {.values = values, .first = first, .count = count, .joint = joint};
    return first_minimum(&l, limit, mutual_information);
}

/* ---- the interval ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Variable n of all packed rows, in double. */
static void read_variable(const ant_dataset *d, bool single, size_t n, double *values)
{
    for (size_t t = 0; t < d->rows; t++)
        values[t] =
            single ? (double)((const float *)d->x)[t * d->N + n] : ((const double *)d->x)[t * d->N + n];
}

/* first: (count + 1).  Packed rows of the trajectories; returns the longest. */
static size_t find_trajectories(const ant_dataset *d, size_t *first)
{
    size_t longest = 0;
    for (size_t i = 0; i < d->count; i++) {
        const size_t length = (size_t)(d->start[i + 1] - d->start[i]) + d->T;
        first[i] = d->row[i];
        first[i + 1] = d->row[i] + length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Median over the variables; one without a minimum counts as larger than all others. */
static antler_status find_lag(const antler_settings *s, const ant_dataset *d, double *values, size_t *first,
                              size_t *lags, size_t *interval)
{
    const bool single = s->precision == ANTLER_PRECISION_FLOAT;
    const bool linear = s->forcing_interval_method == ANTLER_INTERVAL_AUTOCORRELATION;
    const size_t limit = find_trajectories(d, first) / 2;
    for (size_t n = 0; n < d->N; n++) {
        read_variable(d, single, n, values);
        const size_t lag = linear ? ant_lag_of_autocorrelation(values, first, d->count, limit)
                                  : ant_lag_of_mutual_information(values, first, d->count, limit);
        lags[n] = lag == 0 ? SIZE_MAX : lag;
    }
    qsort(lags, d->N, sizeof *lags, by_size);
    const size_t low = lags[(d->N - 1) / 2], high = lags[d->N / 2];
    ANT_CHECK(high != SIZE_MAX, ANTLER_ERROR_ARGUMENT,
              "forcing_interval_method: the %s of the data has no minimum within %zu rows; set "
              "forcing_interval",
              linear ? "autocorrelation" : "mutual information", limit);
    *interval = low + (high - low + 1) / 2;
    return ANTLER_OK;
}

/* ln 2 / lambda in steps. */
static size_t predictability_steps(const antler_settings *s, const ant_dataset *d)
{
    const double steps = log(2.0) / (s->lyapunov_exponent * (d->dt > 0.0 ? d->dt : 1.0));
    return steps < 1.0 ? 1 : steps > 1e9 ? (size_t)1e9 : (size_t)llround(steps);
}

antler_status ant_forcing_resolve(antler_settings *s, const ant_dataset *d)
{
    if (s->forcing_interval_method == ANTLER_INTERVAL_GIVEN)
        return ANTLER_OK;
    if (s->forcing_interval_method == ANTLER_INTERVAL_PREDICTABILITY) {
        s->forcing_interval = predictability_steps(s, d);
        return ANTLER_OK;
    }
    double *values = calloc(d->rows, sizeof *values);
    size_t *first = calloc(d->count + 1, sizeof *first), *lags = calloc(d->N, sizeof *lags);
    const antler_status status = values == NULL || first == NULL || lags == NULL
                                     ? ant_fail_memory(d->rows * sizeof *values, "the interval of forcing")
                                     : find_lag(s, d, values, first, lags, &s->forcing_interval);
    free(values);
    free(first);
    free(lags);
    return status;
}

void ant_forcing_remark(const antler_settings *s, char *text, size_t bytes)
{
    static const char *const methods[] = {
        [ANTLER_INTERVAL_GIVEN] = "",
        [ANTLER_INTERVAL_PREDICTABILITY] = " (predictability time)",
        [ANTLER_INTERVAL_AUTOCORRELATION] = " (first minimum of the autocorrelation)",
        [ANTLER_INTERVAL_MUTUAL_INFORMATION] = " (first minimum of the mutual information)"};
    text[0] = '\0';
    if (s->forcing_interval > 0)
        snprintf(text, bytes, "; sparse forcing every %zu step%s%s", s->forcing_interval,
                 s->forcing_interval == 1 ? "" : "s", methods[s->forcing_interval_method]);
}
