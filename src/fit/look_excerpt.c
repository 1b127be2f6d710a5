/* look_excerpt.c - the rows that a look at the data uses. */
#include "fit/look.h"

#include "data/missing.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    ROWS_MOST = 20000, /* enough for time scales; more would only take longer */
    ROWS_ENOUGH = 500  /* of a stretch without missing values; where there is none, gaps are interpolated */
};

static void standardise(ant_excerpt *e)
{
    for (size_t n = 0; n < e->dim; n++) {
        double mean = 0.0, square = 0.0;
        for (size_t t = 0; t < e->rows; t++)
            mean += e->x[t * e->dim + n] / (double)e->rows;
        for (size_t t = 0; t < e->rows; t++)
            square += pow(e->x[t * e->dim + n] - mean, 2.0) / (double)e->rows;
        const double divisor = square > 0.0 ? sqrt(square) : 1.0;
        for (size_t t = 0; t < e->rows; t++)
            e->x[t * e->dim + n] = (e->x[t * e->dim + n] - mean) / divisor;
    }
}

static antler_status take(const antler_series *series, ant_excerpt *excerpt)
{
    const size_t longest = ant_series_longest(series);
    const size_t length = antler_series_length(series, longest);
    ant_excerpt e = {.rows = length < ROWS_MOST ? length : ROWS_MOST, .dim = antler_series_dim(series)};
    e.x = malloc(e.rows * e.dim * sizeof *e.x);
    if (e.x == NULL)
        return ant_fail_memory(e.rows * e.dim * sizeof *e.x, "an excerpt of the data");
    const antler_status status = antler_series_read_f64(series, longest, 0, e.rows, e.x, NULL);
    if (status != ANTLER_OK) {
        free(e.x);
        return status;
    }
    standardise(&e);
    *excerpt = e;
    return ANTLER_OK;
}

/* Stretches of a series with missing values that have none. */
static antler_status without_gaps(const antler_series *series, antler_series **complete)
{
    antler_series *filled = NULL;
    size_t count = 0, longest = 0;
    ANT_TRY(ant_series_cut(series, ROWS_ENOUGH, complete, &longest));
    if (longest >= ROWS_ENOUGH)
        return ANTLER_OK;
    antler_series_free(*complete);
    *complete = NULL;
    ANT_TRY(ant_series_interpolate(series, SIZE_MAX, &filled, &count));
    const antler_status status =
        ant_series_cut(filled, 2, complete, &longest); /* gaps at the ends are left */
    antler_series_free(filled);
    return status;
}

antler_status ant_excerpt_take(const antler_series *series, ant_excerpt *excerpt)
{
    antler_series *complete = NULL;
    size_t missing = 0, values = 0;
    ANT_TRY(ant_series_missing(series, &missing, &values));
    if (missing == 0)
        return take(series, excerpt);
    antler_status status = without_gaps(series, &complete);
    if (status == ANTLER_OK && antler_series_count(complete) == 0)
        status = ant_fail(ANTLER_ERROR_DATA, "every row lacks a value: too much is missing");
    if (status == ANTLER_OK)
        status = take(complete, excerpt);
    antler_series_free(complete);
    return status;
}

void ant_excerpt_free(ant_excerpt *excerpt)
{
    free(excerpt->x);
    excerpt->x = NULL;
}
