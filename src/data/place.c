/* place.c - a table that was read becomes trajectories: missing values, subjects, time. */
#include "data/sentinels.h"
#include "data/serial_days.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of a table and the subject that it belongs to. */
typedef struct owned_row {
    double subject;
    size_t row;
} owned_row;

static int by_subject(const void *a, const void *b)
{
    const owned_row *x = a, *y = b;
    if (x->subject != y->subject)
        return x->subject < y->subject ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The rows of one subject, which lie together in the sorted list. */
typedef struct group {
    size_t first, count; /* in the sorted list */
    size_t begin;        /* its first row in the table */
} group;

static int by_begin(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Groups in the order in which their subjects appear.  groups: (rows) */
static size_t find_groups(const owned_row *rows, size_t count, group *groups)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || rows[i].subject != rows[i - 1].subject)
            groups[found++] = (group){.first = i, .begin = rows[i].row};
        groups[found - 1].count++;
    }
    qsort(groups, found, sizeof *groups, by_begin);
    return found;
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* Labels of the same columns. */
static antler_status copy_labels(const ant_labels *from, ant_labels *to)
{
    *to = (ant_labels){.count = from->count, .own_inputs = from->own_inputs, .dt = from->dt};
    const size_t variables = from->count - from->own_inputs;
    if (from->names != NULL)
        to->names = calloc(from->count, sizeof *to->names);
    if (from->mean != NULL) {
        to->mean = malloc(variables * sizeof *to->mean);
        to->scale = malloc(variables * sizeof *to->scale);
    }
    bool good = (from->names == NULL || to->names != NULL) &&
                (from->mean == NULL || (to->mean != NULL && to->scale != NULL));
    for (size_t i = 0; good && from->names != NULL && i < from->count; i++) {
        to->names[i] = copy_text(from->names[i]);
        good = from->names[i] == NULL || to->names[i] != NULL;
    }
    if (!good)
        return ant_fail_memory(from->count * sizeof *to->names, "the names");
    if (from->mean != NULL) {
        memcpy(to->mean, from->mean, variables * sizeof *to->mean);
        memcpy(to->scale, from->scale, variables * sizeof *to->scale);
    }
    return ANTLER_OK;
}

/* "trials.csv:subject A" */
static char *origin_of(const ant_table *table, double subject)
{
    char number[32], *text = NULL;
    snprintf(number, sizeof number, "%.10g", subject);
    const char *name = table->subjects == NULL ? number : table->subjects[(size_t)subject];
    const size_t room = strlen(table->part.origin) + strlen(name) + 16;
    text = malloc(room);
    if (text != NULL)
        snprintf(text, room, "%s:%s", table->part.origin, name);
    return text;
}

/* A table of the rows of one subject. */
static antler_status take_subject(const ant_table *table, const double *values, const owned_row *rows,
                                  const group *g, ant_table *of_one)
{
    const size_t width = table->width;
    *of_one = (ant_table){.dim = table->dim,
                          .input_dim = table->input_dim,
                          .width = width,
                          .time = table->time,
                          .claim = table->claim,
                          .dates = table->dates,
                          .style = table->style,
                          .time_name = copy_text(table->time_name),
                          .subject = table->subject,
                          .one_of_many = table->one_of_many,
                          .axis = table->axis,
                          .part = {.origin = origin_of(table, rows[g->first].subject),
                                   .columns = calloc(width, sizeof *of_one->part.columns)}};
    memcpy(of_one->time_unit, table->time_unit, sizeof of_one->time_unit);
    double *own = malloc(g->count * width * sizeof *own);
    if (own == NULL || of_one->part.origin == NULL || of_one->part.columns == NULL ||
        (table->time_name != NULL && of_one->time_name == NULL)) {
        free(own);
        return ant_fail_memory(g->count * width * sizeof *own, "the rows of a subject");
    }
    for (size_t i = 0; i < g->count; i++)
        memcpy(own + i * width, values + rows[g->first + i].row * width, width * sizeof *own);
    ant_table_set_rows(of_one, own, g->count);
    ANT_TRY(copy_labels(&table->labels, &of_one->labels));
    ant_table_drop(of_one, of_one->subject);
    return ANTLER_OK;
}

/* Name the subject that a fault belongs to, and clear its table. */
static antler_status fail_subject(antler_status status, ant_table *of_one)
{
    const char *colon = of_one->part.origin == NULL ? NULL : strrchr(of_one->part.origin, ':');
    char place[128];
    snprintf(place, sizeof place, "subject %.100s", colon == NULL ? "" : colon + 1);
    ant_table_clear(of_one);
    return ant_fail_within(status, place);
}

