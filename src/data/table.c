/* table.c - arrays of a file, with the chosen columns, as one part of a series. */
#include "data/table.h"

#include <stdlib.h>
#include <string.h>

void ant_labels_clear(ant_labels *labels)
{
    if (labels->names != NULL)
        for (size_t i = 0; i < labels->count; i++)
            free(labels->names[i]);
    free(labels->names);
    free(labels->mean);
    free(labels->scale);
    *labels = (ant_labels){0};
}

void ant_table_clear(ant_table *table)
{
    ant_part_free(&table->part);
    ant_labels_clear(&table->labels);
    free(table->time_name);
    free(table->stamps);
    for (size_t i = 0; i < table->subject_count; i++)
        free(table->subjects[i]);
    free(table->subjects);
    ant_notes_clear(&table->notes);
    *table = (ant_table){.time = ANT_NO_COLUMN, .subject = ANT_NO_COLUMN};
}

/* Extents and byte steps of an array seen as trajectories x rows x columns. */
typedef struct layout {
    size_t count, rows, columns;
    ptrdiff_t count_step, row_step, column_step;
} layout;

static layout layout_of(const ant_array *array, bool transpose)
{
    size_t extent[3] = {1, 1, 1};
    const size_t item = ant_dtype_size(array->dtype);
    if (array->rank == 1) {
        extent[1] = array->shape[0];
    } else {
        for (size_t i = 0; i < array->rank; i++)
            extent[3 - array->rank + i] = array->shape[i];
    }
    ptrdiff_t step[3];
    size_t running = item;
    for (size_t k = 0; k < 3; k++) {
        const size_t i = array->fortran ? k : 2 - k;
        step[i] = (ptrdiff_t)running;
        running *= extent[i];
    }
    const bool flip = transpose && array->rank > 1;
    const size_t row = flip ? 2 : 1, column = flip ? 1 : 2;
    return (layout){.count = extent[0],
                    .rows = extent[row],
                    .columns = extent[column],
                    .count_step = step[0],
                    .row_step = step[row],
                    .column_step = step[column]};
}

size_t ant_array_columns(const ant_array *array, bool transpose)
{
    return layout_of(array, transpose).columns;
}

static ant_column column_of(const ant_array *array, const layout *l, size_t column)
{
    return (ant_column){.first = (const unsigned char *)array->values + (ptrdiff_t)column * l->column_step,
                        .row_step = l->row_step,
                        .trajectory_step = l->count_step,
                        .dtype = array->dtype,
                        .divisor = 1.0};
}

static antler_status copy_names(const ant_labels *file, const ant_choice *choice, ant_labels *chosen)
{
    chosen->names = calloc(chosen->count, sizeof *chosen->names);
    if (chosen->names == NULL)
        return ant_fail_memory(chosen->count * sizeof *chosen->names, "the names");
    for (size_t i = 0; i < chosen->count; i++) {
        const char *name = file->names[choice->columns[i]];
        if (name != NULL && (chosen->names[i] = strdup(name)) == NULL)
            return ant_fail_memory(strlen(name), "the names");
    }
    return ANTLER_OK;
}

antler_status ant_labels_choose(const ant_labels *file, const ant_choice *choice, ant_labels *chosen)
{
    *chosen = (ant_labels){
        .count = choice->dim + choice->input_dim, .own_inputs = choice->input_dim, .dt = file->dt};
    antler_status status = file->names == NULL ? ANTLER_OK : copy_names(file, choice, chosen);
    if (status == ANTLER_OK && file->mean != NULL) {
        chosen->mean = calloc(choice->dim, sizeof *chosen->mean);
        chosen->scale = calloc(choice->dim, sizeof *chosen->scale);
        if (chosen->mean == NULL || chosen->scale == NULL)
            status = ant_fail_memory(2 * choice->dim * sizeof *chosen->mean, "the scaling");
    }
    if (status != ANTLER_OK) {
        ant_labels_clear(chosen);
        return status;
    }
    for (size_t i = 0; i < choice->dim && chosen->mean != NULL; i++) {
        const size_t from = choice->columns[i];
        const bool has_scaling = from < file->count - file->own_inputs; /* inputs are never scaled */
        chosen->mean[i] = has_scaling ? file->mean[from] : 0.0;
        chosen->scale[i] = has_scaling ? file->scale[from] : 1.0;
    }
    return ANTLER_OK;
}

