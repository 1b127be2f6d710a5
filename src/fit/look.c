/* look.c - antler_look_at: what the data say about the model that they need. */
#include "fit/look.h"

#include "base/sized.h"
#include "data/missing.h"
#include "measure/slow.h"
#include "measure/white.h"

#include <math.h>
#include <stdlib.h>

enum { LAGS_MOST = 2000 };

/* Delays are "much better" below this ratio of errors, and an error near the noise level says nothing. */
static const double HELP = 0.6, ABOVE_NOISE = 2.0;

/* The decay and the period of the autocorrelation.  c: (lags) */
static void read_scales(const double *c, size_t lags, antler_look *look)
{
    size_t decay = 1, zero = 0;
    while (decay < lags && c[decay] > exp(-1.0))
        decay++;
    look->decay = (double)decay;
    for (zero = decay; zero < lags && c[zero] > 0.0; zero++)
        ;
    for (size_t i = zero + 1; i + 1 < lags; i++) {
        if (c[i] > 0.1 && c[i] >= c[i - 1] && c[i] > c[i + 1]) {
            look->period = (double)i;
            return;
        }
    }
}

static antler_status find_scales(const ant_excerpt *e, antler_look *look)
{
    const size_t lags = e->rows / 3 < LAGS_MOST ? e->rows / 3 : LAGS_MOST;
    if (lags < 2) {
        look->decay = 1.0;
        return ANTLER_OK;
    }
    double *c = malloc(lags * sizeof *c);
    if (c == NULL)
        return ant_fail_memory(lags * sizeof *c, "an autocorrelation");
    ant_autocorrelation(e, lags, c);
    read_scales(c, lags, look);
    free(c);
    return ANTLER_OK;
}

static antler_status find_hidden(const ant_excerpt *e, antler_look *look)
{
    const size_t horizon = look->delay;
    ANT_TRY(ant_neighbour_error(e, 0, look->delay, horizon, &look->error));
    ANT_TRY(ant_neighbour_error(e, 2, look->delay, horizon, &look->error_delays));
    look->hidden = look->error_delays < HELP * look->error && look->error > ABOVE_NOISE * look->noise;
    return ANTLER_OK;
}

static antler_status look_closely(const ant_excerpt *e, antler_look *look)
{
    ANT_TRY(find_scales(e, look));
    look->delay = (size_t)fmax(1.0, floor(0.5 * look->decay));
    ANT_TRY(ant_slow_scale(e->x, e->rows, e->dim, 10 * (size_t)look->decay, &look->slow));
    ANT_TRY(ant_noise_level(e, &look->noise));
    ANT_TRY(ant_effective_dimension(e, &look->dimension));
    bool white = false;
    if (look->decay <= 1.0 && look->input_dim == 0)
        ANT_TRY(ant_rows_are_white(e->x, e->rows, e->dim, &white));
    look->white = white;
    return find_hidden(e, look);
}

static int longer_first(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x < y) - (x > y);
}

/* A few short recordings among long ones must not make all windows short. */
static antler_status find_usual(const antler_series *series, size_t *usual)
{
    const size_t count = antler_series_count(series), rows = antler_series_total_length(series);
    size_t *lengths = malloc(count * sizeof *lengths), seen = 0;
    if (lengths == NULL)
        return ant_fail_memory(count * sizeof *lengths, "the lengths of trajectories");
    for (size_t i = 0; i < count; i++)
        lengths[i] = antler_series_length(series, i);
    qsort(lengths, count, sizeof *lengths, longer_first);
    for (size_t i = 0; i < count && 10 * seen < 9 * rows; i++)
        seen += *usual = lengths[i];
    free(lengths);
    return ANTLER_OK;
}

antler_status(antler_look_at)(const antler_series *series, antler_look *look, size_t struct_size)
{
    ANT_NEED(series != NULL && look != NULL);
    ANT_RESULT(antler_look, look, struct_size, antler_look_at(series, &whole), (void)0);
    ant_excerpt excerpt;
    antler_look found = {.struct_size = sizeof found,
                         .trajectories = antler_series_count(series),
                         .rows = antler_series_total_length(series),
                         .dim = antler_series_dim(series),
                         .input_dim = antler_series_input_dim(series),
                         .dt = antler_series_dt(series)};
    ANT_TRY(ant_series_check_gaps(series, 2, true));
    ANT_TRY(ant_series_check_squares(series));
    ANT_TRY(find_usual(series, &found.usual));
    ANT_TRY(ant_excerpt_take(series, &excerpt));
    const antler_status status = look_closely(&excerpt, &found);
    ant_excerpt_free(&excerpt);
    if (status == ANTLER_OK)
        *look = found;
    return status;
}
