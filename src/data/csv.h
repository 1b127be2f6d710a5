/*
 * csv.h - tables of numbers in text: comma, semicolon, tab or white space between the fields.
 *
 * Comments begin with #, and may hold facts, one per line.  Files that Antler writes have them in a file
 * beside them instead (sidecar.h).
 *     # antler: dt=0.01
 *     # antler: mean=1.5,2.5        of the variables, as many as there are
 *     # antler: scale=0.1,0.2
 *     # antler: inputs=1            the last column is an input
 *     # antler: header=yes          the first line is a header although it looks like numbers
 *     # antler: time=first          the first column is the time axis, and no variable
 *
 * An empty cell, NA and the like are missing values and read as NaN.  A line of words below the header holds
 * units and is skipped.  Where the delimiter is no comma, or in quotes, 1,5 is a number with a decimal comma.
 */
#ifndef ANT_DATA_CSV_H
#define ANT_DATA_CSV_H

#include "data/table.h"

/* Read a whole table. */
antler_status ant_csv_read(ant_source *source, const antler_load_opts *opts, const char *origin,
                           ant_table *table);

typedef struct ant_csv_facts {
    char delimiter; /* ' ' stands for white space */
    size_t rows, fields;
} ant_csv_facts;

/* Count rows and fields; numbers are not parsed. */
antler_status ant_csv_inspect(ant_source *source, const antler_load_opts *opts, ant_csv_facts *facts);

#endif
