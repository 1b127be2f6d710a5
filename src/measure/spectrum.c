/* spectrum.c - smoothed power spectra and their Hellinger distance (spec 8). */
#include "measure/spectrum.h"

#include "measure/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With a wider Gaussian every spectrum is flat. */
static const double widest_smoothing = 1e5;

antler_status ant_spectrum_check_smoothing(double sigma)
{
    ANT_CHECK(sigma >= 0.0 && sigma <= widest_smoothing, ANTLER_ERROR_ARGUMENT,
              "the smoothing width is %g: give a number of frequency bins from 0 to %g", sigma,
              widest_smoothing);
    return ANTLER_OK;
}

/* Whether all values are the same.  x: (length) numbers, `stride` apart. */
static bool is_constant(const double *x, size_t length, size_t stride)
{
    for (size_t t = 1; t < length; t++) {
        if (x[t * stride] != x[0])
            return false;
    }
    return true;
}

/*
 * Subtract the mean and divide by the standard deviation with 1/(T-1).  A power of two first brings the
 * largest value near 1, which changes no digit and keeps the squares of huge or tiny values finite.
 * x: (length) numbers, `stride` apart, not all equal; out: (length).
 */
static antler_status standardise(const double *x, size_t length, size_t stride, double *out)
{
    double largest = 0.0, sum = 0.0, squares = 0.0;
    for (size_t t = 0; t < length; t++) {
        ANT_CHECK(isfinite(x[t * stride]), ANTLER_ERROR_DATA,
                  "row %zu is %g: a power spectrum needs finite values", t + 1, x[t * stride]);
        largest = fmax(largest, fabs(x[t * stride]));
    }
    const double unit = scalbn(1.0, largest < 0x1p-1000 ? 1000 : -ilogb(largest));
    for (size_t t = 0; t < length; t++) {
        out[t] = unit * x[t * stride];
        sum += out[t];
    }
    const double mean = sum / (double)length;
    for (size_t t = 0; t < length; t++) {
        out[t] -= mean;
        squares += out[t] * out[t];
    }
    const double sd = sqrt(squares / (double)(length - 1));
    for (size_t t = 0; t < length; t++)
        out[t] /= sd;
    return ANTLER_OK;
}

/*
 * The Gaussian from -reach to reach, normalised.  The reflected spectrum has period 2 count, so what
 * lies beyond one period is folded into it: reach is at most `count` however wide the Gaussian is.
 * weights: (2 reach + 1)
 */
static void gaussian_weights(double sigma, long radius, long count, long reach, double *weights)
{
    double sum = 0.0;
    memset(weights, 0, (size_t)(2 * reach + 1) * sizeof *weights);
    for (long j = -radius; j <= radius; j++) {
        const double weight = exp(-0.5 * (double)j / sigma * (double)j / sigma);
        const long folded =
            radius < count ? j : ((j + count) % (2 * count) + 2 * count) % (2 * count) - count;
        weights[folded + reach] += weight;
        sum += weight;
    }
    for (long j = 0; j <= 2 * reach; j++)
        weights[j] /= sum;
}

/* Smooth in place; beyond its ends the spectrum is mirrored, the edge value repeated: b a | a b c | c b. */
static antler_status smooth(double *spectrum, size_t count, double sigma)
{
    const long n = (long)count, radius = (long)(4.0 * sigma + 0.5);
    const long reach = radius < n ? radius : n;
    if (radius == 0)
        return ANTLER_OK;
    const size_t extended_count = (size_t)(n + 2 * reach), weight_count = (size_t)(2 * reach + 1);
    double *weights = malloc((weight_count + extended_count) * sizeof *weights);
    if (weights == NULL)
        return ant_fail_memory((weight_count + extended_count) * sizeof *weights, "a smoothed spectrum");
    double *extended = weights + weight_count; // (reach + count + reach)
    gaussian_weights(sigma, radius, n, reach, weights);
    for (long i = -reach; i < n + reach; i++) {
        const long mirrored = i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
        extended[i + reach] = spectrum[mirrored];
    }
    memset(spectrum, 0, count * sizeof *spectrum);
    for (size_t j = 0; j < weight_count; j++) {
        for (size_t i = 0; i < count; i++)
            spectrum[i] += weights[j] * extended[i + j];
    }
    free(weights);
    return ANTLER_OK;
}

/* |rfft(x)|^2.  x: (length); power: (length/2 + 1) */
static antler_status raw_power(const double *x, size_t length, double *power)
{
    const size_t count = length / 2 + 1;
    ant_rfft *plan = NULL;
    ant_complex *transform = malloc(count * sizeof *transform);
    if (transform == NULL)
        return ant_fail_memory(count * sizeof *transform, "a power spectrum");
    antler_status status = ant_rfft_create(length, &plan);
    if (status == ANTLER_OK) {
        ant_rfft_forward(plan, x, transform);
        for (size_t k = 0; k < count; k++)
            power[k] = transform[k].re * transform[k].re + transform[k].im * transform[k].im;
    }
    ant_rfft_free(plan);
    free(transform);
    return status;
}

antler_status antler_power_spectrum(const double *x, size_t length, size_t stride, double sigma,
                                    double *spectrum)
{
    ANT_NEED(x != NULL && spectrum != NULL);
    ANT_CHECK(length >= 2, ANTLER_ERROR_ARGUMENT, "a power spectrum needs at least 2 rows, there are %zu",
              length);
    ANT_CHECK(stride >= 1, ANTLER_ERROR_ARGUMENT, "the stride is 0: give 1 for numbers side by side");
    ANT_TRY(ant_spectrum_check_smoothing(sigma));
    ANT_CHECK(!is_constant(x, length, stride), ANTLER_ERROR_DATA,
              "a variable is constant and has no power spectrum: leave it out");
    const size_t count = length / 2 + 1;
    double *values = malloc(length * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(length * sizeof *values, "a power spectrum");
    antler_status status = standardise(x, length, stride, values);
    if (status == ANTLER_OK)
        status = raw_power(values, length, spectrum);
    if (status == ANTLER_OK)
        status = smooth(spectrum, count, sigma);
    free(values);
    if (status != ANTLER_OK)
        return status;
    double sum = 0.0;
    for (size_t k = 0; k < count; k++)
        sum += spectrum[k];
    for (size_t k = 0; k < count; k++)
        spectrum[k] /= sum;
    return ANTLER_OK;
}

double antler_hellinger(const double *p, const double *q, size_t count)
{
    if (p == NULL || q == NULL)
        return NAN;
    /* sqrt(1 - sum sqrt(p q)), written so that close spectra do not cancel to nothing */
    double sum = 0.0;
    for (size_t k = 0; k < count; k++) {
        const double difference = sqrt(p[k]) - sqrt(q[k]);
        sum += difference * difference;
    }
    return fmin(sqrt(0.5 * sum), 1.0);
}

antler_status ant_spectrum_distance(const double *x, const double *y, size_t length, size_t stride,
                                    double sigma, double *work, double *distance)
{
    const bool x_constant = is_constant(x, length, stride), y_constant = is_constant(y, length, stride);
    if (x_constant || y_constant) {
        *distance = x_constant && y_constant ? 0.0 : 1.0;
        return ANTLER_OK;
    }
    const size_t count = length / 2 + 1;
    ANT_TRY(antler_power_spectrum(x, length, stride, sigma, work));
    ANT_TRY(antler_power_spectrum(y, length, stride, sigma, work + count));
    *distance = antler_hellinger(work, work + count, count);
    return ANTLER_OK;
}
