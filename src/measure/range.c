/* range.c - whether free runs stay where the data are: their reach beyond the range, their spread (spec 8).
 */
#include "measure/range.h"

#include <math.h>
#include <stdlib.h>

antler_status ant_range_create(const antler_series *truth, ant_range *range)
{
    const size_t N = antler_series_dim(truth);
    range->N = N;
    range->middle = malloc(2 * N * sizeof *range->middle);
    if (range->middle == NULL)
        return ant_fail_memory(2 * N * sizeof *range->middle, "the ranges of the variables");
    range->half = range->middle + N;
    for (size_t j = 0; j < N; j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(truth, j, &stats));
        range->half[j] = 0.5 * stats.max - 0.5 * stats.min;
        range->middle[j] = stats.min + range->half[j];
    }
    return ANTLER_OK;
}

void ant_range_free(ant_range *range)
{
    free(range->middle);
    *range = (ant_range){0};
}

size_t ant_range_leave(const ant_range *range, const double *x, size_t rows, double factor, double *reach,
                       size_t *variable)
{
    size_t first = 0;
    for (size_t i = 0; i < rows * range->N; i++) {
        const size_t j = i % range->N;
        const double own = range->half[j] > 0.0 ? fabs(x[i] - range->middle[j]) / range->half[j] : 0.0;
        if (own > *reach) {
            *reach = own;
            *variable = j;
        }
        if (first == 0 && factor > 0.0 && own > factor)
            first = i / range->N + 1;
    }
    return first;
}

/* Sums of (x - mean)^2 of each variable, with the mean of these rows.  x: (rows, N); squares: (N) */
static void add_variances(const double *x, size_t rows, size_t N, double *squares)
{
    for (size_t j = 0; j < N; j++) {
        double sum = 0.0, own = 0.0;
        size_t seen = 0;
        for (size_t t = 0; t < rows; t++) {
            sum += isnan(x[t * N + j]) ? 0.0 : x[t * N + j];
            seen += !isnan(x[t * N + j]);
        }
        const double mean = sum / (double)seen;
        for (size_t t = 0; t < rows; t++)
            own += isnan(x[t * N + j]) ? 0.0 : (x[t * N + j] - mean) * (x[t * N + j] - mean);
        if (seen > 0) /* as if the values that are missing were like the others */
            squares[j] += seen == rows ? own : own * ((double)rows / (double)seen);
    }
}

/* Variances within trajectories, without the first `skip` of `of` equal parts of each.  variance: (N) */
static antler_status within(const antler_series *series, size_t skip, size_t of, double *variance)
{
    const size_t N = antler_series_dim(series);
    size_t total = 0;
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i), first = length / of * skip,
                     rows = length - first;
        double *x = malloc(rows * N * sizeof *x); // (rows, N)
        if (x == NULL)
            return ant_fail_memory(rows * N * sizeof *x, "the spread");
        const antler_status status = antler_series_read_f64(series, i, first, rows, x, NULL);
        if (status == ANTLER_OK)
            add_variances(x, rows, N, variance);
        free(x);
        ANT_TRY(status);
        total += rows;
    }
    for (size_t j = 0; j < N; j++)
        variance[j] /= (double)total;
    return ANTLER_OK;
}

antler_status ant_spread(const antler_series *truth, const antler_series *generated, double *spread)
{
    const size_t N = antler_series_dim(truth);
    double *variance = calloc(2 * N, sizeof *variance), sum = 0.0; // (2, N)
    if (variance == NULL)
        return ant_fail_memory(2 * N * sizeof *variance, "the spread");
    antler_status status = within(truth, 0, 1, variance);
    if (status == ANTLER_OK)
        status = within(generated, 1, 2, variance + N);
    for (size_t j = 0; j < N; j++)
        sum += variance[j] > 0.0 ? fmin(variance[N + j] / variance[j], 1.0) : 1.0;
    *spread = sqrt(sum / (double)N);
    free(variance);
    return status;
}
