/* series.c - create, fill and query a series set. */
#include "data/series.h"
#include "data/excerpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *default_name(const antler_series *series, size_t variable)
{
    char text[32];
    if (variable < series->dim)
        snprintf(text, sizeof text, "x%zu", variable + 1);
    else
        snprintf(text, sizeof text, "s%zu", variable - series->dim + 1);
    return strdup(text);
}

static bool allocate(antler_series *series)
{
    const size_t width = series->dim + series->input_dim;
    series->names = calloc(width, sizeof *series->names);
    series->mean = calloc(series->dim, sizeof *series->mean);
    series->scale = calloc(series->dim, sizeof *series->scale);
    if (series->names == NULL || series->mean == NULL || series->scale == NULL)
        return false;
    for (size_t v = 0; v < width; v++) {
        series->names[v] = default_name(series, v);
        if (series->names[v] == NULL)
            return false;
    }
    for (size_t v = 0; v < series->dim; v++)
        series->scale[v] = 1.0;
    return true;
}

antler_status antler_series_create(size_t dim, size_t input_dim, antler_series **series)
{
    ANT_CHECK(series != NULL, ANTLER_ERROR_ARGUMENT, "antler_series_create needs a place for the series");
    ANT_CHECK(dim >= 1, ANTLER_ERROR_ARGUMENT, "a series needs at least one variable");
    ANT_CHECK(dim <= ANT_SERIES_MAX_DIM && input_dim <= ANT_SERIES_MAX_DIM - dim, ANTLER_ERROR_ARGUMENT,
              "a series has at most %d variables and inputs together, not %zu and %zu", ANT_SERIES_MAX_DIM,
              dim, input_dim);
    antler_series *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ant_fail_memory(sizeof *made, "a series");
    made->dim = dim;
    made->input_dim = input_dim;
    if (!allocate(made)) {
        antler_series_free(made);
        return ant_fail_memory((dim + input_dim) * 3 * sizeof(double), "a series");
    }
    *series = made;
    return ANTLER_OK;
}

void ant_part_free(ant_part *part)
{
    free(part->columns);
    free(part->buffers[0]);
    free(part->buffers[1]);
    ant_mapping_free(&part->mapping);
    free(part->origin);
    *part = (ant_part){0};
}

void antler_series_free(antler_series *series)
{
    if (series == NULL)
        return;
    for (size_t p = 0; p < series->part_count; p++)
        ant_part_free(&series->parts[p]);
    free(series->parts);
    if (series->names != NULL)
        for (size_t v = 0; v < series->dim + series->input_dim; v++)
            free(series->names[v]);
    free(series->names);
    free(series->mean);
    free(series->scale);
    ant_notes_clear(&series->notes);
    free(series);
}

antler_status ant_series_add_part(antler_series *series, ant_part part)
{
    if (series->part_count == series->part_capacity) {
        const size_t capacity = series->part_capacity == 0 ? 4 : 2 * series->part_capacity;
        ant_part *grown = realloc(series->parts, capacity * sizeof *grown);
        if (grown == NULL) {
            ant_part_free(&part);
            return ant_fail_memory(capacity * sizeof *grown, "the list of trajectories");
        }
        series->parts = grown;
        series->part_capacity = capacity;
    }
    part.first = series->count;
    series->parts[series->part_count++] = part;
    series->count += part.count;
    series->total_length += part.count * part.length;
    return ANTLER_OK;
}

/* Columns of a row-major table of doubles.  values: (length, width) */
static void point_columns(ant_column *columns, const double *values, size_t width)
{
    for (size_t j = 0; j < width; j++)
        columns[j] = (ant_column){.first = (const unsigned char *)(values + j),
                                  .row_step = (ptrdiff_t)(width * sizeof *values),
                                  .dtype = ANT_F64,
                                  .divisor = 1.0};
}

