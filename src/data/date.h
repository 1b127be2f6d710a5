/*
 * date.h - dates in text: ISO 8601 and its usual relatives, as microseconds since 1970-01-01 UTC.
 *
 * Read are 2024-03, 2024-03-31, 2024/03/31, 31.03.2024, 31-Mar-2024 and Mar 31, 2024, alone or followed by T
 * or a blank and 14:30, 14:30:05 or 14:30:05.250, and then by Z, +02:00, +0200 or +02.  Without a zone the
 * time is taken as UTC. Forms that two countries read differently, such as 03/04/2024, are not dates here.
 */
#ifndef ANT_DATA_DATE_H
#define ANT_DATA_DATE_H

#include "base/status.h"

/* How a date was written, so that another can be written alike. */
typedef struct ant_date_style {
    bool month;       /* without the day of the month, which is the first */
    bool clock;       /* with a time of day */
    bool blank;       /* a blank before it, not T */
    bool zone;        /* with a zone */
    int zone_minutes; /* east of UTC */
} ant_date_style;

enum { ANT_DATE_ROOM = 48 };

/* All of text .. end-1 is a date.  Microseconds are exact integers from 1685 to 2255. */
bool ant_date_read(const char *text, const char *end, double *microseconds, ant_date_style *style);

/*
 * The same of digits alone: 20240331, 202403311430 or 20240331143005, from 1800 to 2199.  They are also
 * numbers, so only a column that is known to hold times is read in this way.
 */
bool ant_date_read_digits(const char *text, const char *end, double *microseconds, ant_date_style *style);

/* A time of day, 14:30 or 14:30:05.25, in microseconds. */
bool ant_date_read_clock(const char *text, const char *end, double *microseconds);

/* Write a date; a time of day that `style` lacks is added where it is not midnight.  Returns the length. */
size_t ant_date_write(double microseconds, const ant_date_style *style, char out[ANT_DATE_ROOM]);

/*
 * Whether each date lies in a later month than the one before, all at the same time of day and on the same
 * day of the month, or on the last one.  months: (rows), counted from the year 0; month_day: that day, 31 for
 * the last.  A month that is too short for the day has it on its last.
 */
bool ant_date_months(const double *stamps, size_t rows, const ant_date_style *style, double *months,
                     int *month_day);

/* The date so many months after `start` on this day of the month, at the same time of day. */
double ant_date_add_months(double start, const ant_date_style *style, int month_day, double months);

/* Whether the text has the form of a date that is not read, such as 03/04/2024; of a clock time or a
 * duration, such as 14:30 or 1:05:30. */
bool ant_date_is_ambiguous(const char *text, const char *end);
bool ant_date_is_clock(const char *text, const char *end);

#endif
