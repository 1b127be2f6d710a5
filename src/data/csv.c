/* csv.c - reading a table of text: comments, header, then row after row of numbers. */
#include "data/csv.h"
#include "data/csv_comments.h"
#include "data/excerpt.h"
#include "data/fields.h"
#include "data/lines.h"
#include "data/number.h"

#include <stdlib.h>
#include <string.h>

#define SKIP SIZE_MAX

typedef struct reader {
    ant_lines lines;
    const antler_load_opts *opts;
    bool count_only; /* numbers are not parsed */
    ant_csv_comments comments;
    char delimiter;
    size_t fields;     /* of each line */
    ant_labels labels; /* of the file's columns */
    size_t *slots;     /* (fields) where a field goes in its row; SKIP: nowhere */
    double *values;    /* (rows, width) */
    size_t width, rows, capacity;
    size_t header_fields; /* 0: no header */
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

static antler_status fail_field(size_t column, ant_field field, ant_field_kind kind, uint64_t number)
{
    char shown[ANT_EXCERPT_ROOM];
    const unsigned long long line = number;
    const size_t length = (size_t)(field.end - field.text);
    ant_excerpt(field.text, length, shown);
    if (kind == ANT_FIELD_MISSING)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "a value is missing in line %llu, column %zu ('%s'); fill it in, or write nan", line,
                        column + 1, shown);
    if (kind == ANT_FIELD_TOO_LARGE)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "the number in line %llu, column %zu ('%s') is too large for double precision; "
                        "rescale it",
                        line, column + 1, shown);
    if (kind == ANT_FIELD_DECIMAL_COMMA)
        return ant_fail(
            ANTLER_ERROR_FORMAT,
            "the number in line %llu, column %zu ('%s') has a decimal comma; write numbers with a "
            "decimal point",
            line, column + 1, shown);
    if (memchr(field.text, '\r', length) != NULL)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "has a carriage return within line %llu; convert its line ends to LF or CR LF", line);
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "not a number in line %llu, column %zu ('%s'); correct it, or leave the column out with "
                    "--columns",
                    line, column + 1, shown);
}

static antler_status fail_ragged(const reader *r, size_t fields, uint64_t number)
{
    const bool first = r->rows == 0 && r->header_fields != 0;
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "line %llu has %zu field%s, but %s %zu; give every line the same number of fields",
                    (unsigned long long)number, fields, fields == 1 ? "" : "s",
                    first ? "the header has" : "the lines before have", r->fields);
}

static antler_status reserve_row(reader *r)
{
    if (r->rows < r->capacity || r->width == 0)
        return ANTLER_OK;
    const size_t capacity = r->capacity == 0 ? 1024 / r->width + 1 : 2 * r->capacity;
    const size_t row_bytes = r->width * sizeof *r->values;
    double *grown = capacity > SIZE_MAX / 2 / row_bytes ? NULL : realloc(r->values, capacity * row_bytes);
    if (grown == NULL)
        return ant_fail_memory(capacity * row_bytes, "the values");
    r->values = grown;
    r->capacity = capacity;
    return ANTLER_OK;
}

/* One line becomes one row. */
static antler_status read_row(reader *r, const char *line, const char *end, uint64_t number)
{
    ANT_TRY(reserve_row(r));
    double *row = r->values == NULL ? NULL : r->values + r->rows * r->width;
    size_t k = 0;
    for (const char *p = line; p != NULL; k++) {
        const size_t slot = k < r->fields ? r->slots[k] : SKIP;
        ant_field field;
        if (slot == SKIP) {
            p = ant_field_split(p, end, r->delimiter, &field);
            continue;
        }
        const char *start = ant_field_skip_blanks(p, end, r->delimiter), *stop, *next;
        if (ant_number_read(start, end, &row[slot], &stop) == ANT_NUMBER_READ &&
            ant_field_ends(stop, end, r->delimiter, &next)) {
            p = next;
            continue;
        }
        p = ant_field_split(p, end, r->delimiter, &field);
        const ant_field_kind kind = ant_field_read(field, &row[slot]); /* it may be quoted */
        if (kind != ANT_FIELD_NUMBER) {
            if (ant_field_count(line, end, r->delimiter) != r->fields)
                return fail_ragged(r, ant_field_count(line, end, r->delimiter), number);
            return fail_field(k, field, kind, number);
        }
    }
    if (k != r->fields)
        return fail_ragged(r, k, number);
    r->rows++;
    return ANTLER_OK;
}

