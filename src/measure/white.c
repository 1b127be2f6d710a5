/* white.c - white noise: neither correlations nor nearest neighbours predict the next row. */
#include "measure/white.h"

#include <math.h>
#include <stdlib.h>

enum {
    FEWEST_ROWS = 100,
    MOST_ROWS = 20000,       /* that are looked at */
    PAIR_LAGS = 20,          /* of correlations of two variables */
    OWN_LAGS = 500,          /* of a variable with itself, and at most a quarter of the rows */
    MOST_PRODUCTS = 1 << 28, /* where there are many variables, fewer lags, rows and neighbours */
    NEIGHBOURS = 20,
    QUERIES = 1000,
    REFERENCES = 4000,
    FEWEST_QUERIES = 50,
    FEWEST_REFERENCES = 200,
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

/*
 * The correlation of x_{t+lag} and y_t in units of its standard deviation, which is taken from the products
 * and from the variances, whichever is larger: of rare events the former is too small where no two of them
 * are `lag` apart, and the latter where some are.  x, y: (rows), N apart
 */
static double correlation(const double *x, const double *y, size_t rows, size_t N, size_t lag)
{
    double sum = 0.0, squares = 0.0, pairs = 0.0;
    for (size_t t = 0; t + lag < rows; t++) {
        const double product = x[(t + lag) * N] * y[t * N];
        if (isnan(product))
            continue;
        sum += product;
        squares += product * product;
        pairs += 1.0;
    }
    return squares == 0.0 ? 0.0 : sum / sqrt(fmax(squares, pairs));
}

/* How many lags are affordable. */
static size_t lags_of(double products, size_t most)
{
    const double affordable = MOST_PRODUCTS / products;
    return affordable < (double)most ? (size_t)affordable : most;
}

/* Limits are as if all pairs had all lags. */
static bool is_correlated(const double *x, size_t rows, size_t N)
{
    static const double inverse_squares = 1.645; /* the sum of 1 / lag^2: short lags are more likely */
    const size_t affordable = MOST_PRODUCTS / (N * N), shared = rows < affordable ? rows : affordable;
    const size_t own = lags_of((double)N * (double)rows, OWN_LAGS < rows / 4 ? OWN_LAGS : rows / 4),
                 pair = shared < FEWEST_ROWS ? 0 : lags_of((double)(N * N) * (double)shared, PAIR_LAGS);
    for (size_t lag = 1; lag <= own || lag <= pair; lag++) {
        const double limit = largest_by_chance((double)(N * N * lag * lag) * inverse_squares);
        for (size_t i = 0; i < N; i++)
            for (size_t j = lag <= pair ? 0 : i; j <= (lag <= pair ? N - 1 : i); j++)
                if (fabs(correlation(x + i, x + j, i == j ? rows : shared, N, lag)) > limit)
                    return true;
    }
    return false;
}

/* The nearest rows so far, in the order of their distance. */
typedef struct nearest {
    size_t count, row[NEIGHBOURS];
    double distance[NEIGHBOURS];
} nearest;

/* It is nearer than the last of them, or these are not yet all. */
static void take_near(nearest *n, size_t row, double distance)
{
    size_t at = n->count < NEIGHBOURS ? n->count++ : NEIGHBOURS - 1;
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

static bool is_complete(const double *row, size_t N)
{
    for (size_t n = 0; n < N; n++)
        if (isnan(row[n]))
            return false;
    return true;
}

/* Delay vectors near that of a row, each with a complete row after it.  count: how many are looked at */
static nearest find_nearest(const double *x, size_t rows, size_t N, size_t delays, size_t query, size_t count)
{
    const size_t places = rows - delays;
    nearest found = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const size_t row = delays - 1 + i * places / count;
        const double distance = distance_of(x + row * N, x + query * N, N, delays);
        const bool near = found.count < NEIGHBOURS || distance < found.distance[NEIGHBOURS - 1];
        if (row != query && near && !isnan(distance) && is_complete(x + (row + 1) * N, N))
            take_near(&found, row, distance);
    }
    return found;
}

/* What the forecasts of a variable sum up to. */
typedef struct forecasts {
    double errors, spread, count; /* squared errors of the means of what followed, and of the mean of all */
} forecasts;

/* all: (N) */
static void add_errors(const double *x, size_t N, const nearest *near, size_t query, forecasts *all)
{
    for (size_t n = 0; n < N; n++) {
        double mean = 0.0;
        for (size_t i = 0; i < near->count; i++)
            mean += x[(near->row[i] + 1) * N + n] / (double)near->count;
        const double value = x[(query + 1) * N + n];
        if (isnan(value))
            continue;
        all[n].errors += (value - mean) * (value - mean);
        all[n].spread += value * value;
        all[n].count += 1.0;
    }
}

/*
 * Whether nearest neighbours forecast a variable better than its mean does, or there are too few forecasts to
 * say.  Of white noise their error is larger by 1/20; of 1,000 queries that is five standard deviations below
 * a gain.  all: (N)
 */
static bool is_forecast(const double *x, size_t rows, size_t N, size_t delays, forecasts *all)
{
    const double product = (double)(N * delays) * QUERIES * REFERENCES;
    const double share = product > MOST_PRODUCTS ? sqrt(MOST_PRODUCTS / product) : 1.0;
    const size_t places = rows - delays, most = (size_t)fmax(share * QUERIES, FEWEST_QUERIES),
                 wide = (size_t)fmax(share * REFERENCES, FEWEST_REFERENCES),
                 queries = places < most ? places : most, references = places < wide ? places : wide;
    for (size_t n = 0; n < N; n++)
        all[n] = (forecasts){0};
    for (size_t i = 0; i < queries; i++) {
        const size_t query = delays - 1 + i * places / queries;
        const nearest near = find_nearest(x, rows, N, delays, query, references);
        if (near.count == NEIGHBOURS)
            add_errors(x, N, &near, query, all);
    }
    const double tests = largest_by_chance((double)(N * DELAYS));
    for (size_t n = 0; n < N; n++) {
        const double chance = 2.0 / sqrt(NEIGHBOURS * all[n].count) * tests;
        if (all[n].count < FEWEST_QUERIES ||
            all[n].errors < all[n].spread * (1.0 + 1.0 / NEIGHBOURS - chance))
            return true;
    }
    return false;
}

antler_status ant_rows_are_white(const double *x, size_t rows, size_t N, bool *white)
{
    const size_t looked_at = rows < MOST_ROWS ? rows : MOST_ROWS;
    *white = false;
    if (rows < FEWEST_ROWS || is_correlated(x, looked_at, N))
        return ANTLER_OK;
    forecasts *all = malloc(N * sizeof *all);
    if (all == NULL)
        return ant_fail_memory(N * sizeof *all, "errors of forecasts");
    *white = true;
    for (size_t delays = 1; delays <= DELAYS && *white; delays++)
        if (delays == 1 || N * delays <= MOST_COMPONENTS)
            *white = !is_forecast(x, looked_at, N, delays, all);
    free(all);
    return ANTLER_OK;
}
