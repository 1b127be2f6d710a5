/* look_excerpt.c - the rows that a look at the data uses. */
#include "fit/look.h"

#include "data/series.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MOST = 20000 }; /* enough for time scales; more would only take longer */

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

antler_status ant_excerpt_take(const antler_series *series, ant_excerpt *excerpt)
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

void ant_excerpt_free(ant_excerpt *excerpt)
{
    free(excerpt->x);
    excerpt->x = NULL;
}
