/* csv.c - reading a table of text: comments, header, then row after row of numbers. */
#include "data/csv.h"
#include "data/csv_comments.h"
#include "data/csv_faults.h"
#include "data/csv_head.h"
#include "data/date_order.h"
#include "data/encoding.h"
#include "data/fields.h"
#include "data/lines.h"
#include "data/number.h"
#include "data/sentinels.h"
#include "data/sidecar.h"
#include "data/subjects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SKIP ANT_NO_COLUMN

typedef struct reader {
    ant_lines lines;
    const antler_load_opts *opts;
    bool count_only; /* numbers are not parsed */
    ant_csv_comments comments;
    char delimiter;
    size_t fields;     /* of each line */
    ant_labels labels; /* of the file's columns */
    size_t *targets;   /* (fields) where a field goes in its row; SKIP: nowhere */
    double *values;    /* (rows, width) */
    size_t width, rows, capacity;
    size_t header_fields; /* 0: no header */
    ant_csv_line head[ANT_CSV_HEAD];
    ant_choice choice;
    size_t dates;         /* the field that holds dates; SKIP: none */
    size_t stamps;        /* the field that is read for its times alone and may be no number; SKIP: none */
    size_t subject;       /* the field of subjects; SKIP: none */
    size_t clock;         /* the field of times of day beside the dates; SKIP: none */
    bool digits;          /* dates are digits alone: 20240331 */
    ant_date_style style; /* of the first date */
    ant_date_column date_column;
    char time_unit[ANT_UNIT_ROOM]; /* from a line of units */
    ant_subjects subjects;
    bool commas;          /* numbers have decimal commas */
    bool not_utf8;        /* names or subjects were not, and have been decoded */
    bool commas_are_sure; /* one of them cannot be a thousands mark */
} reader;

/* The next line that is neither blank nor a comment, without its comment; NULL at the end. */
static antler_status next_content(reader *r, const char **line, const char **end)
{
    size_t length = 0;
    for (;;) {
        ANT_TRY(ant_lines_next(&r->lines, line, &length));
        if (*line == NULL)
            return ANTLER_OK;
        const char *start = ant_field_skip_blanks(*line, *line + length, ',');
        *end = *line + length;
        if (start < *end && *start == '#')
            ANT_TRY(ant_csv_comments_read(&r->comments, start, *end, r->lines.number));
        *end = ant_field_without_comment(*line, *end);
        if (ant_field_skip_blanks(*line, *end, ',') < *end)
            return ANTLER_OK;
    }
}

/* A line of `fields` fields. */
static antler_status fail_ragged(const reader *r, size_t fields, uint64_t number)
{
    const char *others = r->rows == 0 && r->header_fields != 0 ? "the header has" : "the lines before have";
    return ant_csv_fail_ragged(fields, others, r->fields, r->rows < ANT_CSV_HEAD, number);
}

static antler_status reserve_row(reader *r)
{
    if (r->rows < r->capacity || r->width == 0)
        return ANTLER_OK;
    const size_t capacity = r->capacity == 0 ? 1024 / r->width + 1 : 2 * r->capacity;
    const size_t row_bytes = r->width * sizeof *r->values;
    if (capacity <= SIZE_MAX / 2 / row_bytes)
        ANT_TRY(ant_source_charge(r->lines.source, (capacity - r->capacity) * row_bytes));
    double *grown = capacity > SIZE_MAX / 2 / row_bytes ? NULL : realloc(r->values, capacity * row_bytes);
    if (grown == NULL)
        return ant_fail_memory(capacity * row_bytes, "the values");
    r->values = grown;
    r->capacity = capacity;
    return ANTLER_OK;
}

/* Whether the rows so far have a number that cannot be written without a decimal point. */
static bool has_fractions(const reader *r)
{
    for (size_t i = 0; i < r->rows * r->width; i++)
        if (isfinite(r->values[i]) && r->values[i] != rint(r->values[i]))
            return true;
    return false;
}

