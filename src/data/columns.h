/*
 * columns.h - which columns of a file become variables and which become inputs.
 *
 * A choice is written as names, 1-based numbers and ranges: "x,y", "temp,3-5".  A word that is a
 * column's name always means that column, even if it looks like a number.  With '-' in front of all words it
 * names the columns to leave out: "-status,-7".
 */
#ifndef ANT_DATA_COLUMNS_H
#define ANT_DATA_COLUMNS_H

#include "data/time_name.h"

#define ANT_NO_COLUMN SIZE_MAX

/* The columns of a file. */
typedef struct ant_file_columns {
    char *const *names; /* (count), entries may be NULL; NULL: no names.  Unnamed ones are x1 .. and s1 .. */
    size_t count;
    size_t own_inputs; /* the last ones, which the file declares as inputs */
    size_t dates;      /* the first one that holds dates, or ANT_NO_COLUMN */
    size_t clock;  /* where there are dates: one of times of day, which belong to them; or ANT_NO_COLUMN */
    bool own_time; /* the file declares its first column as the time axis */
    bool untimed;  /* none can be the time axis, unless --time names it */
} ant_file_columns;

/* Whether --columns names the variables: without it, and where it only names those to leave out, they are all
 * others. */
bool ant_columns_are_named(const antler_load_opts *opts);

typedef struct ant_choice {
    size_t dim, input_dim;
    size_t width;         /* of `columns` */
    size_t *columns;      /* numbers of the file's columns from 0: variables, inputs, and then those that are
                             neither and yet read, for time and subject; owned */
    size_t time, subject; /* their places in `columns`, or ANT_NO_COLUMN.  A variable may be a candidate for
                             the time axis */
    ant_time_claim claim; /* why `time` may be the time axis */
} ant_choice;

/* Resolve the options for a file.  A column that may be the time axis by its name or place alone is also a
   variable, unless the options leave it out; who reads the values decides. */
antler_status ant_choice_make(const antler_load_opts *opts, const ant_file_columns *file, ant_choice *choice);

void ant_choice_clear(ant_choice *choice);

#endif
