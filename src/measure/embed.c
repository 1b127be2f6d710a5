/* embed.c - delay vectors, and the points of all trajectories of a set in one array. */
#include "measure/embed.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows before the first delay vector: (m-1) tau. */
static antler_status embedding_reach(size_t m, size_t tau, size_t *reach)
{
    ANT_CHECK(m >= 1, ANTLER_ERROR_ARGUMENT, "the embedding dimension is 0: give 1 for none or more");
    ANT_CHECK(tau >= 1, ANTLER_ERROR_ARGUMENT, "the embedding delay is 0: give at least one row");
    ANT_CHECK(m - 1 <= SIZE_MAX / 2 / tau, ANTLER_ERROR_ARGUMENT,
              "an embedding with m = %zu and tau = %zu reaches beyond every series", m, tau);
    *reach = (m - 1) * tau;
    return ANTLER_OK;
}

/* x: (reach + count, dim); out: (count, m dim) */
static void embed(const double *x, size_t count, size_t dim, size_t m, size_t tau, double *out)
{
    const size_t reach = (m - 1) * tau;
    for (size_t t = 0; t < count; t++) {
        for (size_t k = 0; k < m; k++)
            memcpy(out + (t * m + k) * dim, x + (t + reach - k * tau) * dim, dim * sizeof *out);
    }
}

antler_status antler_embed(const double *x, size_t length, size_t dim, size_t m, size_t tau, double *out)
{
    ANT_NEED(x != NULL && out != NULL);
    size_t reach = 0;
    ANT_TRY(embedding_reach(m, tau, &reach));
    ANT_CHECK(dim >= 1, ANTLER_ERROR_ARGUMENT, "there is no variable to embed: dim is 0");
    ANT_CHECK(length > reach, ANTLER_ERROR_ARGUMENT,
              "an embedding with m = %zu and tau = %zu needs at least %zu rows, there are %zu", m, tau,
              reach + 1, length);
    embed(x, length - reach, dim, m, tau, out);
    return ANTLER_OK;
}

/* How many delay vectors there are; the first trajectory that has none is named. */
static antler_status count_points(const antler_series *series, const char *what, size_t m, size_t tau,
                                  size_t reach, size_t *count)
{
    const size_t trajectories = antler_series_count(series);
    ANT_CHECK(trajectories >= 1, ANTLER_ERROR_DATA, "%s has no trajectory", what);
    *count = 0;
    for (size_t i = 0; i < trajectories; i++) {
        const size_t length = antler_series_length(series, i);
        ANT_CHECK(length > reach, ANTLER_ERROR_DATA,
                  "%s is too short: trajectory %zu has %zu row%s, and m = %zu, tau = %zu needs at least %zu: "
                  "give more rows or a smaller embedding",
                  what, i + 1, length, length == 1 ? "" : "s", m, tau, reach + 1);
        *count += length - reach;
    }
    return ANTLER_OK;
}

/* Move the points without a missing value to the front; returns their number.  points: (count, dim) */
static size_t keep_complete(double *points, size_t count, size_t dim)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool complete = true;
        for (size_t k = 0; k < dim; k++)
            complete = complete && !isnan(points[i * dim + k]);
        if (complete && kept < i)
            memcpy(points + kept * dim, points + i * dim, dim * sizeof *points);
        kept += complete;
    }
    return kept;
}

/* buffer: (rows of the longest trajectory, N) */
static antler_status fill_points(const antler_series *series, size_t m, size_t tau, size_t reach,
                                 double *buffer, ant_points *points)
{
    const size_t dim = antler_series_dim(series);
    double *next = points->values;
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        ANT_TRY(antler_series_read_f64(series, i, 0, length, buffer, NULL));
        embed(buffer, length - reach, dim, m, tau, next);
        next += keep_complete(next, length - reach, points->dim) * points->dim;
    }
    points->count = (size_t)(next - points->values) / points->dim;
    return ANTLER_OK;
}

antler_status ant_points_gather(const antler_series *series, const char *what, size_t m, size_t tau,
                                ant_points *points)
{
    size_t reach = 0, count = 0, longest = 0;
    ANT_TRY(embedding_reach(m, tau, &reach));
    ANT_TRY(count_points(series, what, m, tau, reach, &count));
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t length = antler_series_length(series, i);
        longest = length > longest ? length : longest;
    }
    const size_t n = antler_series_dim(series);
    ANT_CHECK(m <= SIZE_MAX / sizeof(double) / n / count, ANTLER_ERROR_MEMORY,
              "out of memory: %zu delay vectors of %zu x %zu numbers are too many", count, m, n);
    *points = (ant_points){.count = count, .dim = m * n};
    points->values = malloc(count * m * n * sizeof *points->values);
    double *buffer = malloc(longest * n * sizeof *buffer);
    antler_status status = ANTLER_OK;
    if (points->values == NULL || buffer == NULL)
        status = ant_fail_memory((count * m + longest) * n * sizeof *buffer, "the delay vectors");
    else
        status = fill_points(series, m, tau, reach, buffer, points);
    free(buffer);
    if (status == ANTLER_OK && points->count == 0)
        status =
            ant_fail(ANTLER_ERROR_DATA,
                     "%s: each of the %zu delay vectors lacks a value; interpolate, or leave variables out",
                     what, count);
    if (status != ANTLER_OK)
        ant_points_free(points);
    return status;
}

void ant_points_free(ant_points *points)
{
    free(points->values);
    *points = (ant_points){0};
}
