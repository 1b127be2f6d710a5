/*
 * date.h - dates in text: ISO 8601 and its usual relatives, as microseconds since 1970-01-01 UTC.
 *
 * Read are 2024-03, 2024-03-31, 2024/3/31, 31-Mar-2024, Mar 31, 2024, and 31.03.2024, 31/03/2024 or
 * 03/31/2024, also with dots or dashes; alone or followed by T or a blank and 14:30, 14:30:05, 14:30:05.250
 * or 2:30 PM, and then by Z, +02:00, +0200 or +02.  Without a zone the time is taken as UTC.  Countries
 * differ in what 03/04/2024 means, so each date says whether its day comes first; a column decides
 * (date_order.h).
 */
#ifndef ANT_DATA_DATE_H
#define ANT_DATA_DATE_H

#include "base/status.h"

/* What a date with its year at the end and its month as a number has in front. */
typedef enum ant_date_order {
    ANT_DATE_PLAIN, /* another form, which is read in one way */
    ANT_DATE_DAY_FIRST,
    ANT_DATE_MONTH_FIRST,
    ANT_DATE_EITHER, /* 03/04/2024: read with the day first */
} ant_date_order;

/* How a date was written, so that another can be written alike. */
typedef struct ant_date_style {
    ant_date_order order;
    bool dots;        /* 31.03.2024, where the day is first by custom */
    double exchange;  /* what makes of EITHER the date with the month first, in microseconds */
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

/* A time of day, 14:30, 14:30:05.25 or 2:30 PM, in microseconds. */
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

/* Whether the text has the form of a date whose year has two digits, 3/4/24; of a clock time or a duration,
 * such as 14:30 or 1:05:30. */
bool ant_date_is_short(const char *text, const char *end);
bool ant_date_is_clock(const char *text, const char *end);

#endif
