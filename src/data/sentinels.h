/*
 * sentinels.h - numbers that stand for a missing value, and values that look like it.
 *
 * A missing value is NaN in a series.  Readers put NaN where a cell is empty; numbers such as -9999 are
 * made NaN here when the options name them.
 */
#ifndef ANT_DATA_SENTINELS_H
#define ANT_DATA_SENTINELS_H

#include "data/table.h"

/* Whether the text of a cell is one of the words in a list "-9999,NA,none". */
bool ant_sentinels_has_word(const char *list, const char *text, size_t length);

/* Make NaN of those values of the table that equal a number of the list; NULL: none. */
antler_status ant_sentinels_apply(const char *list, ant_table *table);

/* Notes on each variable: how many values are missing, which number looks as if it meant that, and where the
   value does not change for a long time. */
antler_status ant_sentinels_notes(const antler_series *series, ant_notes *notes);

#endif