static bool looks_numeric(ant_field field)
{
    double ignored;
    const bool empty = field.text == field.end;
    return !empty && ant_field_read(field, &ignored) != ANT_FIELD_WORD;
}

/*
 * Whether the first line is a header: it is when it has no number at all.  When it has both numbers and words
 * ("time,1,2", or a row that begins with a date), the first field decides: a header's is a word above
 * a number.
 */
static bool is_header(const reader *r, const char *line, const char *end, const char *second,
                      const char *second_end)
{
    if (r->opts->header != ANTLER_HEADER_AUTO)
        return r->opts->header == ANTLER_HEADER_YES;
    if (r->comments.header)
        return true;
    size_t numeric = 0;
    ant_field field, first, below = {.text = "", .end = ""};
    const char *p = ant_field_split(line, end, r->delimiter, &first);
    for (numeric += looks_numeric(first); p != NULL; numeric += looks_numeric(field))
        p = ant_field_split(p, end, r->delimiter, &field);
    if (numeric == 0 || looks_numeric(first))
        return numeric == 0;
    if (second != NULL)
        ant_field_split(second, second_end, r->delimiter, &below);
    return looks_numeric(below);
}

static antler_status read_header(reader *r, const char *line, const char *end, uint64_t number)
{
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
        ANT_CHECK(
            ant_series_name_is_fit(r->labels.names[k]), ANTLER_ERROR_FORMAT,
            "the name of column %zu in line %llu is not UTF-8 text or holds control characters; rename it",
            k + 1, (unsigned long long)number);
    }
    return ANTLER_OK;
}

/* The facts from the comments must fit the columns. */
static antler_status take_facts(reader *r)
{
    ant_csv_comments *comments = &r->comments;
    r->labels.dt = comments->dt;
    r->labels.count = r->fields;
    if (r->opts->transpose)
        return ANTLER_OK;
    ANT_CHECK(comments->inputs < r->fields, ANTLER_ERROR_FORMAT,
              "a comment says that %zu columns are inputs, but there are only %zu columns", comments->inputs,
              r->fields);
    r->labels.own_inputs = comments->inputs;
    if (comments->mean == NULL && comments->scale == NULL)
        return ANTLER_OK;
    const size_t variables = r->fields - comments->inputs;
    ANT_CHECK(comments->mean_count == variables && comments->scale_count == variables, ANTLER_ERROR_FORMAT,
              "its comments give %zu means and %zu scales, but it has %zu variables; correct or remove them",
              comments->mean_count, comments->scale_count, variables);
    r->labels.mean = comments->mean;
    r->labels.scale = comments->scale;
    comments->mean = comments->scale = NULL;
    return ANTLER_OK;
}

/* Decide where each field goes; `chosen` describes the columns of a row. */
static antler_status assign_slots(reader *r, ant_labels *chosen)
{
    r->slots = malloc(r->fields * sizeof *r->slots);
    if (r->slots == NULL)
        return ant_fail_memory(r->fields * sizeof *r->slots, "the columns");
    for (size_t k = 0; k < r->fields; k++)
        r->slots[k] = r->opts->transpose ? k : SKIP;
    if (r->count_only)
        return ANTLER_OK;
    if (r->opts->transpose) {
        r->width = r->fields;
        chosen->dt = r->labels.dt;
        return ANTLER_OK;
    }
    ant_choice choice = {0};
    ANT_TRY(ant_choice_make(r->opts, r->labels.names, r->fields, r->labels.own_inputs, &choice));
    r->width = choice.dim + choice.input_dim;
    for (size_t i = 0; i < r->width; i++)
        r->slots[choice.columns[i]] = i;
    const antler_status status = ant_labels_choose(&r->labels, &choice, chosen);
    ant_choice_clear(&choice);
    return status;
}

