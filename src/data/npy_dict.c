/*
 * npy_dict.c - the header of a NumPy array: a Python dict literal, read by a small parser.
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (1000, 3), }
 *
 * Keys come in any order, with any white space; nothing is evaluated.
 */
#include "data/npy.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 16, LONGEST_STRING = 64 };

typedef struct cursor {
    const char *text;
    size_t length, at;
} cursor;

static antler_status fail_syntax(const cursor *c, const char *expected)
{
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "the array's header cannot be understood at character %zu (%s was expected there); save "
                    "it again with numpy.save",
                    c->at + 1, expected);
}

static void skip_space(cursor *c)
{
    while (c->at < c->length && strchr(" \t\r\n", c->text[c->at]) != NULL && c->text[c->at] != '\0')
        c->at++;
}

/* The next character after white space, 0 at the end. */
static char peek(cursor *c)
{
    skip_space(c);
    return c->at < c->length ? c->text[c->at] : '\0';
}

static bool take_if(cursor *c, char wanted)
{
    if (peek(c) != wanted)
        return false;
    c->at++;
    return true;
}

/* 'text' or "text" without escapes; what does not fit into out: (LONGEST_STRING + 1) is cut. */
static antler_status read_string(cursor *c, char *out)
{
    const char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return fail_syntax(c, "a quoted word");
    c->at++;
    size_t n = 0;
    for (; c->at < c->length && c->text[c->at] != quote; c->at++)
        if (n < LONGEST_STRING)
            out[n++] = c->text[c->at];
    out[n] = '\0';
    if (!take_if(c, quote))
        return fail_syntax(c, "a closing quote");
    return ANTLER_OK;
}

/* Skip the nested lists and tuples of a structured type. */
static antler_status skip_list(cursor *c)
{
    size_t depth = 0;
    char ignored[LONGEST_STRING + 1];
    do {
        const char next = peek(c);
        if (next == '[' || next == '(') {
            if (++depth > DEEPEST)
                return fail_syntax(c, "a simpler type");
            c->at++;
        } else if (next == ']' || next == ')') {
            depth--;
            c->at++;
        } else if (next == '\'' || next == '"') {
            ANT_TRY(read_string(c, ignored));
        } else if (next != '\0') {
            c->at++;
        } else {
            return fail_syntax(c, "a closing bracket");
        }
    } while (depth > 0);
    return ANTLER_OK;
}

static antler_status read_bool(cursor *c, bool *value)
{
    peek(c);
    const size_t left = c->length - c->at;
    if (left >= 4 && memcmp(c->text + c->at, "True", 4) == 0) {
        *value = true;
        c->at += 4;
    } else if (left >= 5 && memcmp(c->text + c->at, "False", 5) == 0) {
        *value = false;
        c->at += 5;
    } else {
        return fail_syntax(c, "True or False");
    }
    return ANTLER_OK;
}

static antler_status read_extent(cursor *c, size_t *extent)
{
    if (peek(c) == '-')
        return ant_fail(ANTLER_ERROR_FORMAT, "the array's header gives a negative length; save it again with "
                                             "numpy.save");
    if (c->at >= c->length || c->text[c->at] < '0' || c->text[c->at] > '9')
        return fail_syntax(c, "a number");
    size_t value = 0;
    for (; c->at < c->length && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++) {
        const size_t digit = (size_t)(c->text[c->at] - '0');
        ANT_CHECK(
            value <= (SIZE_MAX - digit) / 10, ANTLER_ERROR_FORMAT,
            "the array's header gives a length that no machine can hold; save it again with numpy.save");
        value = 10 * value + digit;
    }
    if (c->at < c->length && c->text[c->at] == 'L') /* Python 2 wrote 3L */
        c->at++;
    *extent = value;
    return ANTLER_OK;
}

static antler_status read_shape(cursor *c, ant_npy_header *header)
{
    if (!take_if(c, '('))
        return fail_syntax(c, "the shape in brackets");
    size_t rank = 0, extent = 0;
    while (!take_if(c, ')')) {
        ANT_TRY(read_extent(c, &extent));
        if (rank < ANT_NPY_MAX_RANK)
            header->shape[rank] = extent;
        rank++;
        const bool comma = take_if(c, ',');
        if (!comma && peek(c) != ')')
            return fail_syntax(c, "a comma or a closing bracket");
    }
    ANT_CHECK(rank <= ANT_NPY_MAX_RANK, ANTLER_ERROR_FORMAT,
              "the array has %zu axes; Antler reads 1 (time), 2 (time x variables) or 3 (trajectories x time "
              "x variables)",
              rank);
    header->rank = rank;
    return ANTLER_OK;
}