antler_status antler_series_append(antler_series *series, size_t length, const double *x,
                                   const double *inputs)
{
    ANT_CHECK(series != NULL && x != NULL && length >= 1, ANTLER_ERROR_ARGUMENT,
              "a trajectory needs a series to go to and at least one row");
    ANT_CHECK(series->input_dim == 0 || inputs != NULL, ANTLER_ERROR_ARGUMENT,
              "this series has %zu inputs; give their values with each trajectory", series->input_dim);
    const size_t width = series->dim + series->input_dim;
    ANT_CHECK(length <= SIZE_MAX / 2 / sizeof *x / width, ANTLER_ERROR_MEMORY,
              "out of memory: a trajectory of %zu rows and %zu columns is too large", length, width);
    const size_t x_bytes = length * series->dim * sizeof *x;
    const size_t input_bytes = length * series->input_dim * sizeof *inputs;
    ant_part part = {.count = 1, .length = length};
    double *values = malloc(x_bytes + input_bytes);
    part.buffers[0] = values;
    part.columns = malloc(width * sizeof *part.columns);
    part.origin = strdup("");
    if (values == NULL || part.columns == NULL || part.origin == NULL) {
        ant_part_free(&part);
        return ant_fail_memory(x_bytes + input_bytes, "a trajectory");
    }
    memcpy(values, x, x_bytes);
    if (input_bytes != 0)
        memcpy(values + length * series->dim, inputs, input_bytes);
    point_columns(part.columns, values, series->dim);
    point_columns(part.columns + series->dim, values + length * series->dim, series->input_dim);
    return ant_series_add_part(series, part);
}

size_t antler_series_count(const antler_series *series)
{
    return series == NULL ? 0 : series->count;
}

size_t antler_series_dim(const antler_series *series)
{
    return series == NULL ? 0 : series->dim;
}

size_t antler_series_input_dim(const antler_series *series)
{
    return series == NULL ? 0 : series->input_dim;
}

size_t antler_series_total_length(const antler_series *series)
{
    return series == NULL ? 0 : series->total_length;
}

const ant_part *ant_series_part(const antler_series *series, size_t trajectory)
{
    size_t low = 0, high = series->part_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (series->parts[middle].first <= trajectory)
            low = middle;
        else
            high = middle;
    }
    return &series->parts[low];
}

size_t antler_series_length(const antler_series *series, size_t trajectory)
{
    return series != NULL && trajectory < series->count ? ant_series_part(series, trajectory)->length : 0;
}

const char *antler_series_origin(const antler_series *series, size_t trajectory)
{
    return series != NULL && trajectory < series->count ? ant_series_part(series, trajectory)->origin : "";
}

const char *antler_series_dtype(const antler_series *series, size_t trajectory)
{
    return series != NULL && trajectory < series->count
               ? ant_dtype_name(ant_series_part(series, trajectory)->columns[0].dtype)
               : "";
}

antler_status ant_series_set_origin(antler_series *series, const char *origin)
{
    if (series->part_count == 0)
        return ant_fail(ANTLER_ERROR_INTERNAL, "an origin was given to an empty series");
    char *copy = strdup(origin);
    if (copy == NULL)
        return ant_fail_memory(strlen(origin), "a name");
    ant_part *newest = &series->parts[series->part_count - 1];
    free(newest->origin);
    newest->origin = copy;
    return ANTLER_OK;
}

const char *antler_series_name(const antler_series *series, size_t variable)
{
    return series != NULL && variable < series->dim + series->input_dim ? series->names[variable] : "";
}

bool ant_series_name_is_fit(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        bytes = ant_utf8_character(name + i, length - i);
        if (bytes == 0 || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return false;
    }
    return length > 0;
}

antler_status antler_series_set_name(antler_series *series, size_t variable, const char *name)
{
    ANT_CHECK(series != NULL && variable < series->dim + series->input_dim, ANTLER_ERROR_ARGUMENT,
              "there is no variable %zu to be named", variable);
    ANT_CHECK(name != NULL && ant_series_name_is_fit(name), ANTLER_ERROR_ARGUMENT,
              "the name of a variable must be UTF-8 text, not empty and without control characters");
    char *copy = strdup(name);
    if (copy == NULL)
        return ant_fail_memory(strlen(name), "a name");
    free(series->names[variable]);
    series->names[variable] = copy;
    return ANTLER_OK;
}

double antler_series_dt(const antler_series *series)
{
    return series == NULL ? 0.0 : series->dt;
}

antler_status antler_series_set_dt(antler_series *series, double dt)
{
    ANT_CHECK(series != NULL && isfinite(dt) && dt >= 0.0, ANTLER_ERROR_ARGUMENT,
              "dt is %g; it must be a positive number, or 0 when it is not known", dt);
    series->dt = dt;
    return ANTLER_OK;
}

antler_status ant_series_like(const antler_series *series, antler_series **made)
{
    *made = NULL;
    ANT_TRY(antler_series_create(series->dim, series->input_dim, made));
    for (size_t v = 0; v < series->dim + series->input_dim; v++)
        ANT_TRY(antler_series_set_name(*made, v, series->names[v]));
    if (series->scaled)
        ant_series_set_scaling(*made, series->mean, series->scale);
    return antler_series_set_dt(*made, series->dt);
}
