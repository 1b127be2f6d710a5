/* date_order.c - a column of dates decides whether its days or its months come first. */
#include "data/date_order.h"

#include <stdlib.h>
#include <string.h>

/* Keep what would exchange day and month of this row; rows without a date have 0. */
static antler_status keep_open(ant_date_column *dates, size_t row, double exchange)
{
    if (row >= dates->room) {
        const size_t room = row < 512 ? 1024 : 2 * row;
        double *grown = realloc(dates->exchange, room * sizeof *grown);
        if (grown == NULL)
            return ant_fail_memory(room * sizeof *grown, "the dates");
        dates->exchange = grown;
        dates->room = room;
    }
    while (dates->open < row)
        dates->exchange[dates->open++] = 0.0;
    dates->exchange[dates->open++] = exchange;
    return ANTLER_OK;
}

static const char *name_of(ant_date_order order)
{
    return order == ANT_DATE_DAY_FIRST ? "day" : "month";
}

antler_status ant_date_column_take(ant_date_column *dates, size_t row, size_t column, ant_field field,
                                   uint64_t number, const ant_date_style *style, double *microseconds)
{
    char shown[ANT_EXCERPT_ROOM];
    const ant_date_order order = style->order;
    if (order == ANT_DATE_PLAIN)
        return ANTLER_OK;
    const bool decides =
        order != ANT_DATE_EITHER && (dates->order == ANT_DATE_PLAIN || dates->order == ANT_DATE_EITHER);
    ant_excerpt(field.text, (size_t)(field.end - field.text), shown);
    if (decides || dates->order == ANT_DATE_PLAIN) {
        dates->order = order;
        dates->dots = style->dots;
        dates->line = number;
        memcpy(dates->shown, shown, sizeof shown);
    }
    ANT_CHECK(order == ANT_DATE_EITHER || order == dates->order, ANTLER_ERROR_FORMAT,
              "line %llu, column %zu ('%s') has the %s first, but line %llu ('%s') the %s; write dates as "
              "2024-03-31 or 2024-03-31 14:30:05",
              (unsigned long long)number, column + 1, shown, name_of(order), (unsigned long long)dates->line,
              dates->shown, name_of(dates->order));
    if (dates->order == ANT_DATE_EITHER)
        return keep_open(dates, row, style->exchange);
    if (order == ANT_DATE_EITHER && dates->order == ANT_DATE_MONTH_FIRST)
        *microseconds += style->exchange;
    return ANTLER_OK;
}

antler_status ant_date_column_settle(ant_date_column *dates, size_t column, double *stamps, size_t stride)
{
    ANT_CHECK(
        dates->order != ANT_DATE_EITHER || dates->dots, ANTLER_ERROR_FORMAT,
        "column %zu has dates such as '%s' (line %llu), and no row shows whether the day or the month is "
        "first; write dates as 2024-03-31 or 2024-03-31 14:30:05",
        column + 1, dates->shown, (unsigned long long)dates->line);
    for (size_t i = 0; dates->order == ANT_DATE_MONTH_FIRST && i < dates->open; i++)
        stamps[i * stride] += dates->exchange[i];
    return ANTLER_OK;
}

void ant_date_column_clear(ant_date_column *dates)
{
    free(dates->exchange);
    *dates = (ant_date_column){0};
}