/* What the choice says about time and subjects. */
static antler_status take_roles(ant_table *table, const ant_choice *choice, char *const *names)
{
    table->dim = choice->dim;
    table->input_dim = choice->input_dim;
    table->width = choice->width;
    table->time = choice->time;
    table->claim = choice->claim;
    table->subject = choice->subject;
    const char *name =
        choice->time == ANT_NO_COLUMN || names == NULL ? NULL : names[choice->columns[choice->time]];
    if (name == NULL)
        return ANTLER_OK;
    ant_time_name(name, table->time_unit);
    table->time_name = strdup(name);
    return table->time_name == NULL ? ant_fail_memory(strlen(name), "a name") : ANTLER_OK;
}

/* Fill the part's columns and labels once the layouts are known to fit. */
static antler_status point(ant_table *table, const ant_array *x, const ant_array *inputs, const layout *xl,
                           const layout *il, const ant_labels *labels, const antler_load_opts *opts)
{
    ant_choice choice = {0};
    const ant_file_columns file = {.names = labels->names,
                                   .count = xl->columns + il->columns,
                                   .own_inputs = inputs->values == NULL ? labels->own_inputs : il->columns,
                                   .dates = ANT_NO_COLUMN,
                                   .clock = ANT_NO_COLUMN,
                                   .untimed = xl->count > 1};
    ANT_TRY(ant_choice_make(opts, &file, &choice));
    antler_status status = take_roles(table, &choice, labels->names);
    table->part.count = xl->count;
    table->part.length = xl->rows;
    table->part.columns = calloc(choice.width, sizeof *table->part.columns);
    if (table->part.columns == NULL)
        status = ant_fail_memory(choice.width * sizeof *table->part.columns, "the columns");
    for (size_t i = 0; i < choice.width && status == ANTLER_OK; i++) {
        const size_t c = choice.columns[i];
        table->part.columns[i] =
            c < xl->columns ? column_of(x, xl, c) : column_of(inputs, il, c - xl->columns);
    }
    if (status == ANTLER_OK)
        status = ant_labels_choose(labels, &choice, &table->labels);
    ant_choice_clear(&choice);
    return status;
}

static antler_status check_inputs(const layout *x, const layout *inputs)
{
    ANT_CHECK(x->count == inputs->count, ANTLER_ERROR_FORMAT,
              "its inputs are for %zu trajectories, but it has %zu; give one table of inputs for each",
              inputs->count, x->count);
    ANT_CHECK(x->rows == inputs->rows, ANTLER_ERROR_FORMAT,
              "its inputs have %zu rows, but the trajectory has %zu; give one row of inputs for each row",
              inputs->rows, x->rows);
    return ANTLER_OK;
}

antler_status ant_table_from_arrays(ant_array *x, ant_array *inputs, const ant_labels *labels,
                                    const antler_load_opts *opts, const char *origin, ant_table *table)
{
    *table = (ant_table){.part.buffers = {x->mapping.base == NULL ? x->values : NULL, inputs->values},
                         .part.mapping = x->mapping,
                         .part.origin = strdup(origin),
                         .time = ANT_NO_COLUMN,
                         .subject = ANT_NO_COLUMN};
    const layout xl = layout_of(x, opts->transpose);
    const layout il = inputs->values == NULL ? (layout){0} : layout_of(inputs, opts->transpose);
    antler_status status = ANTLER_OK;
    if (table->part.origin == NULL)
        status = ant_fail_memory(strlen(origin), "a name");
    if (status == ANTLER_OK && inputs->values != NULL)
        status = check_inputs(&xl, &il);
    if (status == ANTLER_OK)
        status = point(table, x, inputs, &xl, &il, labels, opts);
    x->values = inputs->values = NULL; /* the table owns them */
    x->mapping = (ant_mapping){0};
    if (status != ANTLER_OK)
        ant_table_clear(table);
    return status;
}

