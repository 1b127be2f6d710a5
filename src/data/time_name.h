/*
 * time_name.h - what the name of a column says about time: whether it may be the time axis, and in which
 * unit.
 *
 * "time", "Date", "timestamp", "t [ms]", "time_s": a name that means time and nothing else is a claim that
 * is refused when the values do not fit.  Names such as "t", "year" or "index" also have other meanings; they
 * count only where the values fit.
 */
#ifndef ANT_DATA_TIME_NAME_H
#define ANT_DATA_TIME_NAME_H

#include "base/status.h"

/* Why a column may be the time axis, from the weakest reason on. */
typedef enum ant_time_claim {
    ANT_TIME_NO_CLAIM,
    ANT_TIME_FIRST,  /* it is the first column, with any name */
    ANT_TIME_WEAK,   /* its name may mean time: t, year, index */
    ANT_TIME_STRONG, /* its name means time: time, date, timestamp */
    ANT_TIME_DATES,  /* it holds dates */
    ANT_TIME_GIVEN,  /* --time names it */
} ant_time_claim;

enum { ANT_UNIT_ROOM = 16 };

/* The claim of a name, and its unit in the short form of docs/files.md ("s", "ms", "h", "d"); "" for none. */
ant_time_claim ant_time_name(const char *name, char unit[ANT_UNIT_ROOM]);

/* Whether the name speaks of dates: "Date", "DateTime (UTC)", "Datum". */
bool ant_time_name_is_date(const char *name);

/* A unit in its short form: "sec", "[s]" and "seconds" give "s"; false when it is no unit of time. */
bool ant_time_unit(const char *text, size_t length, char unit[ANT_UNIT_ROOM]);

/* Microseconds of a unit in its short form; 0 for "" and for one without a fixed length. */
double ant_time_unit_length(const char *unit);

#endif