/* The first two lines of content decide on delimiter and header; the first is copied to be kept. */
static antler_status begin(reader *r, ant_labels *chosen)
{
    const char *line = NULL, *end = NULL;
    ANT_TRY(next_content(r, &line, &end));
    ANT_CHECK(r->lines.number > 0, ANTLER_ERROR_FORMAT, "is empty; a table of numbers was expected");
    ANT_CHECK(line != NULL, ANTLER_ERROR_FORMAT, "has only blank lines and comments, but no numbers");
    const size_t length = (size_t)(end - line);
    const uint64_t number = r->lines.number;
    char *first = malloc(length + 1);
    if (first == NULL)
        return ant_fail_memory(length, "the first line");
    memcpy(first, line, length);
    first[length] = '\n';
    const char *first_end = first + length;
    r->delimiter = r->opts->delimiter != '\0' ? r->opts->delimiter : ant_field_delimiter(first, first_end);
    r->fields = ant_field_count(first, first_end, r->delimiter);
    antler_status status = next_content(r, &line, &end);
    const bool header = status == ANTLER_OK && is_header(r, first, first_end, line, end);
    if (status == ANTLER_OK && header)
        status = read_header(r, first, first_end, number);
    if (status == ANTLER_OK)
        status = take_facts(r);
    if (status == ANTLER_OK)
        status = assign_slots(r, chosen);
    if (status == ANTLER_OK && !header)
        status = read_row(r, first, first_end, number);
    if (status == ANTLER_OK && header && line == NULL)
        status = ant_fail(ANTLER_ERROR_FORMAT, "has a header but no numbers below it");
    if (status == ANTLER_OK && line != NULL)
        status = read_row(r, line, end, r->lines.number);
    free(first);
    return status;
}

static antler_status read_all(reader *r, ant_labels *chosen)
{
    const char *line = NULL, *end = NULL;
    ANT_TRY(begin(r, chosen));
    for (;;) {
        ANT_TRY(next_content(r, &line, &end));
        if (line == NULL)
            return ANTLER_OK;
        ANT_TRY(read_row(r, line, end, r->lines.number));
    }
}

static antler_status check_delimiter(const antler_load_opts *opts)
{
    ANT_CHECK(opts->delimiter != '"' && opts->delimiter != '#' && opts->delimiter != '\n' &&
                  opts->delimiter != '.',
              ANTLER_ERROR_ARGUMENT, "this delimiter cannot be told from the values; use , ; or a tab");
    return ANTLER_OK;
}

static void finish(reader *r)
{
    ant_lines_close(&r->lines);
    ant_csv_comments_clear(&r->comments);
    ant_labels_clear(&r->labels);
    free(r->slots);
    free(r->values);
}

/* Hand the values over without the spare rows. */
static ant_array take_array(reader *r)
{
    double *fitting = realloc(r->values, r->rows * r->width * sizeof *r->values);
    const ant_array array = {.values = fitting == NULL ? r->values : fitting,
                             .dtype = ANT_F64,
                             .rank = 2,
                             .shape = {r->rows, r->width}};
    r->values = NULL;
    return array;
}

antler_status ant_csv_read(ant_source *source, const antler_load_opts *opts, const char *origin,
                           ant_table *table)
{
    ANT_TRY(check_delimiter(opts));
    reader r = {.opts = opts};
    ant_labels chosen = {0};
    antler_status status = ant_lines_open(&r.lines, source);
    if (status == ANTLER_OK)
        status = read_all(&r, &chosen);
    if (status == ANTLER_OK) {
        antler_load_opts rest = *opts; /* the columns are chosen already, unless the table is transposed */
        if (!opts->transpose)
            rest.columns = rest.inputs = NULL;
        ant_array x = take_array(&r), none = {0};
        status = ant_table_from_arrays(&x, &none, &chosen, &rest, origin, table);
    }
    ant_labels_clear(&chosen);
    finish(&r);
    return status;
}

antler_status ant_csv_inspect(ant_source *source, const antler_load_opts *opts, ant_csv_facts *facts)
{
    reader r = {.opts = opts, .count_only = true};
    ant_labels chosen = {0};
    antler_status status = ant_lines_open(&r.lines, source);
    if (status == ANTLER_OK)
        status = read_all(&r, &chosen);
    if (status == ANTLER_OK)
        *facts = (ant_csv_facts){.delimiter = r.delimiter, .rows = r.rows, .fields = r.fields};
    ant_labels_clear(&chosen);
    finish(&r);
    return status;
}
