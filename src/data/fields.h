/* fields.h - one line of a table of text: finding the delimiter, splitting, and what a field is. */
#ifndef ANT_DATA_FIELDS_H
#define ANT_DATA_FIELDS_H

#include "base/status.h"

/* text .. end-1, without the blanks around it and without its quotes */
typedef struct ant_field {
    const char *text, *end;
    bool quoted;
} ant_field;

/* ';', tab, ',' or '|' when the line has one outside quotes, in this order; else ' ' for white space. */
char ant_field_delimiter(const char *line, const char *end);

/* The end of the line without a comment that begins with # outside quotes; #N/A and its like are none. */
const char *ant_field_without_comment(const char *line, const char *end);

/* Past the blanks at p; a tab is not a blank where it is the delimiter. */
const char *ant_field_skip_blanks(const char *p, const char *end, char delimiter);

/* Split off the field at p.  Returns the start of the next, NULL after the last. */
const char *ant_field_split(const char *p, const char *end, char delimiter, ant_field *field);

/* If a value that ends at p is followed by a delimiter or the line's end: true, and *next as above. */
bool ant_field_ends(const char *p, const char *end, char delimiter, const char **next);

size_t ant_field_count(const char *line, const char *end, char delimiter);

typedef enum ant_field_kind {
    ANT_FIELD_NUMBER,        /* also nan and inf */
    ANT_FIELD_TOO_LARGE,     /* 1e400 */
    ANT_FIELD_MISSING,       /* empty, NA, null, #N/A, ... */
    ANT_FIELD_DECIMAL_COMMA, /* 1,5 */
    ANT_FIELD_THOUSANDS,     /* 1.234,5 or 1,234,567 or 1'234 */
    ANT_FIELD_WORD,
} ant_field_kind;

/* *value is set for a number, with a decimal comma too. */
ant_field_kind ant_field_read(ant_field field, double *value);

/* Whether a number with one comma could also be one with a thousands mark: 1,234 but not 0,123 or 1,25. */
bool ant_field_comma_is_ambiguous(ant_field field);

/* A copy with "" undone to ", freed by the caller; NULL when there is no memory. */
char *ant_field_copy(ant_field field);

#endif
