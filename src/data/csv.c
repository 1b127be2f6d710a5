/* csv.c - reading a table of text: comments, header, then row after row of numbers. */
#include "data/csv.h"
#include "data/csv_notes.h"
#include "data/csv_reader.h"
#include "data/encoding.h"
#include "data/sidecar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static antler_status copy_line(const char *text, const char *end, uint64_t number, ant_csv_line *line)
{
    const size_t length = (size_t)(end - text);
    line->text = malloc(length + 1);
    if (line->text == NULL)
        return ant_fail_memory(length, "the first lines");
    memcpy(line->text, text, length);
    line->text[length] = '\n';
    line->end = line->text + length;
    line->number = number;
    return ANTLER_OK;
}

/* Numerical programs write the names of columns as the last comment above them. */
static antler_status keep_comment(ant_csv_reader *r, const char *text, const char *end)
{
    if (r->head[0].text != NULL)
        return ANTLER_OK;
    free(r->comment.text);
    return copy_line(text, end, r->lines.number, &r->comment);
}

/* The next line that is neither blank nor a comment, without its comment; NULL at the end. */
static antler_status next_content(ant_csv_reader *r, const char **line, const char **end)
{
    size_t length = 0;
    for (;;) {
        ANT_TRY(ant_lines_next(&r->lines, line, &length));
        if (*line == NULL)
            return ANTLER_OK;
        const char *start = ant_field_skip_blanks(*line, *line + length, ',');
        *end = *line + length;
        if (start < *end && *start == '#') {
            ANT_TRY(ant_csv_comments_read(&r->comments, start, *end, r->lines.number));
            ANT_TRY(keep_comment(r, start + 1, *end));
        }
        *end = ant_field_without_comment(*line, *end);
        if (ant_field_skip_blanks(*line, *end, ',') < *end)
            return ANTLER_OK;
    }
}

/* A text that is not UTF-8 is taken as Windows-1252, in which older programs write. */
static antler_status settle_encoding(ant_csv_reader *r, char **text)
{
    if (*text == NULL || ant_text_is_utf8(*text))
        return ANTLER_OK;
    char *decoded = ant_text_from_windows(*text);
    if (decoded == NULL)
        return ant_fail_memory(3 * strlen(*text), "the names");
    free(*text);
    *text = decoded;
    r->not_utf8 = true;
    return ANTLER_OK;
}

static antler_status read_header(ant_csv_reader *r, const ant_csv_line *names)
{
    const char *line = names->text, *end = names->end;
    const uint64_t number = names->number;
    r->header_fields = r->fields;
    if (r->opts->transpose) /* the header of a transposed table names times, not variables */
        return ANTLER_OK;
    ANT_CHECK(r->fields <= ANT_SERIES_MAX_DIM, ANTLER_ERROR_DATA,
              "%zu columns are more than Antler takes (%d); if time runs along the rows, use --transpose",
              r->fields, ANT_SERIES_MAX_DIM);
    r->labels.names = calloc(r->fields, sizeof *r->labels.names);
    if (r->labels.names == NULL)
        return ant_fail_memory(r->fields * sizeof *r->labels.names, "the names");
    r->labels.count = r->fields;
    const char *p = line;
    ant_field field;
    for (size_t k = 0; p != NULL; k++) {
        p = ant_field_split(p, end, r->delimiter, &field);
        if (field.text == field.end)
            continue;
        r->labels.names[k] = ant_field_copy(field);
        if (r->labels.names[k] == NULL)
            return ant_fail_memory((size_t)(field.end - field.text), "the names");
        ANT_TRY(settle_encoding(r, &r->labels.names[k]));
        ANT_CHECK(
            ant_series_name_is_fit(r->labels.names[k]), ANTLER_ERROR_FORMAT,
            "the name of column %zu in line %llu holds control characters; rename it, or save the table "
            "as UTF-8",
            k + 1, (unsigned long long)number);
    }
    return ANTLER_OK;
}

