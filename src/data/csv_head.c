/* csv_head.c - what the first lines of a table of text are. */
#include "data/csv_head.h"
#include "data/columns.h"
#include "data/date.h"

#include <stdlib.h>

bool ant_csv_is_date(ant_field field)
{
    double ignored;
    ant_date_style style;
    return ant_date_read(field.text, field.end, &ignored, &style);
}

static bool looks_like_data(ant_field field)
{
    double ignored;
    const bool empty = field.text == field.end;
    return !empty && (ant_field_read(field, &ignored) != ANT_FIELD_WORD || ant_csv_is_date(field));
}

bool ant_csv_is_header(const ant_csv_line *head, char delimiter)
{
    const ant_csv_line *line = &head[0], *second = &head[1];
    size_t numeric = 0;
    ant_field field, first, below = {.text = "", .end = ""};
    const char *p = ant_field_split(line->text, line->end, delimiter, &first);
    for (numeric += looks_like_data(first); p != NULL; numeric += looks_like_data(field))
        p = ant_field_split(p, line->end, delimiter, &field);
    if (numeric == 0 || looks_like_data(first))
        return numeric == 0;
    if (second->text != NULL)
        ant_field_split(second->text, second->end, delimiter, &below);
    return looks_like_data(below);
}

/* Fields of a line that are numbers or dates, and fields that are words. */
static void count_kinds(const ant_csv_line *line, char delimiter, size_t *data, size_t *words)
{
    ant_field field;
    *data = *words = 0;
    for (const char *p = line->text; p != NULL;) {
        p = ant_field_split(p, line->end, delimiter, &field);
        const bool is_data = looks_like_data(field);
        *data += is_data;
        *words += !is_data && field.text < field.end;
    }
}

/* Numbers below the header whose columns are empty from the next line on: oscilloscopes write their time step
 * so. */
static size_t data_without_rows(const ant_csv_line *head, char delimiter)
{
    ant_field unit, below;
    size_t count = 0;
    const char *q = head[2].text;
    for (const char *p = head[1].text; p != NULL && q != NULL;
         count += looks_like_data(unit) && below.text == below.end) {
        p = ant_field_split(p, head[1].end, delimiter, &unit);
        q = ant_field_split(q, head[2].end, delimiter, &below);
    }
    return count;
}

bool ant_csv_is_units(const ant_csv_line *head, char delimiter, size_t fields)
{
    size_t data = 0, words = 0, data_below = 0, words_below = 0;
    if (head[1].text == NULL || head[2].text == NULL)
        return false;
    count_kinds(&head[1], delimiter, &data, &words);
    count_kinds(&head[2], delimiter, &data_below, &words_below);
    data -= data_without_rows(head, delimiter);
    return data == 0 && words > 0 && data_below > 0 &&
           ant_field_count(head[1].text, head[1].end, delimiter) == fields;
}

size_t ant_csv_find_date(const ant_csv_line *line, char delimiter)
{
    ant_field field;
    size_t k = 0;
    for (const char *p = line->text; p != NULL; k++) {
        p = ant_field_split(p, line->end, delimiter, &field);
        if (ant_csv_is_date(field))
            return k;
    }
    return ANT_NO_COLUMN;
}

/* A name such as |v| has a bar, too; then the line below has none. */
char ant_csv_find_delimiter(const ant_csv_line *head)
{
    const char found = ant_field_delimiter(head[0].text, head[0].end);
    return found == '|' && head[1].text != NULL && ant_field_delimiter(head[1].text, head[1].end) != '|'
               ? ' '
               : found;
}

/* ---- text above the table ---------------------------------------------------------------------------- */

static size_t fields_of(const ant_csv_line *line, char delimiter)
{
    return ant_field_count(line->text, line->end, delimiter);
}

static bool begins_with_data(const ant_csv_line *line, char delimiter)
{
    ant_field field;
    ant_field_split(line->text, line->end, delimiter, &field);
    return looks_like_data(field);
}

/* A field of the line is a name that means time, which no unit is. */
static bool names_time(const ant_csv_line *line, char delimiter)
{
    char unit[ANT_UNIT_ROOM];
    ant_field field;
    for (const char *p = line->text; p != NULL;) {
        p = ant_field_split(p, line->end, delimiter, &field);
        char *name = ant_field_copy(field);
        const bool found = name != NULL && ant_time_name(name, unit) == ANT_TIME_STRONG;
        free(name);
        if (found)
            return true;
    }
    return false;
}

/* Every field of the line is a word. */
static bool is_all_words(const ant_csv_line *line, char delimiter)
{
    size_t data, words;
    count_kinds(line, delimiter, &data, &words);
    return data == 0 && words == fields_of(line, delimiter);
}

bool ant_csv_names_columns(const ant_csv_line *comment, char delimiter, size_t fields)
{
    return fields > 1 && fields_of(comment, delimiter) == fields && is_all_words(comment, delimiter);
}

/* The lines are a table from the first one on, or what is wrong with them is not text above it. */
static bool is_plain(const ant_csv_line *head, size_t count, char delimiter)
{
    const char found = delimiter != '\0' ? delimiter : ant_csv_find_delimiter(head);
    const size_t fields = fields_of(&head[0], found);
    for (size_t i = 1; i < count; i++)
        if (fields_of(&head[i], found) != fields)
            return false;
    return begins_with_data(&head[0], found) || ant_csv_is_header(head, found);
}

size_t ant_csv_find_table(const ant_csv_line *head, char delimiter)
{
    enum { FEWEST_ROWS = 3 };
    size_t count = 0;
    while (count < ANT_CSV_HEAD && head[count].text != NULL)
        count++;
    if (count < FEWEST_ROWS + 1 || is_plain(head, count, delimiter))
        return 0;
    const ant_csv_line *last = &head[count - 1];
    const char own = delimiter != '\0' ? delimiter : ant_field_delimiter(last->text, last->end);
    const size_t fields = fields_of(last, own);
    size_t start = count;
    while (start > 0 && fields_of(&head[start - 1], own) == fields && begins_with_data(&head[start - 1], own))
        start--;
    if (count - start < FEWEST_ROWS || start == 0)
        return 0;
    size_t names = 0; /* lines of names, and of units below them */
    while (names < 2 && names < start && fields_of(&head[start - names - 1], own) == fields &&
           is_all_words(&head[start - names - 1], own) && (names == 0 || !names_time(&head[start - 1], own)))
        names++;
    if (names == 0 && fields_of(&head[start - 1], own) > 1)
        return 0; /* a header of another number of fields, perhaps */
    start -= names;
    for (size_t i = 0; i < start; i++)
        if (begins_with_data(&head[i], own) && fields_of(&head[i], own) > 1)
            return 0; /* rows with a fault, perhaps */
    return start;
}
