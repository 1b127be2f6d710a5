/* csv_head.h - the first lines of a table of text: header, units, or rows; and where its dates are. */
#ifndef ANT_DATA_CSV_HEAD_H
#define ANT_DATA_CSV_HEAD_H

#include "data/fields.h"

/* One of the first lines, copied because all of them are needed to tell what they are. */
typedef struct ant_csv_line {
    char *text, *end; /* owned; NULL: there are fewer lines */
    uint64_t number;
} ant_csv_line;

enum { ANT_CSV_HEAD = 64 };

/* The delimiter of a table.  head: (ANT_CSV_HEAD) */
char ant_csv_find_delimiter(const ant_csv_line *head);

/*
 * How many lines of text stand above the table.  0 unless the first lines are no table as they are: their
 * numbers of fields differ, or the first begins with a word and is no header.  Then the table ends at the
 * last line that was read, its rows begin with numbers or dates, and no line above it does.  delimiter: 0:
 * found
 */
size_t ant_csv_find_table(const ant_csv_line *head, char delimiter);

/*
 * Whether the first line is a header: it is when it has no number and no date at all.  When it has both
 * numbers and words ("time,1,2", or a row that begins with a name), the first field decides: a header's is a
 * word above a number.  head: (ANT_CSV_HEAD)
 */
bool ant_csv_is_header(const ant_csv_line *head, char delimiter);

/* Whether a comment names the columns of the table below: a word for each. */
bool ant_csv_names_columns(const ant_csv_line *comment, char delimiter, size_t fields);

/* Whether the line below the header, of `fields` fields, holds units: words, and numbers only from the next
 * line on. */
bool ant_csv_is_units(const ant_csv_line *head, char delimiter, size_t fields);

bool ant_csv_is_date(ant_field field);

/* The first field of a line that is a date, or ANT_NO_COLUMN. */
size_t ant_csv_find_date(const ant_csv_line *line, char delimiter);

#endif
