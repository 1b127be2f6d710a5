/* save_csv.c - a trajectory as text: a header and rows; sidecar.h has its other facts. */
#include "data/fields.h"
#include "data/number.h"
#include "data/save.h"

#include <stdlib.h>
#include <string.h>

static antler_status write_text(ant_output *output, const char *text)
{
    return ant_output_write(output, text, strlen(text));
}

/* Whether a reader that reads the first name only would take it for data. */
static bool looks_like_data(const char *name)
{
    double ignored;
    const ant_field field = {.text = name, .end = name + strlen(name)};
    return ant_field_read(field, &ignored) != ANT_FIELD_WORD;
}

bool ant_save_csv_needs_header(const antler_series *series)
{
    bool needed = false;
    for (size_t v = 0; v < series->dim + series->input_dim; v++)
        needed = needed || looks_like_data(series->names[v]);
    return needed;
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
    if (series->time.kind != ANTLER_TIME_NONE) {
        ANT_TRY(write_name(output, series->time.name, delimiter));
        ANT_TRY(ant_output_write(output, &delimiter, 1));
    }
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
            if (series->time.kind != ANTLER_TIME_NONE) {
                used = ant_series_time_text(series, 0, row + i, line);
                line[used++] = delimiter;
            }
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
    char *line = malloc(width * (ANT_NUMBER_ROOM + 1) + ANT_TIME_ROOM + 1);
    const ant_c_locale locale = ant_c_locale_begin();
    antler_status status = ANTLER_OK;
    if (tile == NULL || line == NULL)
        status = ant_fail_memory(rows * width * sizeof *tile, "rows to be written");
    if (status == ANTLER_OK)
        status = write_header(series, delimiter, output);
    if (status == ANTLER_OK)
        status = write_rows(series, delimiter, output, tile, rows, line);
    ant_c_locale_end(locale);
    free(tile);
    free(line);
    return status;
}
