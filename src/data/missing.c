/* missing.c - missing values of a series set: counts, stretches without them, interpolation (missing.h). */
#include "data/missing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

antler_status ant_series_missing(const antler_series *series, size_t *missing, size_t *values)
{
    antler_variable_stats *stats = calloc(series->dim + 1, sizeof *stats);
    if (stats == NULL)
        return ant_fail_memory(series->dim * sizeof *stats, "statistics");
    const antler_status status = ant_series_stats_range(series, 0, series->dim, stats);
    *missing = 0;
    *values = series->total_length * series->dim;
    for (size_t v = 0; v < series->dim; v++)
        *missing += stats[v].nan;
    free(stats);
    return status;
}

/* One trajectory: variables, then inputs. */
typedef struct rows {
    size_t count, N, K;
    double *x; /* (count, N) */
    double *s; /* (count, K); NULL when K = 0 */
} rows;

static antler_status rows_read(const antler_series *series, size_t trajectory, rows *r)
{
    const size_t count = antler_series_length(series, trajectory), N = series->dim, K = series->input_dim;
    *r = (rows){.count = count, .N = N, .K = K, .x = malloc((count * (N + K) + 1) * sizeof *r->x)};
    if (r->x == NULL)
        return ant_fail_memory(count * (N + K) * sizeof *r->x, "a trajectory");
    r->s = K == 0 ? NULL : r->x + count * N;
    return antler_series_read_f64(series, trajectory, 0, count, r->x, r->s);
}

static bool row_is_complete(const rows *r, size_t t)
{
    bool complete = true;
    for (size_t n = 0; n < r->N; n++)
        complete = complete && !isnan(r->x[t * r->N + n]);
    for (size_t k = 0; k < r->K; k++)
        complete = complete && !isnan(r->s[t * r->K + k]);
    return complete;
}

static antler_status add_stretches(const rows *r, const char *origin, size_t least, antler_series *to,
                                   size_t *longest)
{
    for (size_t first = 0, last; first < r->count; first = last + 1) {
        for (last = first; last < r->count && row_is_complete(r, last);)
            last++;
        *longest = last - first > *longest ? last - first : *longest;
        if (last == first || last - first < least)
            continue;
        ANT_TRY(antler_series_append(to, last - first, r->x + first * r->N,
                                     r->K == 0 ? NULL : r->s + first * r->K));
        ANT_TRY(ant_series_set_origin(to, origin));
    }
    return ANTLER_OK;
}

antler_status ant_series_cut(const antler_series *series, size_t least, antler_series **cut, size_t *longest)
{
    antler_status status = ant_series_like(series, cut);
    *longest = 0;
    for (size_t i = 0; i < series->count && status == ANTLER_OK; i++) {
        rows r;
        status = rows_read(series, i, &r);
        if (status == ANTLER_OK)
            status = add_stretches(&r, antler_series_origin(series, i), least, *cut, longest);
        free(r.x);
    }
    if (status != ANTLER_OK) {
        antler_series_free(*cut);
        *cut = NULL;
    }
    return status;
}

/* Fill gaps of at most `longest` rows in one column; returns the number of values.  x: `stride` apart */
static size_t fill_column(double *x, size_t count, size_t stride, size_t longest)
{
    size_t filled = 0, before = SIZE_MAX; /* the last row that has a value */
    for (size_t t = 0; t < count; t++) {
        if (isnan(x[t * stride]))
            continue;
        const size_t gap = before == SIZE_MAX ? 0 : t - before - 1;
        const double from = gap > 0 ? x[before * stride] : 0.0, to = x[t * stride];
        for (size_t k = 1; k <= gap && gap <= longest; k++) {
            const double part = (double)k / (double)(gap + 1);
            x[(before + k) * stride] = (1.0 - part) * from + part * to;
            filled++;
        }
        before = t;
    }
    return filled;
}

antler_status ant_series_interpolate(const antler_series *series, size_t longest, antler_series **copy,
                                     size_t *filled)
{
    antler_status status = ant_series_like(series, copy);
    *filled = 0;
    for (size_t i = 0; i < series->count && status == ANTLER_OK; i++) {
        rows r;
        status = rows_read(series, i, &r);
        for (size_t n = 0; n < r.N && status == ANTLER_OK; n++)
            *filled += fill_column(r.x + n, r.count, r.N, longest);
        for (size_t k = 0; k < r.K && status == ANTLER_OK; k++)
            fill_column(r.s + k, r.count, r.K, longest);
        if (status == ANTLER_OK)
            status = antler_series_append(*copy, r.count, r.x, r.s);
        if (status == ANTLER_OK)
            status = ant_series_set_origin(*copy, antler_series_origin(series, i));
        free(r.x);
    }
    if (status != ANTLER_OK) {
        antler_series_free(*copy);
        *copy = NULL;
    }
    return status;
}
