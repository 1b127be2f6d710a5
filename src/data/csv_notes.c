/* csv_notes.c - what the names and dates of a table of text say besides its values. */
#include "data/csv_notes.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* The last column is left from a delimiter at the end of every line: no name, no value. */
void ant_csv_drop_empty_end(ant_table *table)
{
    const size_t last = table->dim - 1;
    const bool named = table->labels.names != NULL && table->labels.names[last] != NULL;
    if (table->dim < 2 || named || table->time == last)
        return;
    for (size_t row = 0; row < table->part.length; row++) {
        double value;
        ant_column_read_f64(&table->part.columns[last], 0, row, 1, &value, 1);
        if (!isnan(value))
            return;
    }
    ant_table_drop(table, last);
}

/* Whether a column has this name in any case. */
static bool has_name(const ant_labels *labels, const char *name)
{
    for (size_t k = 0; k < labels->count; k++)
        if (labels->names[k] != NULL && strcasecmp(labels->names[k], name) == 0)
            return true;
    return false;
}

/* Columns of one name, and dates that are spread over columns. */
antler_status ant_csv_note_names(const ant_labels *labels, bool dates, ant_table *table)
{
    enum { MOST = 512 };
    char *const *names = labels->names;
    for (size_t k = 1; names != NULL && k < labels->count && k < MOST; k++)
        for (size_t before = 0; before < k; before++) {
            if (names[k] == NULL || names[before] == NULL || strcmp(names[k], names[before]) != 0)
                continue;
            ANT_TRY(ant_notes_add(
                &table->notes, "%s: columns %zu and %zu are both called '%s'; --columns takes their numbers",
                table->part.origin, before + 1, k + 1, names[k]));
            k = MOST; /* one note is enough */
            break;
        }
    if (names == NULL || dates || !has_name(labels, "year") ||
        (!has_name(labels, "month") && !has_name(labels, "doy")))
        return ANTLER_OK;
    return ant_notes_add(
        &table->notes,
        "%s: its columns of years, months and days are variables; make one column of dates such "
        "as 2024-03-31 of them, or leave them out with --columns",
        table->part.origin);
}

/* Which of day and month comes first, where countries differ. */
antler_status ant_csv_note_order(const ant_date_column *dates, ant_table *table)
{
    const bool by_custom = dates->dots && dates->order != ANT_DATE_MONTH_FIRST;
    if (dates->order == ANT_DATE_PLAIN || by_custom)
        return ANTLER_OK;
    return ant_notes_add(&table->notes, "%s: dates have the %s first, as line %llu shows ('%s')",
                         table->part.origin, dates->order == ANT_DATE_DAY_FIRST ? "day" : "month",
                         (unsigned long long)dates->line, dates->shown);
}
