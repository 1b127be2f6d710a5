/* csv_rows.c - a line of a table of text becomes a row of numbers. */
#include "data/csv_faults.h"
#include "data/csv_reader.h"
#include "data/number.h"
#include "data/sentinels.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EARLY = 3 }; /* rows: before them may be text above the table */

/* A line of `fields` fields. */
static antler_status fail_ragged(const ant_csv_reader *r, size_t fields, uint64_t number)
{
    const char *others = r->rows == 0 && r->header_fields != 0 ? "the header has" : "the lines before have";
    return ant_csv_fail_ragged(fields, others, r->fields, r->rows < EARLY, number);
}

static antler_status reserve_row(ant_csv_reader *r)
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
static bool has_fractions(const ant_csv_reader *r)
{
    for (size_t i = 0; i < r->rows * r->width; i++)
        if (isfinite(r->values[i]) && r->values[i] != rint(r->values[i]))
            return true;
    return false;
}

/* A number with a decimal comma, where commas do not separate fields and all others have one, too. */
static antler_status read_comma(ant_csv_reader *r, size_t k, ant_field field, uint64_t number)
{
    const bool mixed = !r->commas && has_fractions(r);
    if ((r->delimiter == ',' && !field.quoted) || mixed)
        return ant_csv_fail_field(r->commas, k, field, ANT_FIELD_DECIMAL_COMMA, number);
    r->commas = true;
    r->commas_are_sure = r->commas_are_sure || !ant_field_comma_is_ambiguous(field);
    return ANTLER_OK;
}

/* Words begin with a letter: 3 %, $3, <0.5 and 14:30 are numbers or times in a form that is not read.  Dates
 * beside those of the time axis count as words. */
static bool is_word(const ant_csv_reader *r, ant_field field)
{
    const unsigned char first = (unsigned char)*field.text;
    const bool letter = isalpha(first) || first >= 0x80;
    const bool other_date = ant_csv_is_date(field) && (r->dates != SKIP || r->opts->time != NULL);
    return (letter || other_date) && memchr(field.text, '\r', (size_t)(field.end - field.text)) == NULL;
}

/* Whether a word in this variable begins a column of words: it had no number so far, and nobody asked for it.
 */
static bool may_be_words(const ant_csv_reader *r, size_t k, ant_field field)
{
    const size_t target = r->targets[k];
    const char *name = r->labels.names == NULL ? NULL : r->labels.names[k];
    if (r->opts->transpose || ant_columns_are_named(r->opts) || target >= r->choice.dim ||
        !is_word(r, field) || (target == r->choice.time && r->choice.claim >= ANT_TIME_WEAK) ||
        ant_csv_names_subjects(name))
        return false;
    for (size_t row = 0; row < r->rows; row++)
        if (!isnan(r->values[row * r->width + target]))
            return false;
    return true;
}

/* True, False, and the words of a column of words. */
static antler_status read_word(ant_csv_reader *r, size_t k, ant_field field, double *value, uint64_t number)
{
    const bool begun = r->words.first != NULL && r->words.first[k].line > 0;
    if (!begun && ant_csv_truth(field, value)) {
        r->words.truth_column = r->words.truths++ == 0 ? k : r->words.truth_column;
        return ANTLER_OK;
    }
    if (!begun && !may_be_words(r, k, field))
        return ant_csv_fail_field(r->commas, k, field, ANT_FIELD_WORD, number);
    *value = NAN;
    return begun ? ANTLER_OK : ant_csv_words_begin(&r->words, r->fields, k, field, number);
}

/* A field that is not plainly a number. */
static antler_status read_field(ant_csv_reader *r, size_t k, ant_field field, double *value, uint64_t number)
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
    if (kind == ANT_FIELD_WORD)
        return read_word(r, k, field, value, number);
    return ant_csv_fail_field(r->commas, k, field, kind, number);
}

/* Tables that were put together have a header where each begins. */
static bool is_header_again(ant_csv_reader *r, const char *line, const char *end, uint64_t number)
{
    const ant_csv_line *header = &r->head[0];
    const size_t length = (size_t)(header->end - header->text);
    if (r->header_fields == 0 || r->rows == 0 || length != (size_t)(end - line) ||
        memcmp(header->text, line, length) != 0)
        return false;
    r->header_again = r->headers_again++ == 0 ? number : r->header_again;
    return true;
}

antler_status ant_csv_read_row(ant_csv_reader *r, const char *line, const char *end, uint64_t number)
{
    if (r->count_only && is_header_again(r, line, end, number))
        return ANTLER_OK;
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
            if (is_header_again(r, line, end, number))
                return ANTLER_OK;
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
