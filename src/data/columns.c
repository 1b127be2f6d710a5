/* columns.c - a choice of columns by name, number or range, resolved against the columns of a file. */
#include "data/columns.h"
#include "data/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CANDIDATES = 4096, LEFT_OUT = 2 };

/* The columns of a file while a choice is made. */
typedef struct file_columns {
    const ant_file_columns *of;
    unsigned char *taken; /* (count) 0: free; LEFT_OUT; else already chosen */
} file_columns;

typedef struct column_list {
    size_t *columns, count;
} column_list;

static void column_name(const file_columns *file, size_t column, char *out, size_t room)
{
    const size_t own_variables = file->of->count - file->of->own_inputs;
    if (file->of->names != NULL && file->of->names[column] != NULL)
        snprintf(out, room, "%s", file->of->names[column]);
    else if (column < own_variables)
        snprintf(out, room, "x%zu", column + 1);
    else
        snprintf(out, room, "s%zu", column - own_variables + 1);
}

/* "x, y, z" or, of many columns, "x, y, ... (300 columns)". */
static void list_names(const file_columns *file, char *text, size_t room)
{
    size_t used = 0;
    char name[64];
    for (size_t i = 0; i < file->of->count; i++) {
        column_name(file, i, name, sizeof name);
        if (used + strlen(name) + 40 > room) {
            snprintf(text + used, room - used, ", ... (%zu columns)", file->of->count);
            return;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", i == 0 ? "" : ", ", name);
    }
}

static antler_status fail_unknown(const file_columns *file, const char *word)
{
    const size_t count = file->of->count < MOST_CANDIDATES ? file->of->count : MOST_CANDIDATES;
    const char **candidates = calloc(count, sizeof *candidates);
    char(*texts)[64] = calloc(count, sizeof *texts), list[320];
    const char *nearest = NULL;
    if (candidates != NULL && texts != NULL) {
        for (size_t i = 0; i < count; i++) {
            column_name(file, i, texts[i], sizeof texts[i]);
            candidates[i] = texts[i];
        }
        nearest = antler_nearest(word, candidates, count);
    }
    list_names(file, list, sizeof list);
    const antler_status status =
        nearest != NULL
            ? ant_fail(ANTLER_ERROR_NOT_FOUND,
                       "there is no column '%s'; did you mean '%s'? The columns are: %s", word, nearest, list)
            : ant_fail(ANTLER_ERROR_NOT_FOUND,
                       "there is no column '%s'; give a name or a number. The columns are: %s", word, list);
    free(candidates);
    free(texts);
    return status;
}

static antler_status take(file_columns *file, size_t column, column_list *list)
{
    char name[64];
    column_name(file, column, name, sizeof name);
    ANT_CHECK(
        !file->taken[column], ANTLER_ERROR_ARGUMENT,
        "column %zu (%s) is chosen twice; name each column once in --columns, --inputs, --time and --subject",
        column + 1, name);
    file->taken[column] = 1;
    list->columns[list->count++] = column;
    return ANTLER_OK;
}

/* The column of that name; *found: whether there is one. */
static antler_status find_name(const file_columns *file, const char *word, size_t *column, bool *found)
{
    char name[256];
    *found = false;
    for (size_t i = 0; i < file->of->count; i++) {
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
    ANT_CHECK(from >= 1 && from <= to && to <= file->of->count, ANTLER_ERROR_ARGUMENT,
              "column %s was requested, but the columns are 1 to %zu", word, file->of->count);
    for (size_t c = from; c <= to; c++)
        ANT_TRY(take(file, c - 1, list));
    return ANTLER_OK;
}

/* The word at *p, which ends at a comma outside quotes; its quotes are removed.  False: it is empty or too
 * long. */
static bool next_word(const char **p, char *word, size_t room)
{
    size_t length = 0;
    bool quoted = false;
    const char *at = *p + strspn(*p, " ");
    for (; *at != '\0' && (quoted || *at != ','); at++) {
        if (*at == '"' && (quoted || length == 0)) {
            if (quoted && at[1] == '"')
                word[length++] = *at++;
            else
                quoted = !quoted;
        } else {
            word[length++] = *at;
        }
        if (length + 2 > room)
            return false;
    }
    while (length > 0 && word[length - 1] == ' ')
        length--;
    word[length] = '\0';
    *p = at;
    return length > 0 && !quoted;
}

/* Take each word of a comma-separated text, or the column that has all of it as its name. */
static antler_status take_words(file_columns *file, const char *text, const char *option, column_list *list)
{
    char word[256];
    size_t column = 0;
    bool whole = false;
    ANT_TRY(find_name(file, text, &column, &whole));
    if (whole)
        return take(file, column, list);
    for (const char *p = text;; p++) {
        ANT_CHECK(
            next_word(&p, word, sizeof word), ANTLER_ERROR_ARGUMENT,
            "'%s' is not a list of columns for %s; write names or numbers with commas, as in x,y or 1-3",
            text, option);
        ANT_TRY(take_word(file, word, list));
        if (*p == '\0')
            return ANTLER_OK;
    }
}

bool ant_columns_are_named(const antler_load_opts *opts)
{
    return opts->columns != NULL && opts->columns[strspn(opts->columns, " ")] != '-';
}

/* Mark each word of "-status,-7", which no list gets. */
static antler_status leave_out(const char *text, file_columns *file)
{
    char word[256];
    column_list none = {.columns = calloc(file->of->count, sizeof(size_t))};
    antler_status status =
        none.columns == NULL ? ant_fail_memory(file->of->count * sizeof(size_t), "the columns") : ANTLER_OK;
    for (const char *p = text; status == ANTLER_OK; p++) {
        p += strspn(p, " ");
        if (*p != '-' || !(p++, next_word(&p, word, sizeof word)))
            status = ant_fail(
                ANTLER_ERROR_ARGUMENT,
                "'%s' is not a list of columns to leave out; write '-' before each, as in -status,-7", text);
        else
            status = take_word(file, word, &none);
        if (status == ANTLER_OK && *p == '\0')
            break;
    }
    for (size_t i = 0; i < none.count; i++)
        file->taken[none.columns[i]] = LEFT_OUT;
    free(none.columns);
    return status;
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

/* ---- time and subject -------------------------------------------------------------------------------- */

static ant_time_claim claim_of(const file_columns *file, size_t column)
{
    char unit[ANT_UNIT_ROOM];
    const char *name = file->of->names == NULL ? NULL : file->of->names[column];
    if (column == file->of->dates)
        return ANT_TIME_DATES;
    if (name != NULL)
        return ant_time_name(name, unit);
    return file->of->names != NULL && column == 0 ? ANT_TIME_WEAK : ANT_TIME_NO_CLAIM; /* a row index */
}

/* The column with the strongest claim to be the time axis, the first of equal ones, or the first of all. */
static size_t find_time(const file_columns *file, ant_time_claim *claim)
{
    const size_t own_variables = file->of->count - file->of->own_inputs;
    size_t best = 0;
    *claim = ANT_TIME_FIRST;
    for (size_t c = 0; c < own_variables; c++) {
        const ant_time_claim found = file->taken[c] == LEFT_OUT ? ANT_TIME_NO_CLAIM : claim_of(file, c);
        if (found > *claim) {
            *claim = found;
            best = c;
        }
    }
    return best;
}

/* One column, by name or number. */
static antler_status take_one(file_columns *file, const char *word, const char *option, column_list *list)
{
    const size_t before = list->count;
    ANT_TRY(take_word(file, word, list));
    ANT_CHECK(list->count == before + 1, ANTLER_ERROR_ARGUMENT, "%s takes one column, not %s", option, word);
    return ANTLER_OK;
}

/* A column for time that is not a variable goes to `extra`; *time is its number either way. */
static antler_status choose_time(const antler_load_opts *opts, file_columns *file, column_list *extra,
                                 size_t *time, ant_time_claim *claim)
{
    *time = ANT_NO_COLUMN;
    *claim = ANT_TIME_NO_CLAIM;
    if (opts->time != NULL && strcmp(opts->time, "none") == 0)
        return ANTLER_OK;
    if (opts->time != NULL) {
        ANT_TRY(take_one(file, opts->time, "--time", extra));
        *time = extra->columns[extra->count - 1];
        *claim = ANT_TIME_GIVEN;
        return ANTLER_OK;
    }
    if (file->of->untimed || file->of->count < 2)
        return ANTLER_OK;
    const size_t column = file->of->own_time ? 0 : find_time(file, claim);
    if (file->of->own_time)
        *claim = ANT_TIME_GIVEN;
    if (file->taken[column]) { /* it was requested as a variable */
        *claim = ANT_TIME_NO_CLAIM;
        return ANTLER_OK;
    }
    *time = column;
    return *claim >= ANT_TIME_DATES || ant_columns_are_named(opts) ? take(file, column, extra) : ANTLER_OK;
}

/* ---- the choice -------------------------------------------------------------------------------------- */

typedef struct lists {
    column_list variables, inputs, extra;
} lists;

static size_t place_of(size_t column, const size_t *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i] == column)
            return i;
    return ANT_NO_COLUMN;
}

static antler_status choose(const antler_load_opts *opts, file_columns *file, lists *l, size_t *time,
                            size_t *subject, ant_time_claim *claim)
{
    const size_t own_variables = file->of->count - file->of->own_inputs;
    *subject = ANT_NO_COLUMN;
    if (opts->inputs != NULL)
        ANT_TRY(take_words(file, opts->inputs, "--inputs", &l->inputs));
    if (ant_columns_are_named(opts))
        ANT_TRY(take_words(file, opts->columns, "--columns", &l->variables));
    else if (opts->columns != NULL)
        ANT_TRY(leave_out(opts->columns, file));
    if (opts->subject != NULL) {
        ANT_TRY(take_one(file, opts->subject, "--subject", &l->extra));
        *subject = l->extra.columns[l->extra.count - 1];
    }
    ANT_TRY(choose_time(opts, file, &l->extra, time, claim));
    if (*claim == ANT_TIME_DATES && *time == file->of->dates && file->of->clock < own_variables)
        file->taken[file->of->clock] = 1;
    if (!ant_columns_are_named(opts))
        take_rest(file, 0, own_variables, &l->variables);
    if (opts->inputs == NULL)
        take_rest(file, own_variables, file->of->count, &l->inputs);
    ANT_CHECK(l->variables.count > 0, ANTLER_ERROR_ARGUMENT,
              "all columns are inputs, time or subject, and no variable is left; name fewer of them");
    if (l->variables.count == 1 && l->variables.columns[0] == *time)
        *time = ANT_NO_COLUMN; /* else nothing is left to model */
    return ANTLER_OK;
}

/* The three lists as one, which takes over the memory of the first: no column is in two of them. */
static void join_lists(lists *l, size_t time, size_t subject, ant_time_claim claim, ant_choice *choice)
{
    size_t *all = l->variables.columns, width = l->variables.count;
    memcpy(all + width, l->inputs.columns, l->inputs.count * sizeof *all);
    width += l->inputs.count;
    memcpy(all + width, l->extra.columns, l->extra.count * sizeof *all);
    width += l->extra.count;
    *choice = (ant_choice){.dim = l->variables.count,
                           .input_dim = l->inputs.count,
                           .width = width,
                           .columns = all,
                           .time = place_of(time, all, width),
                           .subject = place_of(subject, all, width),
                           .claim = time == ANT_NO_COLUMN ? ANT_TIME_NO_CLAIM : claim};
    l->variables.columns = NULL;
}

antler_status ant_choice_make(const antler_load_opts *opts, const ant_file_columns *columns,
                              ant_choice *choice)
{
    const size_t count = columns->count;
    ANT_CHECK(count <= ANT_SERIES_MAX_DIM, ANTLER_ERROR_DATA,
              "%zu columns are more than Antler takes (%d); if time runs along the rows, use --transpose",
              count, ANT_SERIES_MAX_DIM);
    antler_status status = ANTLER_OK;
    size_t time = ANT_NO_COLUMN, subject = ANT_NO_COLUMN;
    ant_time_claim claim = ANT_TIME_NO_CLAIM;
    file_columns file = {.of = columns, .taken = calloc(count, 1)};
    lists l = {.variables.columns = calloc(count, sizeof(size_t)),
               .inputs.columns = calloc(count, sizeof(size_t)),
               .extra.columns = calloc(count, sizeof(size_t))};
    if (file.taken == NULL || l.variables.columns == NULL || l.inputs.columns == NULL ||
        l.extra.columns == NULL)
        status = ant_fail_memory(count * (3 * sizeof(size_t) + 1), "the columns");
    else
        status = choose(opts, &file, &l, &time, &subject, &claim);
    if (status == ANTLER_OK)
        join_lists(&l, time, subject, claim, choice);
    free(file.taken);
    free(l.variables.columns);
    free(l.inputs.columns);
    free(l.extra.columns);
    return status;
}

void ant_choice_clear(ant_choice *choice)
{
    free(choice->columns);
    *choice = (ant_choice){0};
}