/* A number with a decimal comma, where commas do not separate fields and all others have one, too. */
static antler_status read_comma(reader *r, size_t k, ant_field field, uint64_t number)
{
    const bool mixed = !r->commas && has_fractions(r);
    if ((r->delimiter == ',' && !field.quoted) || mixed)
        return ant_csv_fail_field(r->commas, k, field, ANT_FIELD_DECIMAL_COMMA, number);
    r->commas = true;
    r->commas_are_sure = r->commas_are_sure || !ant_field_comma_is_ambiguous(field);
    return ANTLER_OK;
}

/* A field that is not plainly a number. */
static antler_status read_field(reader *r, size_t k, ant_field field, double *value, uint64_t number)
{
    const size_t length = (size_t)(field.end - field.text);
    const ant_field_kind kind = ant_field_read(field, value);
    if (k == r->subject) {
        size_t id = 0;
        *value = NAN;
        if (kind == ANT_FIELD_MISSING)
            return ANTLER_OK;
        ANT_TRY(ant_subjects_find(&r->subjects, field.text, length, &id));
        *value = (double)id;
        return ANTLER_OK;
    }
    const bool missing =
        kind == ANT_FIELD_MISSING || (kind == ANT_FIELD_WORD && r->opts->missing_values != NULL &&
                                      ant_sentinels_has_word(r->opts->missing_values, field.text, length));
    if (missing || (k == r->stamps && kind != ANT_FIELD_NUMBER && kind != ANT_FIELD_DECIMAL_COMMA)) {
        *value = NAN;
        return ANTLER_OK;
    }
    if (k == r->dates) {
        ant_date_style style;
        if (!(r->digits ? ant_date_read_digits(field.text, field.end, value, &style)
                        : ant_date_read(field.text, field.end, value, &style)))
            return ant_csv_fail_date(k, field, number);
        ANT_TRY(ant_date_column_take(&r->date_column, r->rows, k, field, number, &style, value));
        if (style.zone_minutes != r->style.zone_minutes || style.zone != r->style.zone)
            r->style.zone_minutes = 0; /* summer and winter: written as UTC */
        r->style.clock = r->style.clock || style.clock;
        return ANTLER_OK;
    }
    if (kind == ANT_FIELD_DECIMAL_COMMA)
        return read_comma(r, k, field, number);
    if (kind == ANT_FIELD_NUMBER && !(r->commas && memchr(field.text, '.', length) != NULL))
        return ANTLER_OK;
    return ant_csv_fail_field(r->commas, k, field, kind, number);
}

/* One line becomes one row. */
static antler_status read_row(reader *r, const char *line, const char *end, uint64_t number)
{
    ANT_TRY(reserve_row(r));
    double *row = r->values == NULL ? NULL : r->values + r->rows * r->width;
    double of_day = 0.0;
    size_t k = 0;
    for (const char *p = line; p != NULL; k++) {
        const size_t target = k < r->fields ? r->targets[k] : SKIP;
        ant_field field;
        if (target == SKIP) {
            p = ant_field_split(p, end, r->delimiter, &field);
            if (k == r->clock && k < r->fields && !ant_date_read_clock(field.text, field.end, &of_day))
                return ant_csv_fail_clock(k, field, number);
            continue;
        }
        const char *start = ant_field_skip_blanks(p, end, r->delimiter), *stop, *next;
        const bool plain = !r->commas && k != r->dates && k != r->subject;
        if (plain && ant_number_read(start, end, &row[target], &stop) == ANT_NUMBER_READ &&
            ant_field_ends(stop, end, r->delimiter, &next)) {
            p = next;
            continue;
        }
        p = ant_field_split(p, end, r->delimiter, &field);
        const antler_status status = read_field(r, k, field, &row[target], number);
        if (status != ANTLER_OK) {
            const size_t fields = ant_field_count(line, end, r->delimiter);
            return fields != r->fields                                ? fail_ragged(r, fields, number)
                   : memchr(line, '\r', (size_t)(end - line)) != NULL ? ant_csv_fail_carriage_return(number)
                                                                      : status;
        }
    }
    if (k != r->fields)
        return fail_ragged(r, k, number);
    if (r->clock != SKIP && row != NULL && r->dates != SKIP)
        row[r->targets[r->dates]] += of_day;
    r->rows++;
    return ANTLER_OK;
}

