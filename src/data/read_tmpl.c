/*
 * read_tmpl.c - convert stored values to double or float.
 *
 * The arithmetic of a standardisation is done in double and rounded once.
 */
#include "base/real.h"
#include "data/series.h"

#include <string.h>

/* Rows of a tile: small enough that a tile of many columns stays in the cache. */
enum { TILE_VALUES = 32768, TILE_ROWS_MIN = 64 };

void ANT_FN(ant_column_read)(const ant_column *column, size_t trajectory, size_t first, size_t count,
                             real *out, size_t step)
{
    const unsigned char *from =
        column->first + (ptrdiff_t)trajectory * column->trajectory_step + (ptrdiff_t)first * column->row_step;
    const ptrdiff_t row_step = column->row_step;
    const double shift = column->shift, divisor = column->divisor;
    const bool plain = shift == 0.0 && divisor == 1.0;
    switch (column->dtype) {
#define READ_CASE(name, type, text, kind)                                                                    \
    case ANT_##name:                                                                                         \
        if (plain)                                                                                           \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i * step] = (real) * (const type *)(const void *)(from + (ptrdiff_t)i * row_step);       \
        else                                                                                                 \
            for (size_t i = 0; i < count; i++) {                                                             \
                const type stored = *(const type *)(const void *)(from + (ptrdiff_t)i * row_step);           \
                out[i * step] = (real)(((double)stored - shift) / divisor);                                  \
            }                                                                                                \
        break;
        ANT_DTYPE_LIST(READ_CASE)
#undef READ_CASE
    }
}

/* Whether rows of these columns already have the layout of `out` in memory. */
static bool is_packed(const ant_column *columns, size_t width)
{
    const ant_dtype wanted = sizeof(real) == sizeof(double) ? ANT_F64 : ANT_F32;
    for (size_t j = 0; j < width; j++) {
        const ant_column *c = &columns[j];
        if (c->dtype != wanted || c->shift != 0.0 || c->divisor != 1.0 ||
            c->row_step != (ptrdiff_t)(width * sizeof(real)) ||
            c->first != columns[0].first + j * sizeof(real))
            return false;
    }
    return true;
}

/* out: (count, width) */
static void read_columns(const ant_column *columns, size_t width, size_t trajectory, size_t first,
                         size_t count, real *out)
{
    if (width == 0 || count == 0)
        return;
    if (is_packed(columns, width)) {
        const unsigned char *from = columns[0].first + (ptrdiff_t)trajectory * columns[0].trajectory_step +
                                    (ptrdiff_t)first * columns[0].row_step;
        memcpy(out, from, count * width * sizeof(real));
        return;
    }
    const size_t rows = TILE_VALUES / width > TILE_ROWS_MIN ? TILE_VALUES / width : TILE_ROWS_MIN;
    for (size_t row = 0; row < count; row += rows) {
        const size_t n = count - row < rows ? count - row : rows;
        for (size_t j = 0; j < width; j++)
            ANT_FN(ant_column_read)(&columns[j], trajectory, first + row, n, out + row * width + j, width);
    }
}

antler_status ANT_FN(antler_series_read)(const antler_series *series, size_t trajectory, size_t first,
                                         size_t count, real *x, real *inputs)
{
    ANT_CHECK(series != NULL && (x != NULL || count == 0), ANTLER_ERROR_ARGUMENT,
              "reading a series needs a series and a place to put the values");
    ANT_CHECK(trajectory < series->count, ANTLER_ERROR_ARGUMENT,
              "trajectory %zu was requested, but the series has %zu", trajectory, series->count);
    const ant_part *part = ant_series_part(series, trajectory);
    ANT_CHECK(first <= part->length && count <= part->length - first, ANTLER_ERROR_ARGUMENT,
              "rows %zu to %zu were requested, but trajectory %zu has %zu rows", first, first + count,
              trajectory, part->length);
    const size_t local = trajectory - part->first;
    read_columns(part->columns, series->dim, local, first, count, x);
    if (inputs != NULL)
        read_columns(part->columns + series->dim, series->input_dim, local, first, count, inputs);
    return ANTLER_OK;
}
