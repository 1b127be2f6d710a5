/* projection.c - principal components of many channels, and series projected onto them. */
#include "measure/projection.h"

#include "data/series.h"
#include "model/eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 9, MOST = 512 }; /* variables of a series that is projected */

struct ant_projection {
    size_t N, P;
    double *mean, *sd; /* (N) */
    double *basis;     /* (P, N) */
};

/* Whether a row and the next lack nothing.  x: (2, N) */
static bool pair_is_complete(const double *x, size_t N)
{
    bool complete = true;
    for (size_t i = 0; i < 2 * N; i++)
        complete = complete && !isnan(x[i]);
    return complete;
}

/* c: (N, N), its lower half; pairs with a missing value do not count */
static void neighbour_covariance(const double *x, size_t rows, size_t N, size_t step, double *c)
{
    const size_t all = rows < 2 ? 0 : (rows - 2) / step + 1;
    size_t pairs = 0;
    memset(c, 0, N * N * sizeof *c);
    for (size_t t = 0; t < all; t++)
        pairs += pair_is_complete(x + t * step * N, N);
    for (size_t t = 0; t < all; t++) {
        const double *now = x + t * step * N, *next = now + N;
        if (!pair_is_complete(now, N))
            continue;
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j <= i; j++)
                c[i * N + j] += 0.5 * (now[i] * next[j] + next[i] * now[j]) / (double)pairs;
        }
    }
}

antler_status ant_components(const double *x, size_t rows, size_t N, size_t step, double *values,
                             double *vectors)
{
    const size_t count = vectors != NULL ? N : N + N * N;
    double *work = malloc(count * sizeof *work);
    if (work == NULL)
        return ant_fail_memory(count * sizeof *work, "a covariance matrix");
    double *c = vectors != NULL ? vectors : work + N;
    neighbour_covariance(x, rows, N, step, c);
    const antler_status status = ant_eigen_symmetric(N, c, values, work);
    free(work);
    return status;
}

size_t ant_components_count(const double *values, size_t N)
{
    size_t count = 0;
    for (size_t i = 0; i < N; i++)
        count += values[i] > 0.005 * (double)N ? 1 : 0;
    return count > 0 ? count : 1;
}

/* x -> (x - mean) / sd; a constant variable becomes 0.  x: (rows, N) */
static void standardise(const ant_projection *p, double *x, size_t rows)
{
    for (size_t i = 0; i < rows * p->N; i++) {
        const size_t n = i % p->N;
        x[i] = p->sd[n] > 0.0 ? (x[i] - p->mean[n]) / p->sd[n] : 0.0;
    }
}

/* The basis from the longest trajectory.  x: (rows, N), read and standardised here; vectors: (N, N) */
static antler_status find_basis(ant_projection *p, const antler_series *series, double *x, size_t rows,
                                double *values, double *vectors)
{
    const size_t N = p->N;
    for (size_t n = 0; n < N; n++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(series, n, &stats));
        p->mean[n] = stats.mean;
        p->sd[n] = stats.sd;
    }
    ANT_TRY(antler_series_read_f64(series, ant_series_longest(series), 0, rows, x, NULL));
    standardise(p, x, rows);
    ANT_TRY(ant_components(x, rows, N, 1 + N / 64, values, vectors));
    p->P = ant_components_count(values, N);
    for (size_t i = 0; i < p->P; i++) { /* the largest first */
        for (size_t n = 0; n < N; n++)
            p->basis[i * N + n] = vectors[(N - 1 - i) * N + n];
    }
    return ANTLER_OK;
}

antler_status ant_projection_create(const antler_series *series, ant_projection **projection)
{
    const size_t N = antler_series_dim(series);
    const size_t rows = antler_series_length(series, ant_series_longest(series));
    *projection = NULL;
    if (N < FEWEST || N > MOST || rows <= N)
        return ANTLER_OK;
    ant_projection *p = calloc(1, sizeof *p);
    double *x = malloc((rows * N + N + N * N) * sizeof *x); // (rows, N), values (N), vectors (N, N)
    double *kept = malloc((2 * N + N * N) * sizeof *kept);
    antler_status status = ANTLER_OK;
    if (p == NULL || x == NULL || kept == NULL) {
        free(kept);
        status = ant_fail_memory((rows * N + N * N) * sizeof *x, "principal components");
    } else {
        *p = (ant_projection){.N = N, .mean = kept, .sd = kept + N, .basis = kept + 2 * N};
        status = find_basis(p, series, x, rows, x + rows * N, x + rows * N + N);
    }
    free(x);
    if (status == ANTLER_OK)
        *projection = p;
    else if (p != NULL)
        ant_projection_free(p);
    return status;
}

void ant_projection_free(ant_projection *projection)
{
    if (projection == NULL)
        return;
    free(projection->mean);
    free(projection);
}

/* y = basis (x - mean) / sd.  x: (rows, N), changed; y: (rows, P) */
static void project(const ant_projection *p, double *x, size_t rows, double *y)
{
    standardise(p, x, rows);
    for (size_t t = 0; t < rows; t++) {
        for (size_t i = 0; i < p->P; i++) {
            double sum = 0.0;
            for (size_t n = 0; n < p->N; n++)
                sum += p->basis[i * p->N + n] * x[t * p->N + n];
            y[t * p->P + i] = sum;
        }
    }
}

antler_status ant_projection_apply(const ant_projection *projection, const antler_series *series,
                                   antler_series **projected)
{
    const size_t N = antler_series_dim(series), P = projection == NULL ? 0 : projection->P;
    *projected = NULL;
    ANT_TRY(antler_series_create(P > 0 ? P : N, 0, projected));
    for (size_t i = 0; i < antler_series_count(series); i++) {
        const size_t rows = antler_series_length(series, i);
        double *x = malloc(rows * (N + P) * sizeof *x); // (rows, N), then (rows, P)
        if (x == NULL)
            return ant_fail_memory(rows * (N + P) * sizeof *x, "principal components");
        antler_status status = antler_series_read_f64(series, i, 0, rows, x, NULL);
        if (status == ANTLER_OK && P > 0)
            project(projection, x, rows, x + rows * N);
        if (status == ANTLER_OK)
            status = antler_series_append(*projected, rows, P > 0 ? x + rows * N : x, NULL);
        free(x);
        ANT_TRY(status);
    }
    return ANTLER_OK;
}