static bool has_dtype(char kind, size_t item, ant_dtype *dtype)
{
    const struct {
        char kind;
        size_t item;
        ant_dtype dtype;
    } known[] = {
#define KNOWN(name, type, text, letter) {letter, sizeof(type), ANT_##name},
        ANT_DTYPE_LIST(KNOWN)
#undef KNOWN
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == kind && known[i].item == item) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

/* The name of a type that Antler does not compute with, for antler_file_inspect and for messages. */
static bool name_other_type(ant_npy_header *header)
{
    char *name = header->type_name;
    const size_t room = sizeof header->type_name, bits = 8 * header->item;
    switch (header->kind) {
    case 'f':
        snprintf(name, room, "float%zu", bits);
        return bits == 16 || bits == 96 || bits == 128;
    case 'c':
        snprintf(name, room, "complex%zu", bits);
        return bits == 64 || bits == 128 || bits == 192 || bits == 256;
    case 'O':
        snprintf(name, room, "object");
        return true;
    case 'S':
    case 'a':
        snprintf(name, room, "bytes");
        return true;
    case 'U':
        snprintf(name, room, "str");
        return header->item <= SIZE_MAX / 4;
    case 'V':
        snprintf(name, room, "void");
        return true;
    case 'M':
        snprintf(name, room, "datetime64");
        return true;
    case 'm':
        snprintf(name, room, "timedelta64");
        return true;
    default:
        return false;
    }
}

/* Microseconds of the unit in "<M8[ns]"; 0 for months, years and what is not known. */
static double read_date_unit(const char *text)
{
    static const struct {
        const char *text;
        double microseconds;
    } units[] = {{"[ns]", 1e-3}, {"[us]", 1.0},   {"[ms]", 1e3},    {"[s]", 1e6},
                 {"[m]", 60e6},  {"[h]", 3600e6}, {"[D]", 86400e6}, {"[W]", 7 * 86400e6}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].text) == 0)
            return units[i].microseconds;
    return 0.0;
}

/* "<f8", "|b1", "O", "<M8[ns]": byte order, kind, size; a unit may follow. */
static antler_status read_descr(const char *descr, ant_npy_header *header)
{
    cursor c = {.text = descr, .length = strlen(descr)};
    const bool little = ant_machine_is_little_endian();
    char order = '=';
    if (c.length > 0 && strchr("<>|=", descr[0]) != NULL)
        order = descr[c.at++];
    header->kind = c.at < c.length ? descr[c.at++] : '\0';
    header->item = 0;
    if (c.at < c.length && descr[c.at] >= '0' && descr[c.at] <= '9')
        ANT_TRY(read_extent(&c, &header->item));
    header->swapped = header->item > 1 && ((order == '<' && !little) || (order == '>' && little));
    const bool dated = header->kind == 'M' || header->kind == 'm';
    const bool complete = c.at == c.length || (dated && descr[c.at] == '[');
    header->date_unit = dated ? read_date_unit(descr + c.at) : 0.0;
    header->readable = complete && has_dtype(header->kind, header->item, &header->dtype);
    if (header->readable)
        snprintf(header->type_name, sizeof header->type_name, "%s", ant_dtype_name(header->dtype));
    else
        ANT_CHECK(complete && name_other_type(header), ANTLER_ERROR_FORMAT,
                  "the array's type '%s' is not known; save it as float64", descr);
    if (header->kind == 'U')
        header->item *= 4; /* NumPy counts characters of four bytes */
    return ANTLER_OK;
}

static antler_status read_type(cursor *c, ant_npy_header *header)
{
    if (peek(c) == '[') {
        header->kind = 's';
        snprintf(header->type_name, sizeof header->type_name, "structured");
        return skip_list(c);
    }
    char descr[LONGEST_STRING + 1];
    ANT_TRY(read_string(c, descr));
    for (const char *p = descr; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            return fail_syntax(c, "a type such as '<f8'");
    return read_descr(descr, header);
}

static antler_status read_item(cursor *c, ant_npy_header *header, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[LONGEST_STRING + 1];
    ANT_TRY(read_string(c, key));
    if (!take_if(c, ':'))
        return fail_syntax(c, "a colon");
    for (unsigned k = 0; k < 3; k++) {
        if (strcmp(key, keys[k]) != 0)
            continue;
        ANT_CHECK((*seen & 1u << k) == 0, ANTLER_ERROR_FORMAT,
                  "the array's header gives '%s' twice; save it again with numpy.save", key);
        *seen |= 1u << k;
        return k == 0   ? read_type(c, header)
               : k == 1 ? read_bool(c, &header->fortran)
                        : read_shape(c, header);
    }
    return fail_syntax(c, "one of the keys descr, fortran_order and shape");
}

/* values = product of the shape, bytes = values * item, both checked. */
static antler_status measure(ant_npy_header *header)
{
    uint64_t values = 1;
    bool zero = false, overflow = false;
    for (size_t i = 0; i < header->rank; i++) {
        zero = zero || header->shape[i] == 0;
        overflow = overflow || (header->shape[i] != 0 && values > UINT64_MAX / header->shape[i]);
        values *= header->shape[i];
    }
    header->values = zero ? 0 : values;
    overflow = !zero && (overflow || (header->item != 0 && values > (uint64_t)SIZE_MAX / 2 / header->item));
    ANT_CHECK(!overflow, ANTLER_ERROR_FORMAT,
              "the array's header gives a shape with more values than any machine can hold; save it again "
              "with numpy.save");
    header->bytes = header->values * header->item;
    return ANTLER_OK;
}

antler_status ant_npy_parse_dict(const char *text, size_t length, ant_npy_header *header)
{
    cursor c = {.text = text, .length = length};
    unsigned seen = 0;
    if (!take_if(&c, '{'))
        return fail_syntax(&c, "'{'");
    while (!take_if(&c, '}')) {
        ANT_TRY(read_item(&c, header, &seen));
        const bool comma = take_if(&c, ',');
        if (!comma && peek(&c) != '}')
            return fail_syntax(&c, "a comma or '}'");
    }
    skip_space(&c);
    if (c.at != c.length)
        return fail_syntax(&c, "nothing more");
    ANT_CHECK(seen == 7, ANTLER_ERROR_FORMAT, "the array's header lacks '%s'; save it again with numpy.save",
              (seen & 1) == 0   ? "descr"
              : (seen & 2) == 0 ? "fortran_order"
                                : "shape");
    return measure(header);
}