/* The scaling of the variables, with one of the first column put before it when that is time. */
static antler_status take_scaling(ant_csv_reader *r, size_t variables)
{
    const size_t time = r->comments.time ? 1 : 0, count = variables + time;
    double *mean = calloc(count, sizeof *mean), *scale = calloc(count, sizeof *scale);
    r->labels.mean = mean;
    r->labels.scale = scale;
    if (mean == NULL || scale == NULL)
        return ant_fail_memory(2 * count * sizeof *mean, "the scaling");
    scale[0] = 1.0;
    memcpy(mean + time, r->comments.mean, variables * sizeof *mean);
    memcpy(scale + time, r->comments.scale, variables * sizeof *scale);
    return ANTLER_OK;
}

/* The facts from the comments must fit the columns. */
static antler_status take_facts(ant_csv_reader *r)
{
    const ant_csv_comments *comments = &r->comments;
    r->labels.dt = comments->dt;
    r->labels.count = r->fields;
    if (r->opts->transpose)
        return ANTLER_OK;
    const size_t others = comments->inputs + (comments->time ? 1 : 0);
    ANT_CHECK(others < r->fields, ANTLER_ERROR_FORMAT,
              "a comment says that %zu columns are inputs%s, but there are only %zu columns",
              comments->inputs, comments->time ? " and one is time" : "", r->fields);
    r->labels.own_inputs = comments->inputs;
    if (comments->mean == NULL && comments->scale == NULL)
        return ANTLER_OK;
    const size_t variables = r->fields - others;
    ANT_CHECK(comments->mean_count == variables && comments->scale_count == variables, ANTLER_ERROR_FORMAT,
              "its comments give %zu means and %zu scales, but it has %zu variables; correct or remove them",
              comments->mean_count, comments->scale_count, variables);
    return take_scaling(r, variables);
}

/* The first field of dates: by their looks or, where they are digits alone, by the name above them. */
static size_t find_dates(const ant_csv_reader *r, const ant_csv_line *data)
{
    const size_t found = ant_csv_find_date(data, r->delimiter);
    char unit[ANT_UNIT_ROOM];
    ant_field field;
    if (found != SKIP || r->labels.names == NULL)
        return found;
    const char *p = data->text;
    for (size_t k = 0; p != NULL && k < r->fields; k++) {
        double ignored;
        ant_date_style style;
        p = ant_field_split(p, data->end, r->delimiter, &field);
        if (r->labels.names[k] != NULL && ant_time_name(r->labels.names[k], unit) == ANT_TIME_STRONG &&
            ant_date_read_digits(field.text, field.end, &ignored, &style))
            return k;
    }
    return SKIP;
}

/* The first field of times of day, where the dates beside it have none. */
static size_t find_clock(const ant_csv_reader *r, const ant_csv_line *data, size_t dates)
{
    ant_field field;
    double ignored;
    size_t found = SKIP, k = 0;
    for (const char *p = data->text; p != NULL && dates != SKIP; k++) {
        ant_date_style style = {0};
        p = ant_field_split(p, data->end, r->delimiter, &field);
        if (k == dates && (!(ant_date_read(field.text, field.end, &ignored, &style) ||
                             ant_date_read_digits(field.text, field.end, &ignored, &style)) ||
                           style.clock || style.month))
            return SKIP;
        if (found == SKIP && ant_date_read_clock(field.text, field.end, &ignored))
            found = k;
    }
    return found;
}

/* What is read in a way of its own: dates, subjects, and a column for its times alone. */
static void assign_roles(ant_csv_reader *r, const ant_csv_line *data, size_t dates)
{
    ant_choice *choice = &r->choice;
    const size_t time = choice->time == ANT_NO_COLUMN ? SKIP : choice->columns[choice->time];
    if (choice->subject != ANT_NO_COLUMN)
        r->subject = choice->columns[choice->subject];
    if (time == SKIP)
        return;
    ant_field field = {.text = "", .end = ""};
    const char *p = data->text;
    for (size_t k = 0; p != NULL && k <= time; k++)
        p = ant_field_split(p, data->end, r->delimiter, &field);
    double ignored;
    r->digits =
        choice->claim >= ANT_TIME_DATES && ant_date_read_digits(field.text, field.end, &ignored, &r->style);
    if (time == dates || r->digits || (choice->claim == ANT_TIME_GIVEN && ant_csv_is_date(field))) {
        r->dates = time;
        if (!r->digits)
            ant_date_read(field.text, field.end, &ignored, &r->style);
        if (r->clock != SKIP)
            r->style.clock = r->style.blank = true;
    } else if (choice->time >= choice->dim + choice->input_dim && choice->claim <= ANT_TIME_STRONG) {
        r->stamps = time;
    }
}

