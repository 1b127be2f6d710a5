/*
 * table.h - the result of a reader: one part with the names, dt and scaling that its file gave.
 *
 * Readers fill tables.  ant_table_place finds missing values, subjects and the time axis, and ant_table_join
 * puts what results into a series, checking that it fits together.
 */
#ifndef ANT_DATA_TABLE_H
#define ANT_DATA_TABLE_H

#include "data/columns.h"
#include "data/date.h"
#include "data/notes.h"
#include "data/npy.h"
#include "data/series.h"

/* What a file declares about its columns besides their values.  Column i of the file is entry i. */
typedef struct ant_labels {
    char **names; /* (count) owned, entries may be NULL; NULL: unnamed */
    size_t count;
    size_t own_inputs;    /* number of last columns that the file declares as inputs */
    double *mean, *scale; /* (count - own_inputs) owned; NULL: none */
    double dt;            /* 0: unknown */
} ant_labels;

void ant_labels_clear(ant_labels *labels);

typedef struct ant_table {
    ant_part part;
    size_t dim, input_dim;
    size_t width;      /* columns of `part`: variables, inputs, and then those for time and subject alone */
    ant_labels labels; /* of the chosen columns: variables, then inputs */

    /* The column that may be the time axis. */
    size_t time; /* its place among the columns, or ANT_NO_COLUMN */
    ant_time_claim claim;
    double *stamps;                /* the times, where they are no column; (rows) owned; NULL: none */
    bool dates;                    /* its values are microseconds since 1970 */
    ant_date_style style;          /* of its dates */
    char *time_name;               /* owned; NULL: unnamed */
    char time_unit[ANT_UNIT_ROOM]; /* from its name or from a row of units */

    /* The column of subjects. */
    size_t subject;  /* its place among the columns, or ANT_NO_COLUMN */
    char **subjects; /* (subject_count) names by the values of the column; owned; NULL: the values are the
                        names */
    size_t subject_count;

    bool one_of_many;      /* a subject after the first, whose time axis has been noted */
    antler_time_axis axis; /* once time has been found */
    ant_notes notes;
} ant_table;

void ant_table_clear(ant_table *table);

/*
 * Point a table's columns into one or two arrays, which it owns from now on, also on failure.
 * x: rank 1 to 3; inputs: likewise, with as many trajectories and rows, or values = NULL.
 * labels describes the columns of x, then of inputs; its count is theirs, or 0 when it does not
 * describe them.  Without an array of inputs, the last own_inputs columns of x are inputs.  origin is copied.
 */
antler_status ant_table_from_arrays(ant_array *x, ant_array *inputs, const ant_labels *labels,
                                    const antler_load_opts *opts, const char *origin, ant_table *table);

/*
 * A table of doubles whose columns were chosen while they were read.  values: (rows, choice->width), taken
 * over with the labels, also on failure.
 */
antler_status ant_table_from_rows(double *values, size_t rows, const ant_choice *choice, ant_labels *labels,
                                  const char *origin, ant_table *table);

/* Replace the values of the table by a row-major copy in double. */
antler_status ant_table_to_doubles(ant_table *table);

/* Replace them by these.  values: (rows, table->width), taken over. */
void ant_table_set_rows(ant_table *table, double *values, size_t rows);

/* Remove a column.  Its label goes, too, when it is a variable. */
void ant_table_drop(ant_table *table, size_t column);

/* How many columns an array has when read with or without --transpose. */
size_t ant_array_columns(const ant_array *array, bool transpose);

/* Pick the chosen columns' labels out of a file's. */
antler_status ant_labels_choose(const ant_labels *file, const ant_choice *choice, ant_labels *chosen);

/*
 * Put a table into the set: missing values become NaN, subjects become trajectories, and the time axis is
 * found, checked and made even.  The table is cleared in any case.
 */
antler_status ant_table_place(ant_table *table, const antler_load_opts *opts, antler_series **series);

/* Find the time axis of a table of one trajectory, refuse what is out of order, and fill gaps with NaN. */
antler_status ant_table_settle_time(ant_table *table, const antler_load_opts *opts);

/*
 * Move a table into the set, which is created at the first one.  The table is cleared in any case.
 * A table that does not fit the ones before is a fault that names both origins.
 */
antler_status ant_table_join(ant_table *table, double dt_override, antler_series **series);

#endif