/* The rows of one subject with their times.  A single row has the axis of the others. */
static antler_status settle_subject(const ant_table *table, const antler_load_opts *opts,
                                    const double *values, const owned_row *rows, const group *g,
                                    ant_table *of_one)
{
    antler_status status = take_subject(table, values, rows, g, of_one);
    if (status == ANTLER_OK && g->count == 1 && table->axis.kind != ANTLER_TIME_NONE) {
        ant_column_read_f64(&of_one->part.columns[of_one->time], 0, 0, 1, &of_one->part.start, 1);
        ant_table_drop(of_one, of_one->time);
        double month;
        if (table->axis.months > 0)
            ant_date_months(&of_one->part.start, 1, &table->style, &month, &of_one->part.month_day);
        return ANTLER_OK;
    }
    if (status == ANTLER_OK)
        status = ant_table_settle_time(of_one, opts);
    return status == ANTLER_OK ? ANTLER_OK : fail_subject(status, of_one);
}

/* The subject with the most rows decides for all whether there is a time axis. */
static antler_status decide_time(ant_table *table, const antler_load_opts *opts, const double *values,
                                 const owned_row *rows, const group *groups, size_t count)
{
    size_t largest = 0;
    ant_table of_one = {0};
    for (size_t i = 1; i < count; i++)
        largest = groups[i].count > groups[largest].count ? i : largest;
    ANT_TRY(settle_subject(table, opts, values, rows, &groups[largest], &of_one));
    table->axis = of_one.axis;
    ant_table_clear(&of_one);
    if (table->axis.kind != ANTLER_TIME_NONE)
        table->claim = ANT_TIME_GIVEN;
    else if (table->time != ANT_NO_COLUMN && table->time < table->dim + table->input_dim)
        table->time = ANT_NO_COLUMN; /* it is a variable */
    else
        table->claim = ANT_TIME_NO_CLAIM;
    return ANTLER_OK;
}

static antler_status place_groups(ant_table *table, const antler_load_opts *opts, owned_row *rows,
                                  group *groups, antler_series **series)
{
    const size_t count = table->part.length, width = table->width;
    const double *values = table->part.buffers[0]; // (count, width)
    for (size_t i = 0; i < count; i++) {
        rows[i] = (owned_row){.subject = values[i * width + table->subject], .row = i};
        ANT_CHECK(rows[i].subject == rows[i].subject, ANTLER_ERROR_DATA,
                  "row %zu has no subject; fill it in, or leave the row out", i + 1);
    }
    qsort(rows, count, sizeof *rows, by_subject);
    const size_t found = find_groups(rows, count, groups);
    ANT_TRY(decide_time(table, opts, values, rows, groups, found));
    for (size_t i = 0; i < found; i++) {
        ant_table of_one = {0};
        table->one_of_many = i > 0;
        ANT_TRY(settle_subject(table, opts, values, rows, &groups[i], &of_one));
        ANT_TRY(ant_table_join(&of_one, opts->dt, series));
    }
    return ANTLER_OK;
}

/* Rows with the same subject are one trajectory, whether they follow each other or not. */
static antler_status place_subjects(ant_table *table, const antler_load_opts *opts, antler_series **series)
{
    ANT_CHECK(table->part.count == 1, ANTLER_ERROR_ARGUMENT,
              "--subject: an array of many trajectories is divided already");
    ANT_TRY(ant_table_to_doubles(table));
    const size_t count = table->part.length;
    owned_row *rows = malloc(count * sizeof *rows);
    group *groups = calloc(count, sizeof *groups);
    antler_status status = ANTLER_OK;
    if (rows == NULL || groups == NULL)
        status = ant_fail_memory(count * (sizeof *rows + sizeof *groups), "the subjects");
    else
        status = place_groups(table, opts, rows, groups, series);
    free(rows);
    free(groups);
    return status;
}

antler_status ant_table_place(ant_table *table, const antler_load_opts *opts, antler_series **series)
{
    antler_status status = ant_sentinels_apply(opts->missing_values, table);
    if (status == ANTLER_OK)
        status = ant_serial_days_settle(table);
    if (status == ANTLER_OK && table->subject != ANT_NO_COLUMN) {
        status = place_subjects(table, opts, series);
        if (status == ANTLER_OK)
            status = ant_notes_move(&table->notes, &(*series)->notes);
        ant_table_clear(table);
        return status;
    }
    if (status == ANTLER_OK)
        status = ant_table_settle_time(table, opts);
    if (status == ANTLER_OK)
        return ant_table_join(table, opts->dt, series);
    ant_table_clear(table);
    return status;
}
