/* noise.c - white measurement noise: its level on smooth signals, and the same level for a free run. */
#include "measure/noise.h"

#include "base/random.h"
#include "data/series.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROWS = 20000 }; /* of the truth that its level of noise is taken from */

static const double SAME_LEVEL = 0.8; /* of fourth differences, by that of third ones: 1 for white noise */
static const double MOST_OF_SPREAD = 0.2; /* a higher level may be the signal itself */

double ant_noise_bound(const double *x, size_t rows, size_t stride, int order)
{
    static const double third[] = {1.0, -3.0, 3.0, -1.0}, fourth[] = {1.0, -4.0, 6.0, -4.0, 1.0};
    const double *weights = order == 3 ? third : fourth, variance = order == 3 ? 20.0 : 70.0;
    const size_t k = (size_t)order;
    double square = 0.0;
    size_t count = 0;
    for (size_t t = k; t < rows && rows >= 8; t++) {
        double difference = 0.0;
        for (size_t i = 0; i <= k; i++)
            difference += weights[i] * x[(t - i) * stride];
        if (isnan(difference))
            continue;
        square += difference * difference;
        count++;
    }
    return count == 0 ? 0.0 : sqrt(square / variance / (double)count);
}

/* Standard deviation of the values that are not missing.  x: (rows), `stride` numbers apart */
static double deviation_of(const double *x, size_t rows, size_t stride)
{
    double mean = 0.0, square = 0.0, seen = 0.0;
    for (size_t t = 0; t < rows; t++) {
        const double step = x[t * stride] - mean;
        if (isnan(step))
            continue;
        seen += 1.0;
        mean += step / seen;
        square += step * (x[t * stride] - mean);
    }
    return seen == 0.0 ? 0.0 : sqrt(square / seen);
}

double ant_noise_seen(const double *x, size_t rows, size_t stride)
{
    const double level = ant_noise_bound(x, rows, stride, 3);
    const bool white = ant_noise_bound(x, rows, stride, 4) >= SAME_LEVEL * level;
    return white && level <= MOST_OF_SPREAD * deviation_of(x, rows, stride) ? level : 0.0;
}

/* levels: (N); returns whether there is one above 0 */
static antler_status find_levels(const antler_series *truth, double *levels, bool *any)
{
    const size_t N = antler_series_dim(truth), trajectory = ant_series_longest(truth);
    const size_t length = antler_series_length(truth, trajectory),
                 rows = length < MOST_ROWS ? length : MOST_ROWS;
    double *x = malloc(rows * N * sizeof *x); // (rows, N)
    if (x == NULL)
        return ant_fail_memory(rows * N * sizeof *x, "rows of the true orbit");
    const antler_status status = antler_series_read_f64(truth, trajectory, 0, rows, x, NULL);
    *any = false;
    for (size_t n = 0; n < N && status == ANTLER_OK; n++) {
        levels[n] = ant_noise_seen(x + n, rows, N);
        *any = *any || levels[n] > 0.0;
    }
    free(x);
    return status;
}

/* levels: (N) */
static antler_status append_noisy(const antler_series *from, size_t trajectory, const double *levels,
                                  antler_series *to)
{
    const size_t N = antler_series_dim(from), rows = antler_series_length(from, trajectory);
    double *x = malloc(2 * rows * N * sizeof *x); // (rows, N), then the noise (rows, N)
    if (x == NULL)
        return ant_fail_memory(2 * rows * N * sizeof *x, "a free run with noise");
    ant_stream stream = ant_stream_open(1, (uint32_t)trajectory & 0xffffff, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    double *noise = x + rows * N;
    ant_stream_normals(&stream, noise, rows * N);
    antler_status status = antler_series_read_f64(from, trajectory, 0, rows, x, NULL);
    for (size_t i = 0; i < rows * N && status == ANTLER_OK; i++)
        x[i] += levels[i % N] * noise[i];
    if (status == ANTLER_OK)
        status = antler_series_append(to, rows, x, NULL);
    free(x);
    return status;
}

antler_status ant_noise_match(const antler_series *truth, const antler_series *generated,
                              antler_series **noisy)
{
    const size_t N = antler_series_dim(truth);
    double *levels = malloc(N * sizeof *levels); // (N)
    bool any = false;
    *noisy = NULL;
    if (levels == NULL)
        return ant_fail_memory(N * sizeof *levels, "levels of noise");
    antler_status status = find_levels(truth, levels, &any);
    if (status == ANTLER_OK && any)
        status = antler_series_create(N, 0, noisy);
    for (size_t i = 0; i < antler_series_count(generated) && status == ANTLER_OK && any; i++)
        status = append_noisy(generated, i, levels, *noisy);
    free(levels);
    if (status == ANTLER_OK)
        return ANTLER_OK;
    antler_series_free(*noisy);
    *noisy = NULL;
    return status;
}
