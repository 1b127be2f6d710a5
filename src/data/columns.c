/* columns.c - a choice of columns by name, number or range, resolved against the columns of a file. */
#include "data/columns.h"
#include "data/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 4096 };

/* The columns of a file while a choice is made. */
typedef struct file_columns {
    char *const *names; /* (count) or NULL */
    size_t count, own_inputs;
    unsigned char *taken; /* (count) 1: already chosen */
} file_columns;

typedef struct column_list {
    size_t *columns, count;
} column_list;

static void column_name(const file_columns *file, size_t column, char *out, size_t room)
{
    const size_t own_variables = file->count - file->own_inputs;
    if (file->names != NULL && file->names[column] != NULL)
        snprintf(out, room, "%s", file->names[column]);
    else if (column < own_variables)
        snprintf(out, room, "x%zu", column + 1);
    else
        snprintf(out, room, "s%zu", column - own_variables + 1);
}

static antler_status fail_unknown(const file_columns *file, const char *word)
{
    const size_t count = file->count < MOST_CANDIDATES ? file->count : MOST_CANDIDATES;
    const char **candidates = calloc(count, sizeof *candidates);
    char(*texts)[64] = calloc(count, sizeof *texts);
    const char *nearest = NULL;
    if (candidates != NULL && texts != NULL) {
        for (size_t i = 0; i < count; i++) {
            column_name(file, i, texts[i], sizeof texts[i]);
            candidates[i] = texts[i];
        }
        nearest = antler_nearest(word, candidates, count);
    }
    const antler_status status =
        nearest != NULL
            ? ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no column '%s'; did you mean '%s'?", word, nearest)
            : ant_fail(ANTLER_ERROR_NOT_FOUND,
                       "there is no column '%s'; the file has %zu column%s, which can be named by "
                       "number too",
                       word, file->count, file->count == 1 ? "" : "s");
    free(candidates);
    free(texts);
    return status;
}

static antler_status take(file_columns *file, size_t column, column_list *list)
{
    char name[64];
    column_name(file, column, name, sizeof name);
    ANT_CHECK(!file->taken[column], ANTLER_ERROR_ARGUMENT,
              "column %zu (%s) is chosen twice; name each column once in --columns and --inputs", column + 1,
              name);
    file->taken[column] = 1;
    list->columns[list->count++] = column;
    return ANTLER_OK;
}

/* The column of that name; *found: whether there is one. */
static antler_status find_name(const file_columns *file, const char *word, size_t *column, bool *found)
{
    char name[256];
    *found = false;
    for (size_t i = 0; i < file->count; i++) {
        column_name(file, i, name, sizeof name);
        if (strcmp(name, word) != 0)
            continue;
        ANT_CHECK(!*found, ANTLER_ERROR_ARGUMENT,
                  "columns %zu and %zu are both called '%s'; choose by number", *column + 1, i + 1, word);
        *column = i;
        *found = true;
    }
    return ANTLER_OK;
}

/* "3" or "3-5"; false when it is neither.  Numbers beyond any column stay too large. */
static bool read_range(const char *word, size_t *from, size_t *to)
{
    size_t value[2] = {0, 0};
    const char *p = word;
    for (int part = 0; part < 2; part++) {
        if (*p < '0' || *p > '9')
            return false;
        for (; *p >= '0' && *p <= '9'; p++)
            value[part] = value[part] > SIZE_MAX / 20 ? value[part] : 10 * value[part] + (size_t)(*p - '0');
        if (part == 0 && *p == '\0')
            value[1] = value[0];
        if (part == 0 && *p == '\0')
            break;
        if (part == 0 && *p++ != '-')
            return false;
    }
    *from = value[0];
    *to = value[1];
    return *p == '\0';
}