/* Columns of a row-major table of doubles.  values: (rows, width) */
static void point_rows(ant_part *part, double *values, size_t rows, size_t width)
{
    part->count = 1;
    part->length = rows;
    for (size_t j = 0; j < width; j++)
        part->columns[j] = (ant_column){.first = (const unsigned char *)(values + j),
                                        .row_step = (ptrdiff_t)(width * sizeof *values),
                                        .dtype = ANT_F64,
                                        .divisor = 1.0};
}

antler_status ant_table_from_rows(double *values, size_t rows, const ant_choice *choice, ant_labels *labels,
                                  const char *origin, ant_table *table)
{
    *table = (ant_table){.part.buffers = {values, NULL},
                         .part.origin = strdup(origin),
                         .part.columns = calloc(choice->width, sizeof *table->part.columns),
                         .labels = *labels};
    *labels = (ant_labels){0};
    antler_status status = take_roles(table, choice, NULL);
    if (table->part.origin == NULL || table->part.columns == NULL)
        status = ant_fail_memory(choice->width * sizeof *table->part.columns, "the columns");
    if (status == ANTLER_OK)
        point_rows(&table->part, values, rows, choice->width);
    else
        ant_table_clear(table);
    return status;
}

void ant_table_set_rows(ant_table *table, double *values, size_t rows)
{
    free(table->part.buffers[0]);
    free(table->part.buffers[1]);
    ant_mapping_free(&table->part.mapping);
    table->part.buffers[0] = values;
    table->part.buffers[1] = NULL;
    point_rows(&table->part, values, rows, table->width);
}

antler_status ant_table_to_doubles(ant_table *table)
{
    const size_t width = table->width, rows = table->part.length, count = table->part.count;
    double *values = malloc(rows * count * width * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(rows * count * width * sizeof *values, "the values");
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < width; j++)
            ant_column_read_f64(&table->part.columns[j], k, 0, rows, values + k * rows * width + j, width);
    ant_table_set_rows(table, values, rows);
    table->part.count = count;
    for (size_t j = 0; j < width; j++)
        table->part.columns[j].trajectory_step = (ptrdiff_t)(rows * width * sizeof *values);
    return ANTLER_OK;
}

void ant_table_drop(ant_table *table, size_t column)
{
    ant_labels *labels = &table->labels;
    memmove(table->part.columns + column, table->part.columns + column + 1,
            (table->width - column - 1) * sizeof *table->part.columns);
    table->width--;
    if (table->time != ANT_NO_COLUMN)
        table->time = table->time == column ? ANT_NO_COLUMN : table->time - (table->time > column);
    if (table->subject != ANT_NO_COLUMN)
        table->subject =
            table->subject == column ? ANT_NO_COLUMN : table->subject - (table->subject > column);
    if (column >= table->dim + table->input_dim)
        return;
    if (labels->names != NULL) {
        free(labels->names[column]);
        memmove(labels->names + column, labels->names + column + 1,
                (labels->count - column - 1) * sizeof *labels->names);
    }
    if (labels->mean != NULL && column < table->dim) {
        memmove(labels->mean + column, labels->mean + column + 1,
                (table->dim - column - 1) * sizeof *labels->mean);
        memmove(labels->scale + column, labels->scale + column + 1,
                (table->dim - column - 1) * sizeof *labels->scale);
    }
    labels->count--;
    labels->own_inputs -= column >= table->dim;
    table->input_dim -= column >= table->dim;
    table->dim -= column < table->dim;
}