/* A text that is not UTF-8 is taken as Windows-1252, in which older programs write. */
static antler_status settle_encoding(reader *r, char **text)
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

static antler_status read_header(reader *r)
{
    const char *line = r->head[0].text, *end = r->head[0].end;
    const uint64_t number = r->head[0].number;
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
static antler_status take_scaling(reader *r, size_t variables)
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
static antler_status take_facts(reader *r)
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
static size_t find_dates(const reader *r, const ant_csv_line *data)
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
static size_t find_clock(const reader *r, const ant_csv_line *data, size_t dates)
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
static void assign_roles(reader *r, const ant_csv_line *data, size_t dates)
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
static antler_status assign_targets(reader *r, const ant_csv_line *data, ant_labels *chosen)
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
static antler_status read_head(reader *r)
{
    const char *line = NULL, *end = NULL;
    for (size_t i = 0; i < ANT_CSV_HEAD; i++) {
        ANT_TRY(next_content(r, &line, &end));
        ANT_CHECK(r->lines.number > 0, ANTLER_ERROR_FORMAT, "is empty; a table of numbers was expected");
        ANT_CHECK(line != NULL || i > 0, ANTLER_ERROR_FORMAT,
                  "has only blank lines and comments, but no numbers");
        if (line == NULL)
            return ANTLER_OK;
        const size_t length = (size_t)(end - line);
        ant_csv_line *head = &r->head[i];
        head->text = malloc(length + 1);
        if (head->text == NULL)
            return ant_fail_memory(length, "the first lines");
        memcpy(head->text, line, length);
        head->text[length] = '\n';
        head->end = head->text + length;
        head->number = r->lines.number;
    }
    return ANTLER_OK;
}

/* The unit of the column that may be the time axis, from the line of units. */
static void read_units(reader *r)
{
    ant_field field;
    if (r->choice.time == ANT_NO_COLUMN)
        return;
    const char *p = r->head[1].text;
    for (size_t k = 0; p != NULL && k <= r->choice.columns[r->choice.time]; k++)
        p = ant_field_split(p, r->head[1].end, r->delimiter, &field);
    ant_time_unit(field.text, (size_t)(field.end - field.text), r->time_unit);
}

/* A name such as |v| has a bar, too; then the line below has none. */
static char find_delimiter(const ant_csv_line *head)
{
    const char found = ant_field_delimiter(head[0].text, head[0].end);
    return found == '|' && head[1].text != NULL && ant_field_delimiter(head[1].text, head[1].end) != '|'
               ? ' '
               : found;
}

/* The first lines of content decide on delimiter, header and units; what is left of them are rows. */
static antler_status begin(reader *r, ant_labels *chosen)
{
    ANT_TRY(read_head(r));
    const ant_csv_line *first = &r->head[0];
    r->delimiter = r->opts->delimiter != '\0' ? r->opts->delimiter : find_delimiter(r->head);
    r->fields = ant_field_count(first->text, first->end, r->delimiter);
    const bool decided = r->opts->header != ANTLER_HEADER_AUTO || r->comments.header;
    const bool header =
        decided ? r->opts->header != ANTLER_HEADER_NO : ant_csv_is_header(r->head, r->delimiter);
    const bool units = header && ant_csv_is_units(r->head, r->delimiter, r->fields);
    const size_t skipped = units ? 2 : header ? 1 : 0;
    if (header)
        ANT_TRY(read_header(r));
    ANT_TRY(take_facts(r));
    ANT_CHECK(r->head[skipped].text != NULL, ANTLER_ERROR_FORMAT, "has a header but no numbers below it");
    ANT_TRY(assign_targets(r, &r->head[skipped], chosen));
    if (units)
        read_units(r);
    for (size_t i = skipped; i < ANT_CSV_HEAD && r->head[i].text != NULL; i++)
        ANT_TRY(read_row(r, r->head[i].text, r->head[i].end, r->head[i].number));
    return ANTLER_OK;
}

static antler_status read_all(reader *r, ant_labels *chosen)
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
        ANT_TRY(read_row(r, line, end, r->lines.number));
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

static antler_status start(reader *r, ant_source *source)
{
    r->dates = r->stamps = r->subject = r->clock = SKIP;
    r->choice = (ant_choice){.time = ANT_NO_COLUMN, .subject = ANT_NO_COLUMN};
    return ant_lines_open(&r->lines, source);
}

static void finish(reader *r)
{
    ant_lines_close(&r->lines);
    ant_csv_comments_clear(&r->comments);
    ant_labels_clear(&r->labels);
    ant_choice_clear(&r->choice);
    ant_subjects_clear(&r->subjects);
    ant_date_column_clear(&r->date_column);
    for (size_t i = 0; i < ANT_CSV_HEAD; i++)
        free(r->head[i].text);
    free(r->targets);
    free(r->values);
}

/* Hand the values over without the spare rows. */
static double *take_values(reader *r)
{
    double *fitting = realloc(r->values, r->rows * r->width * sizeof *r->values);
    double *values = fitting == NULL ? r->values : fitting;
    r->values = NULL;
    return values;
}

/* The last column is left from a delimiter at the end of every line: no name, no value. */
static void drop_empty_end(ant_table *table)
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

/* The column of a name in any case, or SKIP. */
static size_t find_named(const reader *r, const char *name)
{
    for (size_t k = 0; k < r->fields; k++)
        if (r->labels.names[k] != NULL && strcasecmp(r->labels.names[k], name) == 0)
            return k;
    return SKIP;
}

/* Columns of one name, and dates that are spread over columns. */
static antler_status note_names(const reader *r, ant_table *table)
{
    enum { MOST = 512 };
    char *const *names = r->labels.names;
    for (size_t k = 1; names != NULL && k < r->fields && k < MOST; k++)
        for (size_t before = 0; before < k; before++) {
            if (names[k] == NULL || names[before] == NULL || strcmp(names[k], names[before]) != 0)
                continue;
            ANT_TRY(ant_notes_add(
                &table->notes, "%s: columns %zu and %zu are both called '%s'; --columns takes their numbers",
                table->part.origin, before + 1, k + 1, names[k]));
            k = MOST; /* one note is enough */
            break;
        }
    if (names == NULL || r->dates != SKIP || find_named(r, "year") == SKIP ||
        (find_named(r, "month") == SKIP && find_named(r, "doy") == SKIP))
        return ANTLER_OK;
    return ant_notes_add(
        &table->notes,
        "%s: its columns of years, months and days are variables; make one column of dates such "
        "as 2024-03-31 of them, or leave them out with --columns",
        table->part.origin);
}

/* Which of day and month comes first, where countries differ. */
static antler_status note_order(const reader *r, ant_table *table)
{
    const ant_date_column *dates = &r->date_column;
    const bool by_custom = dates->dots && dates->order != ANT_DATE_MONTH_FIRST;
    if (dates->order == ANT_DATE_PLAIN || by_custom)
        return ANTLER_OK;
    return ant_notes_add(&table->notes, "%s: dates have the %s first, as line %llu shows ('%s')",
                         table->part.origin, dates->order == ANT_DATE_DAY_FIRST ? "day" : "month",
                         (unsigned long long)dates->line, dates->shown);
}

/* What the reader found besides the values. */
static antler_status give_roles(reader *r, ant_table *table)
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
    if (r->opts->columns == NULL) {
        drop_empty_end(table);
        ANT_TRY(note_names(r, table));
    }
    ANT_TRY(note_order(r, table));
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
    reader r = {.opts = opts};
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
    reader r = {.opts = opts, .count_only = true};
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
