/*
 * serial_days.h - dates as spreadsheets store them: 45000.5 is noon of 2023-03-15, counted in days since
 * 1899-12-30.
 */
#ifndef ANT_DATA_SERIAL_DAYS_H
#define ANT_DATA_SERIAL_DAYS_H

#include "data/table.h"

/*
 * Numbers in a column for time that is called a date, without a unit, become microseconds since 1970 where
 * all of them lie between 1970 and 2100 when they are such days.  They are rounded to minutes, seconds or
 * milliseconds, because spreadsheets write few digits.  A note says so.
 */
antler_status ant_serial_days_settle(ant_table *table);

/* Whether stamps (rows) lie there, too, and step by whole minutes, below a day, which is no short decimal
 * number. */
bool ant_serial_days_likely(const double *stamps, size_t rows);

#endif
