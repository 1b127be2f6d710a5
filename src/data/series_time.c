/* series_time.c - the time axis and the notes of a series set. */
#include "data/number.h"
#include "data/series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const antler_time_axis *antler_series_time(const antler_series *series)
{
    static const antler_time_axis none = {.kind = ANTLER_TIME_NONE};
    return series == NULL || series->time.kind == ANTLER_TIME_NONE ? &none : &series->time;
}

double antler_series_start(const antler_series *series, size_t trajectory)
{
    if (series == NULL || trajectory >= series->count || series->time.kind == ANTLER_TIME_NONE)
        return NAN;
    return ant_series_part(series, trajectory)->start;
}

int antler_series_month_day(const antler_series *series, size_t trajectory)
{
    const bool known = series != NULL && trajectory < series->count && series->time.months > 0;
    return known ? ant_series_part(series, trajectory)->month_day : 0;
}

double ant_part_time(const antler_series *series, const ant_part *part, size_t row)
{
    const antler_time_axis *time = &series->time;
    if (time->months == 0)
        return part->start + (double)row * time->step;
    return ant_date_add_months(part->start, &series->style, part->month_day,
                               (double)row * (double)time->months);
}

size_t ant_series_time_text(const antler_series *series, size_t trajectory, size_t row, char *text)
{
    const double time = ant_part_time(series, ant_series_part(series, trajectory), row);
    if (series->time.kind == ANTLER_TIME_DATE && isfinite(time))
        return ant_date_write(time, &series->style, text);
    /* the sum of start and steps, to the digits that it has */
    const double unit = pow(10.0, floor(log10(fabs(series->time.step))) - 9.0);
    const double rounded = isfinite(unit) && unit > 0.0 ? rint(time / unit) * unit : time;
    const int length = snprintf(text, ANT_TIME_ROOM, "%.15g", isfinite(rounded) ? rounded : time);
    return (size_t)length;
}

antler_status antler_series_time_text(const antler_series *series, size_t trajectory, size_t row, char *text,
                                      size_t bytes)
{
    char own[ANT_TIME_ROOM];
    ANT_CHECK(series != NULL && text != NULL && trajectory < series->count, ANTLER_ERROR_ARGUMENT,
              "there is no trajectory %zu whose time can be written", trajectory);
    ANT_CHECK(series->time.kind != ANTLER_TIME_NONE, ANTLER_ERROR_ARGUMENT, "the series has no time axis");
    const size_t length = ant_series_time_text(series, trajectory, row, own);
    ANT_CHECK(length < bytes, ANTLER_ERROR_ARGUMENT, "a time takes %zu characters, and there is room for %zu",
              length + 1, bytes);
    memcpy(text, own, length + 1);
    return ANTLER_OK;
}

void ant_series_continue_time(antler_series *series, const antler_series *from, size_t trajectory, size_t row)
{
    if (series->part_count == 0 || from->time.kind == ANTLER_TIME_NONE || trajectory >= from->count)
        return;
    const ant_part *part = ant_series_part(from, trajectory);
    ant_part *newest = &series->parts[series->part_count - 1];
    series->time = from->time;
    series->style = from->style;
    newest->start = ant_part_time(from, part, row);
    newest->month_day = part->month_day;
}

size_t antler_series_missing(const antler_series *series)
{
    enum { TILE_ROWS = 1024 };
    double tile[TILE_ROWS];
    size_t missing = 0;
    for (size_t p = 0; series != NULL && p < series->part_count; p++) {
        const ant_part *part = &series->parts[p];
        for (size_t k = 0; k < part->count; k++)
            for (size_t v = 0; v < series->dim; v++)
                for (size_t row = 0; row < part->length; row += TILE_ROWS) {
                    const size_t n = part->length - row < TILE_ROWS ? part->length - row : TILE_ROWS;
                    ant_column_read_f64(&part->columns[v], k, row, n, tile, 1);
                    for (size_t i = 0; i < n; i++)
                        missing += isnan(tile[i]) != 0;
                }
    }
    return missing;
}

size_t antler_series_note_count(const antler_series *series)
{
    return series == NULL ? 0 : series->notes.count;
}

const char *antler_series_note(const antler_series *series, size_t index)
{
    return series != NULL && index < series->notes.count ? series->notes.texts[index] : "";
}