/* Decide where each field goes; `chosen` describes the columns of a row. */
static antler_status assign_targets(ant_csv_reader *r, const ant_csv_line *data, ant_labels *chosen)
{
    r->targets = malloc(r->fields * sizeof *r->targets);
    if (r->targets == NULL)
        return ant_fail_memory(r->fields * sizeof *r->targets, "the columns");
    for (size_t k = 0; k < r->fields; k++)
        r->targets[k] = r->opts->transpose ? k : SKIP;
    if (r->count_only)
        return ANTLER_OK;
    if (r->opts->transpose) {
        r->width = r->fields;
        chosen->dt = r->labels.dt;
        return ANTLER_OK;
    }
    const size_t dates = find_dates(r, data);
    r->clock = r->opts->time == NULL ? find_clock(r, data, dates) : SKIP;
    const ant_file_columns file = {.names = r->labels.names,
                                   .count = r->fields,
                                   .own_inputs = r->labels.own_inputs,
                                   .dates = dates,
                                   .clock = r->clock,
                                   .own_time = r->comments.time};
    ANT_TRY(ant_choice_make(r->opts, &file, &r->choice));
    r->width = r->choice.width;
    for (size_t i = 0; i < r->width; i++)
        r->targets[r->choice.columns[i]] = i;
    assign_roles(r, data, dates);
    if (r->dates == SKIP)
        r->clock = SKIP;
    return ant_labels_choose(&r->labels, &r->choice, chosen);
}

/* Copy the first lines of content. */
static antler_status read_head(ant_csv_reader *r)
{
    const char *line = NULL, *end = NULL;
    for (size_t i = 0; i < ANT_CSV_HEAD; i++) {
        ANT_TRY(next_content(r, &line, &end));
        ANT_CHECK(r->lines.number > 0, ANTLER_ERROR_FORMAT, "is empty; a table of numbers was expected");
        ANT_CHECK(line != NULL || i > 0, ANTLER_ERROR_FORMAT,
                  "has only blank lines and comments, but no numbers");
        if (line == NULL)
            return ANTLER_OK;
        ANT_TRY(copy_line(line, end, r->lines.number, &r->head[i]));
    }
    return ANTLER_OK;
}

/* The unit of the column that may be the time axis, from the line of units. */
static void read_units(ant_csv_reader *r)
{
    ant_field field;
    if (r->choice.time == ANT_NO_COLUMN)
        return;
    const char *p = r->head[1].text;
    for (size_t k = 0; p != NULL && k <= r->choice.columns[r->choice.time]; k++)
        p = ant_field_split(p, r->head[1].end, r->delimiter, &field);
    ant_time_unit(field.text, (size_t)(field.end - field.text), r->time_unit);
}

/* Text above the table goes, as oscilloscopes and loggers write it. */
static void skip_above(ant_csv_reader *r)
{
    const size_t above = r->opts->transpose ? 0 : ant_csv_find_table(r->head, r->opts->delimiter);
    if (above == 0)
        return;
    r->above_first = r->head[0].number;
    r->above_last = r->head[above].number - 1;
    for (size_t i = 0; i < above; i++)
        free(r->head[i].text);
    memmove(r->head, r->head + above, (ANT_CSV_HEAD - above) * sizeof *r->head);
    memset(r->head + ANT_CSV_HEAD - above, 0, above * sizeof *r->head);
}

