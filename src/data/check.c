/* check.c - check that data can be used.  The first fault is reported in one sentence with its remedy. */
#include "data/missing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* "train.npy" or, where there are several trajectories, "train.npz:x_001, trajectory 2". */
static void describe(const antler_series *series, size_t trajectory, char *text, size_t bytes)
{
    const char *origin = antler_series_origin(series, trajectory);
    if (series->count == 1)
        snprintf(text, bytes, "%s", *origin == '\0' ? "the series" : origin);
    else
        snprintf(text, bytes, "%s%strajectory %zu", origin, *origin == '\0' ? "" : ", ", trajectory + 1);
}

/* One of several trajectories may have fewer rows than columns. */
static antler_status check_direction(const antler_series *series)
{
    char place[1024];
    const size_t trajectory = ant_series_longest(series), rows = antler_series_length(series, trajectory);
    describe(series, trajectory, place, sizeof place);
    ANT_CHECK(series->dim <= rows, ANTLER_ERROR_DATA,
              "%s: %zu columns but only %zu row%s, so it looks transposed; if time runs along the rows, use "
              "--transpose",
              place, series->dim, rows, rows == 1 ? "" : "s");
    return ANTLER_OK;
}

static antler_status check_length(const antler_series *series, const ant_part *part, size_t min_length)
{
    char place[1024];
    describe(series, part->first, place, sizeof place);
    ANT_CHECK(part->length >= min_length, ANTLER_ERROR_DATA,
              "%s: has %zu row%s, but at least %zu are needed; give a longer series", place, part->length,
              part->length == 1 ? "" : "s", min_length);
    return ANTLER_OK;
}

/* What is not a fault. */
typedef struct allowed {
    bool gaps, input_gaps; /* missing values of variables, of inputs */
} allowed;

static antler_status check_variable(const antler_series *series, size_t v, const antler_variable_stats *stats,
                                    allowed may)
{
    char place[1024];
    const char *name = series->names[v];
    const bool is_input = v >= series->dim;
    const char *kind = is_input ? "input" : "column";
    const size_t number = is_input ? v - series->dim + 1 : v + 1;
    const bool gaps = is_input ? may.input_gaps : may.gaps;
    const size_t bad = (gaps ? 0 : stats->nan) + stats->inf;
    ANT_CHECK(!gaps || stats->inf > 0 || stats->nan == 0 || !isnan(stats->min), ANTLER_ERROR_DATA,
              "%s %zu (%s) has no value at all; leave it out with --columns", kind, number, name);
    if (bad > 0) {
        double value = 0.0;
        const ant_part *part = ant_series_part(series, stats->bad_trajectory);
        ant_column_read_f64(&part->columns[v], stats->bad_trajectory - part->first, stats->bad_row, 1, &value,
                            1);
        describe(series, stats->bad_trajectory, place, sizeof place);
        const char *remedy = !isnan(value) ? "remove or interpolate it"
                             : is_input
                                 ? "inputs have no missing values; interpolate it, or see the setting missing"
                                 : "interpolate it, or let training mask it (setting missing)";
        return ant_fail(ANTLER_ERROR_DATA,
                        "%s: value is %s in row %zu, %s %zu (%s); %zu such value%s in all in this column; %s",
                        place, isnan(value) ? "NaN" : "infinite", stats->bad_row + 1, kind, number, name, bad,
                        bad == 1 ? "" : "s", remedy);
    }
    describe(series, 0, place, sizeof place);
    ANT_CHECK(is_input || stats->min != stats->max, ANTLER_ERROR_DATA,
              "%s: column %zu (%s) is constant (%g) and carries no dynamics; leave it out with --columns",
              series->count == 1 ? place : "the series", number, name, stats->min);
    return ANTLER_OK;
}

static antler_status check(const antler_series *series, size_t min_length, allowed may)
{
    ANT_CHECK(series->count > 0, ANTLER_ERROR_DATA, "the series has no trajectory");
    ANT_TRY(check_direction(series));
    for (size_t p = 0; p < series->part_count; p++)
        ANT_TRY(check_length(series, &series->parts[p], min_length));
    const size_t width = series->dim + series->input_dim;
    antler_variable_stats *stats = calloc(width, sizeof *stats);
    if (stats == NULL)
        return ant_fail_memory(width * sizeof *stats, "statistics");
    antler_status status = ant_series_stats_range(series, 0, width, stats);
    for (size_t v = 0; v < width && status == ANTLER_OK; v++)
        status = check_variable(series, v, &stats[v], may);
    free(stats);
    return status;
}

antler_status antler_series_check(const antler_series *series, size_t min_length)
{
    ANT_CHECK(series != NULL, ANTLER_ERROR_ARGUMENT, "antler_series_check needs a series");
    return check(series, min_length, (allowed){0});
}

antler_status antler_series_check_gaps(const antler_series *series, size_t min_length)
{
    ANT_NEED(series != NULL);
    return check(series, min_length, (allowed){.gaps = true});
}

antler_status ant_series_check_gaps(const antler_series *series, size_t min_length, bool in_inputs)
{
    return check(series, min_length, (allowed){.gaps = true, .input_gaps = in_inputs});
}

static const double largest = 1e140;

/* The first value of a variable beyond that, and how many there are. */
static size_t find_large(const antler_series *series, size_t v, size_t *trajectory, size_t *row,
                         double *first)
{
    enum { TILE_ROWS = 1024 };
    double tile[TILE_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++) {
        const ant_part *part = ant_series_part(series, i);
        for (size_t at = 0; at < part->length; at += TILE_ROWS) {
            const size_t n = part->length - at < TILE_ROWS ? part->length - at : TILE_ROWS;
            ant_column_read_f64(&part->columns[v], i - part->first, at, n, tile, 1);
            for (size_t k = 0; k < n; k++) {
                if (!(fabs(tile[k]) > largest) || count++ > 0)
                    continue;
                *trajectory = i;
                *row = at + k;
                *first = tile[k];
            }
        }
    }
    return count;
}

antler_status ant_series_check_squares(const antler_series *series)
{
    char place[1024];
    for (size_t v = 0; v < series->dim; v++) {
        size_t trajectory = 0, row = 0;
        double first = 0.0;
        const size_t count = find_large(series, v, &trajectory, &row, &first);
        if (count == 0)
            continue;
        describe(series, trajectory, place, sizeof place);
        return ant_fail(
            ANTLER_ERROR_DATA,
            "%s: value is %g in row %zu, column %zu (%s), and its square is beyond double precision; %zu "
            "such value%s in all in this column; correct %s, or rescale the column",
            place, first, row + 1, v + 1, series->names[v], count, count == 1 ? "" : "s",
            count == 1 ? "it" : "them");
    }
    return ANTLER_OK;
}
