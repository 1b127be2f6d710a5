/*
 * csv.h - tables of numbers in text: comma, semicolon, tab or white space between the fields.
 *
 * Comments begin with #.  Antler's own files have facts in them, one per line:
 *     # antler: dt=0.01
 *     # antler: mean=1.5,2.5        of the variables, as many as there are
 *     # antler: scale=0.1,0.2
 *     # antler: inputs=1            the last column is an input
 *     # antler: header=yes          the first line is a header although it looks like numbers
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