/* The first lines of content decide on delimiter, header and units; what is left of them are rows. */
static antler_status begin(ant_csv_reader *r, ant_labels *chosen)
{
    ANT_TRY(read_head(r));
    skip_above(r);
    const ant_csv_line *first = &r->head[0];
    r->delimiter = r->opts->delimiter != '\0' ? r->opts->delimiter : ant_csv_find_delimiter(r->head);
    r->fields = ant_field_count(first->text, first->end, r->delimiter);
    const bool decided = r->opts->header != ANTLER_HEADER_AUTO || r->comments.header;
    const bool header =
        decided ? r->opts->header != ANTLER_HEADER_NO : ant_csv_is_header(r->head, r->delimiter);
    const bool units = header && ant_csv_is_units(r->head, r->delimiter, r->fields);
    const size_t skipped = units ? 2 : header ? 1 : 0;
    if (header)
        ANT_TRY(read_header(r, first));
    else if (!decided && r->comment.text != NULL &&
             ant_csv_names_columns(&r->comment, r->delimiter, r->fields)) {
        ANT_TRY(read_header(r, &r->comment));
        r->header_fields = 0; /* no line of the table is its header */
        r->names_in_comment = r->labels.names != NULL;
    }
    ANT_TRY(take_facts(r));
    ANT_CHECK(r->head[skipped].text != NULL, ANTLER_ERROR_FORMAT, "has a header but no numbers below it");
    ANT_TRY(assign_targets(r, &r->head[skipped], chosen));
    if (units)
        read_units(r);
    for (size_t i = skipped; i < ANT_CSV_HEAD && r->head[i].text != NULL; i++)
        ANT_TRY(ant_csv_read_row(r, r->head[i].text, r->head[i].end, r->head[i].number));
    return ANTLER_OK;
}

static antler_status read_all(ant_csv_reader *r, ant_labels *chosen)
{
    const char *line = NULL, *end = NULL;
    const ant_source *source = r->lines.source;
    if (source->path != NULL && source->size_is_seen)
        ANT_TRY(ant_sidecar_read(source->path, source->size, &r->comments));
    ANT_TRY(begin(r, chosen));
    for (;;) {
        ANT_TRY(next_content(r, &line, &end));
        if (line == NULL)
            break;
        ANT_TRY(ant_csv_read_row(r, line, end, r->lines.number));
    }
    return r->dates == SKIP || r->values == NULL
               ? ANTLER_OK
               : ant_date_column_settle(&r->date_column, r->dates, r->values + r->targets[r->dates],
                                        r->width);
}

static antler_status check_delimiter(const antler_load_opts *opts)
{
    ANT_CHECK(opts->delimiter != '"' && opts->delimiter != '#' && opts->delimiter != '\n' &&
                  opts->delimiter != '.',
              ANTLER_ERROR_ARGUMENT, "this delimiter may stand within a value; use , ; or a tab");
    return ANTLER_OK;
}

static antler_status start(ant_csv_reader *r, ant_source *source)
{
    r->dates = r->stamps = r->subject = r->clock = SKIP;
    r->choice = (ant_choice){.time = ANT_NO_COLUMN, .subject = ANT_NO_COLUMN};
    return ant_lines_open(&r->lines, source);
}

static void finish(ant_csv_reader *r)
{
    ant_lines_close(&r->lines);
    ant_csv_comments_clear(&r->comments);
    ant_labels_clear(&r->labels);
    ant_choice_clear(&r->choice);
    ant_subjects_clear(&r->subjects);
    ant_date_column_clear(&r->date_column);
    ant_csv_words_clear(&r->words);
    for (size_t i = 0; i < ANT_CSV_HEAD; i++)
        free(r->head[i].text);
    free(r->comment.text);
    free(r->targets);
    free(r->values);
}

/* Hand the values over without the spare rows. */
static double *take_values(ant_csv_reader *r)
{
    double *fitting = realloc(r->values, r->rows * r->width * sizeof *r->values);
    double *values = fitting == NULL ? r->values : fitting;
    r->values = NULL;
    return values;
}

