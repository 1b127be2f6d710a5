/*
 * csv_words.h - columns of a table that hold words and no number, such as states and annotations.
 *
 * A word below numbers is a fault at once.  A word in a column that has had no number yet begins a column of
 * words: its cells are missing values until the end of the table, where the column is left out with a note,
 * or refused when numbers follow.
 */
#ifndef ANT_DATA_CSV_WORDS_H
#define ANT_DATA_CSV_WORDS_H

#include "data/excerpt.h"
#include "data/fields.h"
#include "data/table.h"

/* The first word of a column. */
typedef struct ant_csv_word {
    uint64_t line; /* 0: it has none */
    char shown[ANT_EXCERPT_ROOM];
} ant_csv_word;

typedef struct ant_csv_words {
    ant_csv_word *first; /* (fields) owned; NULL: no column has a word */
    size_t truths;       /* cells with True or False */
    size_t truth_column; /* of the first of them */
} ant_csv_words;

/* True and False, in any case, are 1 and 0. */
bool ant_csv_truth(ant_field field, double *value);

/* Whether a name tells trajectories apart: subject, station, ...: words below it must not be lost. */
bool ant_csv_names_subjects(const char *name);

antler_status ant_csv_words_begin(ant_csv_words *words, size_t fields, size_t column, ant_field field,
                                  uint64_t line);

/*
 * Leave out the variables that hold words or nothing, with notes; a column of words with a number is refused.
 * labels: of the file; columns: (table->dim) the field of each variable.
 */
antler_status ant_csv_words_settle(const ant_csv_words *words, const ant_labels *labels,
                                   const size_t *columns, ant_table *table);

void ant_csv_words_clear(ant_csv_words *words);

#endif
