/*
 * date_order.h - whether the days or the months come first in a column of dates such as 03/04/2024.
 *
 * A part above 12 is a day, and then all rows have theirs in its place.  Where no row has one, dots mean that
 * the day is first, and other marks leave the column in doubt, which is a fault.  Until a row decides, dates
 * are read with the day first; those rows are mended at the end.
 */
#ifndef ANT_DATA_DATE_ORDER_H
#define ANT_DATA_DATE_ORDER_H

#include "data/date.h"
#include "data/excerpt.h"
#include "data/fields.h"

typedef struct ant_date_column {
    ant_date_order order; /* of the rows so far; EITHER: none has decided */
    bool dots;
    double *exchange; /* (open) owned: what makes of each row before the deciding one the other reading */
    size_t open, room;
    uint64_t line;                /* of the row that decided, or of the first in doubt */
    char shown[ANT_EXCERPT_ROOM]; /* its date */
} ant_date_column;

/* The date of a row, as ant_date_read found it, becomes what the column makes of it.  row, column: from 0;
 * number: of the line */
antler_status ant_date_column_take(ant_date_column *dates, size_t row, size_t column, ant_field field,
                                   uint64_t number, const ant_date_style *style, double *microseconds);

/* All rows are read: mend the first ones.  stamps: of each row, `stride` apart */
antler_status ant_date_column_settle(ant_date_column *dates, size_t column, double *stamps, size_t stride);

void ant_date_column_clear(ant_date_column *dates);

#endif
