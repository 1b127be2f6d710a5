/* white.c - white noise: neither correlations nor nearest neighbours predict the next row. */
#include "measure/white.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST_ROWS = 100,
    MOST_ROWS = 20000,       /* that are looked at */
    LAGS = 20,               /* of correlations */
    MOST_PRODUCTS = 1 << 29, /* fewer lags where there are many variables */
    NEIGHBOURS = 20,
    QUERIES = 1000,
    REFERENCES = 4000,
    DELAYS = 3,
    MOST_COMPONENTS = 6, /* of a delay vector of more than one row */
};

/* Of white noise, one series in a thousand has a correlation that chance gives less often than this. */
static const double CHANCE = 1e-3;

/* A correlation of `pairs` pairs in units of its standard deviation, which one of `tests` exceeds by chance.
 */
static double largest_by_chance(double tests)
{
    return sqrt(2.0 * log(tests / CHANCE));
}

/* The correlation of x_{t+lag} and y_t in units of its standard deviation.  x, y: (rows), N apart */
static double correlation(const double *x, const double *y, size_t rows, size_t N, size_t lag)
{
    double sum = 0.0, squares = 0.0;
    for (size_t t = 0; t + lag < rows; t++) {
        const double product = x[(t + lag) * N] * y[t * N];
        if (isnan(product))
            continue;
        sum += product;
        squares += product * product;
    }
    return squares == 0.0 ? 0.0 : sum / sqrt(squares);
}

static bool is_correlated(const double *x, size_t rows, size_t N)
{
    const size_t affordable = MOST_PRODUCTS / (N * N * rows);
    const size_t lags = affordable < 1 ? 1 : affordable < LAGS ? affordable : LAGS;
    static const double inverse_squares = 1.645; /* the sum of 1 / lag^2: short lags are more likely */
    for (size_t lag = 1; lag <= lags; lag++) {
        const double limit = largest_by_chance((double)(N * N * lag * lag) * inverse_squares);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                if (fabs(correlation(x + i, x + j, rows, N, lag)) > limit)
                    return true;
    }
    return false;
}

/* The nearest rows so far, the farthest of them first. */
typedef struct nearest {
    size_t count, row[NEIGHBOURS];
    double distance[NEIGHBOURS];
} nearest;

static void take_near(nearest *n, size_t row, double distance)
{
    size_t at = n->count < NEIGHBOURS ? n->count++ : NEIGHBOURS;
    if (at == NEIGHBOURS && !(distance < n->distance[NEIGHBOURS - 1]))
        return;
    at = at == NEIGHBOURS ? NEIGHBOURS - 1 : at;
    for (; at > 0 && n->distance[at - 1] > distance; at--) {
        n->distance[at] = n->distance[at - 1];
        n->row[at] = n->row[at - 1];
    }
    n->distance[at] = distance;
    n->row[at] = row;
}

/* Squared distance of the delay vectors that end at two rows; NaN: a value is missing. */
static double distance_of(const double *a, const double *b, size_t N, size_t delays)
{
    double sum = 0.0;
    for (size_t i = 0; i < N * delays; i++) {
        const double step = *(a + N - 1 - i) - *(b + N - 1 - i);
        sum += step * step;
    }
    return sum;
}

static nearest find_nearest(const double *x, size_t rows, size_t N, size_t delays, size_t query)
{
    const size_t places = rows - delays, count = places < REFERENCES ? places : REFERENCES;
    nearest found = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const size_t row = delays - 1 + i * places / count;
        const double distance = distance_of(x + row * N, x + query * N, N, delays);
        if (row != query && !isnan(distance))
            take_near(&found, row, distance);
    }
    return found;
}

/* errors: (N) gains the squared error of the mean of what followed; spread: (N) what the mean of all has */
static void add_errors(const double *x, size_t N, const nearest *near, size_t query, double *errors,
                       double *spread)
{
    for (size_t n = 0; n < N; n++) {
        double mean = 0.0;
        for (size_t i = 0; i < near->count; i++)
            mean += x[(near->row[i] + 1) * N + n] / (double)near->count;
        const double value = x[(query + 1) * N + n];
        if (isnan(mean) || isnan(value))
            continue;
        errors[n] += (value - mean) * (value - mean);
        spread[n] += value * value;
    }
}

/* Whether nearest neighbours forecast a variable better than its mean does.  Of white noise their error is
 * larger by 1/20; of 1,000 queries that is five standard deviations below a gain.  sums: (2 N) */
static bool is_forecast(const double *x, size_t rows, size_t N, size_t delays, double *sums)
{
    const size_t places = rows - delays, count = places < QUERIES ? places : QUERIES;
    for (size_t n = 0; n < 2 * N; n++)
        sums[n] = 0.0;
    for (size_t i = 0; i < count; i++) {
        const size_t query = delays - 1 + i * places / count;
        const nearest near = find_nearest(x, rows, N, delays, query);
        if (near.count == NEIGHBOURS)
            add_errors(x, N, &near, query, sums, sums + N);
    }
    const double chance = 2.0 / sqrt((double)(NEIGHBOURS * count)) * largest_by_chance((double)(N * DELAYS));
    for (size_t n = 0; n < N; n++)
        if (sums[n] < sums[N + n] * (1.0 + 1.0 / NEIGHBOURS - chance))
            return true;
    return false;
}

antler_status ant_rows_are_white(const double *x, size_t rows, size_t N, bool *white)
{
    const size_t looked_at = rows < MOST_ROWS ? rows : MOST_ROWS;
    *white = false;
    if (rows < FEWEST_ROWS || is_correlated(x, looked_at, N))
        return ANTLER_OK;
    double *sums = malloc(2 * N * sizeof *sums);
    if (sums == NULL)
        return ant_fail_memory(2 * N * sizeof *sums, "errors of forecasts");
    *white = true;
    for (size_t delays = 1; delays <= DELAYS && *white; delays++)
        if (delays == 1 || N * delays <= MOST_COMPONENTS)
            *white = !is_forecast(x, looked_at, N, delays, sums);
    free(sums);
    return ANTLER_OK;
}