/* Lines that are neither names nor rows. */
static antler_status note_lines(const ant_csv_reader *r, ant_table *table)
{
    char first[32] = "line ";
    if (r->above_last > r->above_first)
        snprintf(first, sizeof first, "lines %llu to ", (unsigned long long)r->above_first);
    if (r->above_last > 0)
        ANT_TRY(ant_notes_add(&table->notes, "%s: %s%llu %s text above the table and %s skipped",
                              table->part.origin, first, (unsigned long long)r->above_last,
                              r->above_last > r->above_first ? "are" : "is",
                              r->above_last > r->above_first ? "are" : "is"));
    if (r->names_in_comment)
        ANT_TRY(ant_notes_add(&table->notes, "%s: the comment in line %llu has the names of the columns",
                              table->part.origin, (unsigned long long)r->comment.number));
    if (r->headers_again == 0)
        return ANTLER_OK;
    return ant_notes_add(&table->notes, "%s: line %llu is the header again and is skipped%s",
                         table->part.origin, (unsigned long long)r->header_again,
                         r->headers_again > 1 ? ", and so are others" : "");
}

/* What the reader found besides the values. */
static antler_status give_roles(ant_csv_reader *r, ant_table *table)
{
    const size_t time = r->choice.time == ANT_NO_COLUMN ? SKIP : r->choice.columns[r->choice.time];
    const char *name = time == SKIP || r->labels.names == NULL ? NULL : r->labels.names[time];
    if (name != NULL) {
        table->time_name = strdup(name);
        if (table->time_name == NULL)
            return ant_fail_memory(strlen(name), "a name");
        ant_time_name(name, table->time_unit);
    }
    if (r->time_unit[0] != '\0')
        memcpy(table->time_unit, r->time_unit, sizeof table->time_unit);
    table->dates = r->dates != SKIP;
    table->style = r->style;
    for (size_t i = 0; i < r->subjects.count; i++)
        ANT_TRY(settle_encoding(r, &r->subjects.names[i]));
    table->subjects = r->subjects.names;
    table->subject_count = r->subjects.count;
    r->subjects.names = NULL;
    r->subjects.count = 0;
    if (!ant_columns_are_named(r->opts)) {
        ant_csv_drop_empty_end(table);
        ANT_TRY(ant_csv_note_names(&r->labels, r->dates != SKIP, table));
        ANT_TRY(ant_csv_words_settle(&r->words, &r->labels, r->choice.columns, table));
    }
    ANT_TRY(note_lines(r, table));
    ANT_TRY(ant_csv_note_order(&r->date_column, table));
    if (r->not_utf8)
        ANT_TRY(ant_notes_add(&table->notes,
                              "%s: its text is not UTF-8 and is read as Windows-1252 (Latin-1)",
                              table->part.origin));
    if (r->commas)
        return ant_notes_add(
            &table->notes, "%s: numbers have decimal commas%s", table->part.origin,
            r->commas_are_sure ? "" : "; if these are thousands marks, write the numbers without");
    return ANTLER_OK;
}

antler_status ant_csv_read(ant_source *source, const antler_load_opts *opts, const char *origin,
                           ant_table *table)
{
    ANT_TRY(check_delimiter(opts));
    ant_csv_reader r = {.opts = opts};
    ant_labels chosen = {0};
    antler_status status = start(&r, source);
    if (status == ANTLER_OK)
        status = read_all(&r, &chosen);
    if (status == ANTLER_OK && opts->transpose) {
        ant_array none = {0}, x = {.rank = 2, .dtype = ANT_F64, .shape = {r.rows, r.width}};
        x.values = take_values(&r);
        status = ant_table_from_arrays(&x, &none, &chosen, opts, origin, table);
    } else if (status == ANTLER_OK) {
        status = ant_table_from_rows(take_values(&r), r.rows, &r.choice, &chosen, origin, table);
        if (status == ANTLER_OK)
            status = give_roles(&r, table);
        if (status != ANTLER_OK)
            ant_table_clear(table);
    }
    ant_labels_clear(&chosen);
    finish(&r);
    return status;
}

antler_status ant_csv_inspect(ant_source *source, const antler_load_opts *opts, ant_csv_facts *facts)
{
    ant_csv_reader r = {.opts = opts, .count_only = true};
    ant_labels chosen = {0};
    antler_status status = start(&r, source);
    if (status == ANTLER_OK)
        status = read_all(&r, &chosen);
    if (status == ANTLER_OK)
        *facts = (ant_csv_facts){.delimiter = r.delimiter, .rows = r.rows, .fields = r.fields};
    ant_labels_clear(&chosen);
    finish(&r);
    return status;
}