static antler_status take_word(file_columns *file, const char *word, column_list *list)
{
    size_t column = 0, from = 0, to = 0;
    bool found = false;
    ANT_TRY(find_name(file, word, &column, &found));
    if (found)
        return take(file, column, list);
    if (!read_range(word, &from, &to))
        return fail_unknown(file, word);
    ANT_CHECK(from >= 1 && from <= to && to <= file->count, ANTLER_ERROR_ARGUMENT,
              "column %s was asked for, but the columns are 1 to %zu", word, file->count);
    for (size_t c = from; c <= to; c++)
        ANT_TRY(take(file, c - 1, list));
    return ANTLER_OK;
}

/* Take each word of a comma-separated text. */
static antler_status take_words(file_columns *file, const char *text, const char *option, column_list *list)
{
    char word[256];
    const char *p = text;
    for (;;) {
        p += strspn(p, " ");
        size_t length = strcspn(p, ",");
        const char *next = p + length;
        while (length > 0 && p[length - 1] == ' ')
            length--;
        ANT_CHECK(
            length > 0 && length < sizeof word, ANTLER_ERROR_ARGUMENT,
            "'%s' is not a list of columns for %s; write names or numbers with commas, as in x,y or 1-3",
            text, option);
        memcpy(word, p, length);
        word[length] = '\0';
        ANT_TRY(take_word(file, word, list));
        if (*next == '\0')
            return ANTLER_OK;
        p = next + 1;
    }
}

/* Take those of columns first .. last-1 that are not yet taken. */
static void take_rest(file_columns *file, size_t first, size_t last, column_list *list)
{
    for (size_t c = first; c < last; c++)
        if (!file->taken[c]) {
            file->taken[c] = 1;
            list->columns[list->count++] = c;
        }
}

static antler_status choose(const antler_load_opts *opts, file_columns *file, column_list *variables,
                            column_list *inputs)
{
    const size_t own_variables = file->count - file->own_inputs;
    if (opts->inputs != NULL)
        ANT_TRY(take_words(file, opts->inputs, "--inputs", inputs));
    if (opts->columns != NULL)
        ANT_TRY(take_words(file, opts->columns, "--columns", variables));
    else
        take_rest(file, 0, own_variables, variables);
    if (opts->inputs == NULL)
        take_rest(file, own_variables, file->count, inputs);
    ANT_CHECK(variables->count > 0, ANTLER_ERROR_ARGUMENT,
              "all columns are inputs and no variable is left; name fewer columns in --inputs");
    return ANTLER_OK;
}

antler_status ant_choice_make(const antler_load_opts *opts, char *const *names, size_t count,
                              size_t own_inputs, ant_choice *choice)
{
    ANT_CHECK(count <= ANT_SERIES_MAX_DIM, ANTLER_ERROR_DATA,
              "%zu columns are more than Antler takes (%d); if time runs along the rows, use --transpose",
              count, ANT_SERIES_MAX_DIM);
    antler_status status = ANTLER_OK;
    file_columns file = {.names = names, .count = count, .own_inputs = own_inputs, .taken = calloc(count, 1)};
    column_list variables = {.columns = calloc(count, sizeof(size_t))};
    column_list inputs = {.columns = calloc(count, sizeof(size_t))};
    if (file.taken == NULL || variables.columns == NULL || inputs.columns == NULL)
        status = ant_fail_memory(count * (2 * sizeof(size_t) + 1), "the columns");
    else
        status = choose(opts, &file, &variables, &inputs);
    if (status == ANTLER_OK) { /* no column is in both, so the two lists fit into one */
        memcpy(variables.columns + variables.count, inputs.columns, inputs.count * sizeof(size_t));
        *choice =
            (ant_choice){.dim = variables.count, .input_dim = inputs.count, .columns = variables.columns};
        variables.columns = NULL;
    }
    free(file.taken);
    free(variables.columns);
    free(inputs.columns);
    return status;
}

void ant_choice_clear(ant_choice *choice)
{
    free(choice->columns);
    *choice = (ant_choice){0};
}
