/* csv_notes.h - what the names and dates of a table of text say besides its values. */
#ifndef ANT_DATA_CSV_NOTES_H
#define ANT_DATA_CSV_NOTES_H

#include "data/date_order.h"
#include "data/table.h"

/* A last column that a delimiter at the end of every line leaves has no name and no value, and goes. */
void ant_csv_drop_empty_end(ant_table *table);

/* Columns of one name, and dates that are spread over columns.  labels: of the file; dates: it has a column
 * of them */
antler_status ant_csv_note_names(const ant_labels *labels, bool dates, ant_table *table);

/* Which of day and month comes first, where countries differ. */
antler_status ant_csv_note_order(const ant_date_column *dates, ant_table *table);

#endif
