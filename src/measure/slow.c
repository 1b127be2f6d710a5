/* slow.c - whether the amplitude of a series changes slowly. */
#include "measure/slow.h"

#include <math.h>
#include <stdlib.h>

/* The mean over the variables of x^2; rows with a missing value get the mean of the others.  x: (rows, N);
 * out: (rows) */
static void mean_squares(const double *x, size_t rows, size_t N, double *out)
{
    double sum = 0.0;
    size_t seen = 0;
    for (size_t t = 0; t < rows; t++) {
        out[t] = 0.0;
        for (size_t n = 0; n < N; n++)
            out[t] += x[t * N + n] * x[t * N + n] / (double)N;
        sum += isnan(out[t]) ? 0.0 : out[t];
        seen += !isnan(out[t]);
    }
    for (size_t t = 0; t < rows && seen < rows; t++)
        out[t] = isnan(out[t]) ? (seen == 0 ? 0.0 : sum / (double)seen) : out[t];
}

/* Means of x over `width` rows, one for every `step` rows.  x: (rows); out: (rows).  Returns how many. */
static size_t smooth(const double *x, size_t rows, size_t width, size_t step, double *out)
{
    double sum = 0.0;
    size_t count = 0;
    for (size_t t = 0; t < rows; t++) {
        sum += x[t] - (t >= width ? x[t - width] : 0.0);
        if (t + 1 >= width && (t + 1 - width) % step == 0)
            out[count++] = sum / (double)width;
    }
    return count;
}

/* Subtract the mean.  Returns the variance. */
static double centre(double *x, size_t count)
{
    double mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        x[i] -= mean;
        variance += x[i] * x[i] / (double)count;
    }
    return variance;
}

/* The first lag at which the autocorrelation is below 1/e, at most half of `count`.  x: (count), mean 0 */
static size_t decay_lag(const double *x, size_t count, double variance)
{
    size_t lag = 0;
    double product = INFINITY;
    while (product > exp(-1.0) * variance && ++lag < count / 2) {
        product = 0.0;
        for (size_t i = lag; i < count; i++)
            product += x[i] * x[i - lag] / (double)(count - lag);
    }
    return lag;
}

antler_status ant_slow_scale(const double *x, size_t rows, size_t N, size_t width, double *slow)
{
    const double widths = 2.0, least_share = 0.3;
    const size_t step = width / 10 > 0 ? width / 10 : 1;
    *slow = 0.0;
    if (rows < 10 * width)
        return ANTLER_OK;
    double *squares = malloc(2 * rows * sizeof *squares), *means = squares + rows; // (2, rows)
    if (squares == NULL)
        return ant_fail_memory(2 * rows * sizeof *squares, "mean squares");
    mean_squares(x, rows, N, squares);
    const size_t count = smooth(squares, rows, width, step, means);
    const double variance = centre(means, count), all = centre(squares, rows);
    const double found = (double)(step * decay_lag(means, count, variance));
    free(squares);
    if (variance > least_share * all && found > widths * (double)width)
        *slow = found;
    return ANTLER_OK;
}
