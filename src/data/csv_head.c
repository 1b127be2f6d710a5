/* csv_head.c - what the first lines of a table of text are. */
#include "data/csv_head.h"
#include "data/columns.h"
#include "data/date.h"

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

bool ant_csv_is_units(const ant_csv_line *head, char delimiter, size_t fields)
{
    size_t data = 0, words = 0, data_below = 0, words_below = 0;
    if (head[1].text == NULL || head[2].text == NULL)
        return false;
    count_kinds(&head[1], delimiter, &data, &words);
    count_kinds(&head[2], delimiter, &data_below, &words_below);
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
