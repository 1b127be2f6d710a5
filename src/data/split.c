/* split.c - the first and the last rows of every trajectory, as two sets that share the values. */
#include "data/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t ant_series_longest(const antler_series *series)
{
    size_t longest = 0;
    for (size_t i = 1; i < antler_series_count(series); i++)
        longest = antler_series_length(series, i) > antler_series_length(series, longest) ? i : longest;
    return longest;
}

size_t ant_series_last_rows(size_t length, double share)
{
    return (size_t)floor(share * (double)length + 1e-9); /* a product such as 0.29 * 100 is just below 29 */
}

/* A set of the same columns and time axis without a trajectory. */
static antler_status like(const antler_series *series, antler_series **made)
{
    ANT_TRY(ant_series_like(series, made));
    (*made)->time = series->time;
    (*made)->style = series->style;
    return ANTLER_OK;
}

/* Append `rows` rows of a part from row `first` on, which stay where they are. */
static antler_status add_rows(antler_series *to, const ant_part *part, size_t first, size_t rows)
{
    const size_t width = to->dim + to->input_dim;
    ant_part view = {.count = part->count,
                     .length = rows,
                     .start = ant_part_time(to, part, first),
                     .month_day = part->month_day};
    if (rows == 0)
        return ANTLER_OK;
    view.columns = malloc(width * sizeof *view.columns);
    view.origin = strdup(part->origin);
    if (view.columns == NULL || view.origin == NULL) {
        ant_part_free(&view);
        return ant_fail_memory(width * sizeof *view.columns, "a trajectory");
    }
    for (size_t v = 0; v < width; v++) {
        view.columns[v] = part->columns[v];
        view.columns[v].first += (ptrdiff_t)first * part->columns[v].row_step;
    }
    return ant_series_add_part(to, view);
}

antler_status ant_series_long(const antler_series *series, size_t rows, antler_series **made)
{
    antler_status status = like(series, made);
    for (size_t p = 0; p < series->part_count && status == ANTLER_OK; p++)
        if (series->parts[p].length >= rows)
            status = add_rows(*made, &series->parts[p], 0, series->parts[p].length);
    if (status != ANTLER_OK) {
        antler_series_free(*made);
        *made = NULL;
    }
    return status;
}

void ant_series_keep(antler_series *series, double share, bool last)
{
    size_t kept = 0;
    series->count = series->total_length = 0;
    for (size_t p = 0; p < series->part_count; p++) {
        ant_part *part = &series->parts[p];
        const size_t held = ant_series_last_rows(part->length, share), first = last ? part->length - held : 0;
        part->length = last ? held : part->length - held;
        if (part->length == 0) {
            ant_part_free(part);
            continue;
        }
        for (size_t v = 0; v < series->dim + series->input_dim; v++)
            part->columns[v].first += (ptrdiff_t)first * part->columns[v].row_step;
        part->start = ant_part_time(series, part, first);
        part->first = series->count;
        series->count += part->count;
        series->total_length += part->count * part->length;
        series->parts[kept++] = *part;
    }
    series->part_count = kept;
}

antler_status ant_series_split(const antler_series *series, double share, antler_series **first,
                               antler_series **last)
{
    *first = *last = NULL;
    antler_status status = like(series, first);
    if (status == ANTLER_OK)
        status = like(series, last);
    for (size_t p = 0; p < series->part_count && status == ANTLER_OK; p++) {
        const ant_part *part = &series->parts[p];
        const size_t held = ant_series_last_rows(part->length, share);
        status = add_rows(*first, part, 0, part->length - held);
        if (status == ANTLER_OK)
            status = add_rows(*last, part, part->length - held, held);
    }
    if (status != ANTLER_OK) {
        antler_series_free(*first);
        antler_series_free(*last);
        *first = *last = NULL;
    }
    return status;
}
