/*
 * columns.h - which columns of a file become variables and which become inputs.
 *
 * A choice is written as names, 1-based numbers and ranges: "x,y", "temp,3-5".  A word that is a
 * column's name always means that column, even if it looks like a number.
 */
#ifndef ANT_DATA_COLUMNS_H
#define ANT_DATA_COLUMNS_H

#include "base/status.h"

typedef struct ant_choice {
    size_t dim, input_dim;
    size_t *columns; /* (dim + input_dim): numbers of the file's columns from 0, variables first; owned */
} ant_choice;

/*
 * Resolve the options for a file with `count` columns, the last `own_inputs` of which it declares
 * as inputs.  names: (count), entries may be NULL; NULL: no names.  Unnamed columns are called x1 .. and s1
 * ..
 */
antler_status ant_choice_make(const antler_load_opts *opts, char *const *names, size_t count,
                              size_t own_inputs, ant_choice *choice);

void ant_choice_clear(ant_choice *choice);

#endif
