/* join.c - tables of one or many files become one series; what does not fit together is refused. */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static antler_status begin(const ant_table *table, double dt_override, antler_series **series)
{
    const ant_labels *labels = &table->labels;
    ANT_TRY(antler_series_create(table->dim, table->input_dim, series));
    for (size_t v = 0; v < table->dim + table->input_dim && labels->names != NULL; v++)
        if (labels->names[v] != NULL)
            ANT_TRY(antler_series_set_name(*series, v, labels->names[v]));
    if (labels->mean != NULL)
        ant_series_set_scaling(*series, labels->mean, labels->scale);
    (*series)->time = table->axis;
    (*series)->style = table->style;
    return antler_series_set_dt(*series, dt_override != 0.0 ? dt_override : labels->dt);
}

/* Another file may give names where the first gave none, but not other names. */
static antler_status check_names(const ant_table *table, antler_series *series, const char *first)
{
    char ours[32];
    const char *const *names = (const char *const *)table->labels.names;
    for (size_t v = 0; v < series->dim + series->input_dim && names != NULL; v++) {
        const bool is_input = v >= series->dim;
        snprintf(ours, sizeof ours, is_input ? "s%zu" : "x%zu", is_input ? v - series->dim + 1 : v + 1);
        if (names[v] == NULL || strcmp(names[v], series->names[v]) == 0)
            continue;
        ANT_CHECK(strcmp(series->names[v], ours) == 0, ANTLER_ERROR_DATA,
                  "its %s %zu is called '%s', but '%s' in %s; choose the columns by name with --columns",
                  is_input ? "input" : "column", is_input ? v - series->dim + 1 : v + 1, names[v],
                  series->names[v], first);
        ANT_TRY(antler_series_set_name(series, v, names[v]));
    }
    return ANTLER_OK;
}

static antler_status check_scaling(const ant_table *table, const antler_series *series, const char *first)
{
    const ant_labels *labels = &table->labels;
    const size_t bytes = series->dim * sizeof *labels->mean;
    const bool same = series->scaled == (labels->mean != NULL) &&
                      (!series->scaled || (memcmp(labels->mean, series->mean, bytes) == 0 &&
                                           memcmp(labels->scale, series->scale, bytes) == 0));
    ANT_CHECK(same, ANTLER_ERROR_DATA,
              "its values are standardised differently from those of %s; write both in the same units",
              first);
    return ANTLER_OK;
}

/* dt and the time axis.  Times that were measured give dt with an error. */
static antler_status check_time(const ant_table *table, double dt_override, antler_series *series,
                                const char *first)
{
    const double dt = table->labels.dt, drift = table->axis.kind == ANTLER_TIME_NONE ? 0.0 : 1e-3;
    ANT_CHECK(strcmp(table->axis.unit, series->time.unit) == 0 || table->axis.kind == ANTLER_TIME_NONE ||
                  series->time.kind == ANTLER_TIME_NONE,
              ANTLER_ERROR_DATA, "its time is in '%s', but that of %s in '%s'; write both in the same unit",
              table->axis.unit, first, series->time.unit);
    ANT_CHECK(dt_override != 0.0 || dt == 0.0 || series->dt == 0.0 ||
                  fabs(dt - series->dt) <= drift * series->dt,
              ANTLER_ERROR_DATA,
              "was sampled with dt = %.9g, but %s with dt = %.9g; resample it, or give --dt if that is wrong",
              dt, first, series->dt);
    if (table->axis.kind != series->time.kind) /* not all trajectories have times */
        series->time = (antler_time_axis){.kind = ANTLER_TIME_NONE};
    if (dt_override == 0.0 && series->dt == 0.0)
        return antler_series_set_dt(series, dt);
    return ANTLER_OK;
}

static antler_status check_fit(const ant_table *table, double dt_override, antler_series *series)
{
    const char *first = series->parts[0].origin;
    ANT_CHECK(table->dim == series->dim, ANTLER_ERROR_DATA,
              "has %zu variable%s, but %s has %zu; all must have the same, so choose with --columns",
              table->dim, table->dim == 1 ? "" : "s", first, series->dim);
    ANT_CHECK(table->input_dim == series->input_dim, ANTLER_ERROR_DATA,
              "has %zu input%s, but %s has %zu; all must have the same, so choose with --inputs",
              table->input_dim, table->input_dim == 1 ? "" : "s", first, series->input_dim);
    ANT_TRY(check_names(table, series, first));
    ANT_TRY(check_scaling(table, series, first));
    return check_time(table, dt_override, series, first);
}

antler_status ant_table_join(ant_table *table, double dt_override, antler_series **series)
{
    antler_status status =
        *series == NULL ? begin(table, dt_override, series) : check_fit(table, dt_override, *series);
    if (status == ANTLER_OK)
        status = ant_notes_move(&table->notes, &(*series)->notes);
    if (status == ANTLER_OK) {
        const ant_part part = table->part;
        table->part = (ant_part){0};
        status = ant_series_add_part(*series, part);
    }
    ant_table_clear(table);
    return status;
}
