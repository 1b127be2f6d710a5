/* save_csv.c - a trajectory as text; csv.h says what the comment lines mean. */
#include "data/fields.h"
#include "data/number.h"
#include "data/save.h"

#include <stdlib.h>
#include <string.h>

static antler_status write_text(ant_output *output, const char *text)
{
    return ant_output_write(output, text, strlen(text));
}

static antler_status write_number(ant_output *output, double value, const char *after)
{
    char text[ANT_NUMBER_ROOM];
    const size_t length = ant_number_write(value, text);
    ANT_TRY(ant_output_write(output, text, length));
    return write_text(output, after);
}

/* values: (count) */
static antler_status write_list(ant_output *output, const char *key, const double *values, size_t count)
{
    ANT_TRY(write_text(output, key));
    for (size_t i = 0; i < count; i++)
        ANT_TRY(write_number(output, values[i], i + 1 == count ? "\n" : ","));
    return ANTLER_OK;
}

/* Whether a reader that reads the first name only would take it for data. */
static bool looks_like_data(const char *name)
{
    double ignored;
    const ant_field field = {.text = name, .end = name + strlen(name)};
    return ant_field_read(field, &ignored) != ANT_FIELD_WORD;
}

static antler_status write_facts(const antler_series *series, ant_output *output)
{
    if (series->dt != 0.0) {
        ANT_TRY(write_text(output, "# antler: dt="));
        ANT_TRY(write_number(output, series->dt, "\n"));
    }
    if (series->scaled) {
        ANT_TRY(write_list(output, "# antler: mean=", series->mean, series->dim));
        ANT_TRY(write_list(output, "# antler: scale=", series->scale, series->dim));
    }
    if (series->input_dim != 0) {
        ANT_TRY(write_text(output, "# antler: inputs="));
        ANT_TRY(write_number(output, (double)series->input_dim, "\n"));
    }
    for (size_t v = 0; v < series->dim + series->input_dim; v++)
        if (looks_like_data(series->names[v]))
            return write_text(output, "# antler: header=yes\n");
    return ANTLER_OK;
}

static antler_status write_name(ant_output *output, const char *name, char delimiter)
{
    const size_t length = strlen(name);
    const char special[] = {delimiter, '"', '#', ';', ',', '\t', '\0'};
    if (strpbrk(name, special) == NULL && name[0] != ' ' && name[length - 1] != ' ')
        return write_text(output, name);
    ANT_TRY(write_text(output, "\""));
    for (const char *p = name; *p != '\0'; p++) {
        ANT_TRY(ant_output_write(output, p, 1));
        if (*p == '"')
            ANT_TRY(ant_output_write(output, p, 1));
    }
    return write_text(output, "\"");
}

static antler_status write_header(const antler_series *series, char delimiter, ant_output *output)
{
    const size_t width = series->dim + series->input_dim;
    for (size_t v = 0; v < width; v++) {
        ANT_TRY(write_name(output, series->names[v], delimiter));
        ANT_TRY(ant_output_write(output, v + 1 == width ? "\n" : &delimiter, 1));
    }
    return ANTLER_OK;
}

/* tile: (rows, dim + input_dim), variables and inputs side by side; line: room for one line */
static antler_status write_rows(const antler_series *series, char delimiter, ant_output *output, double *tile,
                                size_t rows, char *line)
{
    const size_t width = series->dim + series->input_dim, length = antler_series_length(series, 0);
    const ant_column *columns = series->parts[0].columns;
    for (size_t row = 0; row < length; row += rows) {
        const size_t n = length - row < rows ? length - row : rows;
        for (size_t j = 0; j < width; j++)
            ant_column_read_f64(&columns[j], 0, row, n, tile + j, width);
        for (size_t i = 0; i < n; i++) {
            size_t used = 0;
            for (size_t j = 0; j < width; j++) {
                used += ant_number_write(tile[i * width + j], line + used);
                line[used++] = j + 1 == width ? '\n' : delimiter;
            }
            ANT_TRY(ant_output_write(output, line, used));
        }
    }
    return ANTLER_OK;
}

antler_status ant_save_csv(const antler_series *series, char delimiter, ant_output *output)
{
    const size_t width = series->dim + series->input_dim, rows = ant_save_tile_rows(width);
    double *tile = malloc(rows * width * sizeof *tile);
    char *line = malloc(width * (ANT_NUMBER_ROOM + 1));
    const ant_c_locale locale = ant_c_locale_begin();
    antler_status status = ANTLER_OK;
    if (tile == NULL || line == NULL)
        status = ant_fail_memory(rows * width * sizeof *tile, "rows to be written");
    if (status == ANTLER_OK)
        status = write_facts(series, output);
    if (status == ANTLER_OK)
        status = write_header(series, delimiter, output);
    if (status == ANTLER_OK)
        status = write_rows(series, delimiter, output, tile, rows, line);
    ant_c_locale_end(locale);
    free(tile);
    free(line);
    return status;
}
