/* look_scales.c - time scales, noise level, effective dimension and neighbours of an excerpt. */
#include "fit/look.h"

#include "measure/noise.h"
#include "measure/projection.h"

#include <math.h>
#include <stdlib.h>

void ant_autocorrelation(const ant_excerpt *e, size_t lags, double *out)
{
    for (size_t lag = 0; lag < lags; lag++) {
        double sum = 0.0;
        const double *now = e->x, *later = e->x + lag * e->dim;
        for (size_t i = 0; i < (e->rows - lag) * e->dim; i++)
            sum += now[i] * later[i];
        out[lag] = sum / ((double)(e->rows - lag) * (double)e->dim);
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

antler_status ant_noise_level(const ant_excerpt *e, double *noise)
{
    const size_t N = e->dim;
    *noise = 0.0;
    if (e->rows < 8)
        return ANTLER_OK;
    double *each = malloc(N * sizeof *each);
    if (each == NULL)
        return ant_fail_memory(N * sizeof *each, "noise levels");
    for (size_t n = 0; n < N; n++)
        each[n] = ant_noise_bound(e->x + n, e->rows, N, 3);
    qsort(each, N, sizeof *each, by_value);
    *noise = each[N / 2];
    free(each);
    return ANTLER_OK;
}

antler_status ant_effective_dimension(const ant_excerpt *e, size_t *dimension)
{
    double *values = malloc(e->dim * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(e->dim * sizeof *values, "the weights of principal components");
    const antler_status status = ant_components(e->x, e->rows, e->dim, 1 + e->dim / 64, values, NULL);
    if (status == ANTLER_OK)
        *dimension = ant_components_count(values, e->dim);
    free(values);
    return status;
}

/* ---- neighbours -------------------------------------------------------------------------------------- */

enum { QUERIES = 500, REFERENCES = 4000 };

/* Squared distance of the delay vectors of rows a and b. */
static double distance(const ant_excerpt *e, size_t a, size_t b, size_t delays, size_t delay)
{
    double sum = 0.0;
    for (size_t k = 0; k <= delays; k++) {
        const double *x = e->x + (a - k * delay) * e->dim, *y = e->x + (b - k * delay) * e->dim;
        for (size_t n = 0; n < e->dim; n++)
            sum += (x[n] - y[n]) * (x[n] - y[n]);
    }
    return sum;
}

/* The neighbour of `row` among every `stride`-th row, at least `apart` rows away; SIZE_MAX: there is none. */
static size_t nearest(const ant_excerpt *e, size_t row, size_t delays, size_t delay, size_t horizon,
                      size_t stride, size_t apart)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t t = delays * delay; t + horizon < e->rows; t += stride) {
        if ((t > row ? t - row : row - t) < apart)
            continue;
        const double d = distance(e, row, t, delays, delay);
        if (d < least) {
            least = d;
            best = t;
        }
    }
    return best;
}

antler_status ant_neighbour_error(const ant_excerpt *e, size_t delays, size_t delay, size_t horizon,
                                  double *error)
{
    const size_t first = delays * delay, N = e->dim;
    const size_t apart = 2 * (delay + horizon); /* so that a neighbour in time is no neighbour in space */
    *error = NAN;
    if (e->rows < first + horizon + 4 * apart + 50)
        return ANTLER_OK;
    const size_t usable = e->rows - first - horizon;
    const size_t step = usable / QUERIES + 1, stride = usable / REFERENCES + 1;
    double sum = 0.0;
    size_t count = 0;
    for (size_t t = first; t + horizon < e->rows; t += step) {
        const size_t other = nearest(e, t, delays, delay, horizon, stride, apart);
        if (other == SIZE_MAX)
            continue;
        for (size_t n = 0; n < N; n++)
            sum += pow(e->x[(t + horizon) * N + n] - e->x[(other + horizon) * N + n], 2.0);
        count += N;
    }
    if (count > 0)
        *error = sqrt(sum / (double)count);
    return ANTLER_OK;
}
