/* fields.c - delimiters, quotes, comments and missing values in one line of a table. */
#include "data/fields.h"
#include "data/number.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first unquoted character of `set` in line .. end-1, or end. */
static const char *find_unquoted(const char *line, const char *end, char wanted)
{
    bool quoted = false;
    for (const char *p = line; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (*p == wanted && !quoted)
            return p;
    }
    return end;
}

char ant_field_delimiter(const char *line, const char *end)
{
    static const char candidates[] = {';', '\t', ',', '|'};
    for (size_t i = 0; i < sizeof candidates; i++)
        if (find_unquoted(line, end, candidates[i]) != end)
            return candidates[i];
    return ' ';
}

/* What spreadsheets write where a formula has no value. */
static const char *const errors[] = {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"};

/* Whether such an error stands at p, alone in its field. */
static bool is_error(const char *p, const char *end)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        const char *after = p + strlen(errors[i]);
        if (after <= end && memcmp(p, errors[i], strlen(errors[i])) == 0 &&
            (after == end || strchr(",;|\t \"", *after) != NULL))
            return true;
    }
    return false;
}

const char *ant_field_without_comment(const char *line, const char *end)
{
    if (memchr(line, '#', (size_t)(end - line)) == NULL)
        return end;
    const char *p = find_unquoted(line, end, '#');
    while (p < end && is_error(p, end))
        p = find_unquoted(p + 1, end, '#');
    return p;
}

const char *ant_field_skip_blanks(const char *p, const char *end, char delimiter)
{
    while (p < end && (*p == ' ' || (*p == '\t' && delimiter != '\t')))
        p++;
    return p;
}

bool ant_field_ends(const char *p, const char *end, char delimiter, const char **next)
{
    const char *after = ant_field_skip_blanks(p, end, delimiter);
    *next = NULL;
    if (after == end)
        return true;
    *next = delimiter == ' ' ? after : after + 1;
    return delimiter == ' ' ? after > p : *after == delimiter;
}

/* The closing quote of the field that opens at p, or end; "" inside stands for one quote. */
static const char *closing_quote(const char *p, const char *end)
{
    for (p++; p < end; p++)
        if (*p == '"') {
            if (p + 1 == end || p[1] != '"')
                return p;
            p++;
        }
    return end;
}

const char *ant_field_split(const char *p, const char *end, char delimiter, ant_field *field)
{
    p = ant_field_skip_blanks(p, end, delimiter);
    const char *next = NULL;
    if (p < end && *p == '"') {
        const char *close = closing_quote(p, end);
        if (close < end && ant_field_ends(close + 1, end, delimiter, &next)) {
            *field = (ant_field){.text = p + 1, .end = close, .quoted = true};
            return next;
        }
    }
    const char *stop = p;
    while (stop < end && *stop != delimiter && !(delimiter == ' ' && *stop == '\t'))
        stop++;
    ant_field_ends(stop, end, delimiter, &next);
    while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    *field = (ant_field){.text = p, .end = stop};
    return next;
}

size_t ant_field_count(const char *line, const char *end, char delimiter)
{
    ant_field ignored;
    size_t count = 0;
    for (const char *p = line; p != NULL; count++)
        p = ant_field_split(p, end, delimiter, &ignored);
    return count;
}

static bool is_missing(ant_field field)
{
    static const char *const words[] = {"",  "na", "n/a", "null", "none",   "nil",
                                        "-", "--", "?",   ".",    "missing"};
    const size_t length = (size_t)(field.end - field.text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(field.text, words[i], length) == 0)
            return true;
    return length > 0 && *field.text == '#' && is_error(field.text, field.end);
}

/* 1,5 or -1,5e3: a number once its only comma is a point. */
static bool is_decimal_comma(ant_field field, double *value)
{
    char copy[64];
    const char *stop;
    const size_t length = (size_t)(field.end - field.text);
    if (length >= sizeof copy || memchr(field.text, ',', length) == NULL)
        return false;
    memcpy(copy, field.text, length);
    *(char *)memchr(copy, ',', length) = '.';
    return ant_number_read(copy, copy + length, value, &stop) == ANT_NUMBER_READ && stop == copy + length;
}

static size_t count_digits(const char *p, const char *end)
{
    const char *start = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return (size_t)(p - start);
}

/* A field in which the blanks that do not break lines, U+00A0, U+2009 and U+202F in UTF-8, are plain ones.
 * Returns its length, 0 where it is too long.  copy: (room) */
static size_t with_plain_blanks(ant_field field, char *copy, size_t room)
{
    static const char *const blanks[] = {"\xc2\xa0", "\xe2\x80\x89", "\xe2\x80\xaf"};
    size_t length = 0;
    for (const char *p = field.text; p < field.end; length++) {
        size_t bytes = 0;
        for (size_t i = 0; i < sizeof blanks / sizeof *blanks && bytes == 0; i++)
            if (strlen(blanks[i]) <= (size_t)(field.end - p) && memcmp(p, blanks[i], strlen(blanks[i])) == 0)
                bytes = strlen(blanks[i]);
        if (length == room)
            return 0;
        copy[length] = bytes > 0 ? ' ' : *p;
        p += bytes > 0 ? bytes : 1;
    }
    return length;
}

/* Digits in groups of three behind a first of one to three: at least two groups, or one and then a decimal
 * part. */
static bool is_thousands(ant_field field)
{
    char copy[64];
    const size_t length = with_plain_blanks(field, copy, sizeof copy);
    if (length == 0)
        return false;
    field = (ant_field){.text = copy, .end = copy + length};
    const char *p = field.text + (*field.text == '-' || *field.text == '+');
    const size_t first = count_digits(p, field.end);
    p += first;
    if (first < 1 || first > 3 || p == field.end || strchr(",.' ", *p) == NULL)
        return false;
    const char mark = *p;
    size_t groups = 0;
    for (; p < field.end && *p == mark && count_digits(p + 1, field.end) == 3; groups++)
        p += 4;
    const bool more = p < field.end && mark != *p && (*p == ',' || *p == '.');
    if (more)
        p += 1 + count_digits(p + 1, field.end);
    return p == field.end && (groups >= 2 || (groups == 1 && (more || mark == '\'' || mark == ' ')));
}

bool ant_field_comma_is_ambiguous(ant_field field)
{
    const char *p = field.text + (*field.text == '-' || *field.text == '+');
    const size_t first = count_digits(p, field.end);
    return first >= 1 && first <= 3 && *p != '0' && p + first + 4 == field.end &&
           count_digits(p + first + 1, field.end) == 3;
}

ant_field_kind ant_field_read(ant_field field, double *value)
{
    const char *stop;
    const ant_number_outcome outcome = ant_number_read(field.text, field.end, value, &stop);
    if (outcome != ANT_NUMBER_NONE && stop == field.end)
        return outcome == ANT_NUMBER_READ ? ANT_FIELD_NUMBER : ANT_FIELD_TOO_LARGE;
    if (is_missing(field))
        return ANT_FIELD_MISSING;
    if (is_decimal_comma(field, value))
        return ANT_FIELD_DECIMAL_COMMA;
    return is_thousands(field) ? ANT_FIELD_THOUSANDS : ANT_FIELD_WORD;
}

char *ant_field_copy(ant_field field)
{
    char *copy = malloc((size_t)(field.end - field.text) + 1);
    if (copy == NULL)
        return NULL;
    size_t n = 0;
    for (const char *p = field.text; p < field.end; p++) {
        copy[n++] = *p;
        if (field.quoted && *p == '"')
            p++; /* the second of a pair */
    }
    copy[n] = '\0';
    return copy;
}
