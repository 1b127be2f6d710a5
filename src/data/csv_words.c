/* csv_words.c - columns of words or of nothing are left out, with notes. */
#include "data/csv_words.h"
#include "data/encoding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ant_csv_truth(ant_field field, double *value)
{
    static const char *const words[] = {"false", "true"};
    const size_t length = (size_t)(field.end - field.text);
    for (size_t i = 0; i < 2; i++) {
        if (strlen(words[i]) != length || strncasecmp(words[i], field.text, length) != 0)
            continue;
        *value = (double)i;
        return true;
    }
    return false;
}

bool ant_csv_names_subjects(const char *name)
{
    static const char *const words[] = {"subject", "subj",  "id",      "participant", "patient", "animal",
                                        "mouse",   "rat",   "session", "trial",       "run",     "station",
                                        "site",    "place", "group",   "series",      "unit",    "country",
                                        "region",  "city",  "symbol"};
    for (size_t i = 0; name != NULL && i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i]);
        if (strncasecmp(name, words[i], length) == 0 &&
            (name[length] == '\0' || strchr("_ -.", name[length]) != NULL))
            return true;
    }
    return false;
}

antler_status ant_csv_words_begin(ant_csv_words *words, size_t fields, size_t column, ant_field field,
                                  uint64_t line)
{
    if (words->first == NULL)
        words->first = calloc(fields, sizeof *words->first);
    if (words->first == NULL)
        return ant_fail_memory(fields * sizeof *words->first, "the words");
    words->first[column].line = line;
    char *text = ant_field_copy(field);
    char *decoded = text == NULL || ant_text_is_utf8(text) ? text : ant_text_from_windows(text);
    if (decoded != NULL)
        ant_excerpt(decoded, strlen(decoded), words->first[column].shown);
    if (decoded != text)
        free(decoded);
    free(text);
    return ANTLER_OK;
}

/* The first row of a column that has a value, or its length. */
static size_t first_value(const ant_table *table, size_t v)
{
    enum { TILE_ROWS = 256 };
    double tile[TILE_ROWS];
    for (size_t row = 0; row < table->part.length; row += TILE_ROWS) {
        const size_t n = table->part.length - row < TILE_ROWS ? table->part.length - row : TILE_ROWS;
        ant_column_read_f64(&table->part.columns[v], 0, row, n, tile, 1);
        for (size_t i = 0; i < n; i++)
            if (!isnan(tile[i]))
                return row + i;
    }
    return table->part.length;
}

static antler_status fail_mixed(const ant_csv_word *word, size_t column, size_t row)
{
    return ant_fail(
        ANTLER_ERROR_FORMAT,
        "not a number in line %llu, column %zu ('%s'), and there are numbers from row %zu on; correct "
        "it, name it with --missing, or leave the column out with --columns -%zu",
        (unsigned long long)word->line, column + 1, word->shown, row + 1, column + 1);
}

enum { NAMED = 4 };

/* Columns of one kind that were left out. */
typedef struct left_out {
    size_t count, columns[NAMED]; /* the first ones */
} left_out;

static void leave_out(ant_table *table, size_t v, size_t column, left_out *out)
{
    memmove(out->columns + 1, out->columns, (NAMED - 1) * sizeof *out->columns);
    out->columns[0] = column;
    out->count++;
    ant_table_drop(table, v);
}

/* "columns 6 (Status), 7 (Pump) hold" */
static const char *describe(const left_out *out, const ant_labels *labels, const char *one, const char *many,
                            char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "column%s", out->count == 1 ? "" : "s");
    for (size_t i = 0; i < out->count && i < NAMED; i++) {
        char shown[ANT_EXCERPT_ROOM];
        const char *name = labels->names == NULL ? NULL : labels->names[out->columns[i]];
        used += (size_t)snprintf(text + used, room - used, "%s %zu", i == 0 ? "" : ",", out->columns[i] + 1);
        if (name != NULL)
            used +=
                (size_t)snprintf(text + used, room - used, " (%s)", ant_excerpt(name, strlen(name), shown));
    }
    if (out->count > NAMED)
        used += (size_t)snprintf(text + used, room - used, " and %zu more", out->count - NAMED);
    snprintf(text + used, room - used, " %s", out->count == 1 ? one : many);
    return text;
}

static antler_status note(const ant_csv_words *words, const ant_labels *labels, const left_out *worded,
                          const left_out *empty, ant_table *table)
{
    char text[NAMED * ANT_EXCERPT_ROOM + 200];
    const char *origin = table->part.origin;
    const ant_csv_word *word = worded->count == 0 ? NULL : &words->first[worded->columns[0]];
    if (word != NULL)
        ANT_TRY(ant_notes_add(
            &table->notes,
            "%s: %s words, such as '%s' in line %llu, and %s left out; write numbers for them to "
            "keep them, and give --subject NAME for one that tells trajectories apart",
            origin, describe(worded, labels, "holds", "hold", text, sizeof text), word->shown,
            (unsigned long long)word->line, worded->count == 1 ? "is" : "are"));
    if (empty->count > 0)
        ANT_TRY(ant_notes_add(&table->notes, "%s: %s no value and %s left out", origin,
                              describe(empty, labels, "has", "have", text, sizeof text),
                              empty->count == 1 ? "is" : "are"));
    if (words->truths == 0)
        return ANTLER_OK;
    return ant_notes_add(&table->notes, "%s: True and False are read as 1 and 0, first in column %zu", origin,
                         words->truth_column + 1);
}

antler_status ant_csv_words_settle(const ant_csv_words *words, const ant_labels *labels,
                                   const size_t *columns, ant_table *table)
{
    left_out worded = {0}, empty = {0};
    const size_t rows = table->part.length;
    for (size_t v = table->dim; v-- > 0;) {
        const size_t column = columns[v], row = first_value(table, v);
        const bool has_words = words->first != NULL && words->first[column].line > 0;
        const bool certain = table->time == 0 && table->claim >= ANT_TIME_STRONG; /* what is left is time */
        const bool last = table->dim <= (certain ? 2 : 1);
        if (row < rows && has_words)
            return fail_mixed(&words->first[column], column, row);
        if (row < rows || (v == table->time && table->claim >= ANT_TIME_WEAK) || (last && !has_words))
            continue;
        ANT_CHECK(
            !last, ANTLER_ERROR_FORMAT,
            "column %zu holds words, such as '%s' in line %llu, and no other column is left to model; give a "
            "table of numbers",
            column + 1, words->first[column].shown, (unsigned long long)words->first[column].line);
        leave_out(table, v, column, has_words ? &worded : &empty);
    }
    if (table->dim == 1 && table->time == 0)
        table->time = ANT_NO_COLUMN; /* else nothing is left to model */
    return note(words, labels, &worded, &empty, table);
}

void ant_csv_words_clear(ant_csv_words *words)
{
    free(words->first);
    *words = (ant_csv_words){0};
}
