/*
 * table.h - the result of a reader: one part with the names, dt and scaling that its file gave.
 *
 * Readers fill tables; ant_table_join puts them into a series, checking that they fit together.
 */
#ifndef ANT_DATA_TABLE_H
#define ANT_DATA_TABLE_H

#include "data/columns.h"
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
    ant_labels labels; /* of the chosen columns: variables, then inputs */
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

/* How many columns an array has when read with or without --transpose. */
size_t ant_array_columns(const ant_array *array, bool transpose);

/* Pick the chosen columns' labels out of a file's. */
antler_status ant_labels_choose(const ant_labels *file, const ant_choice *choice, ant_labels *chosen);

/*
 * Move a table into the set, which is created at the first one.  The table is cleared in any case.
 * A table that does not fit the ones before is a fault that names both origins.
 */
antler_status ant_table_join(ant_table *table, double dt_override, antler_series **series);

#endif
