/* view.c - trajectories in the caller's memory, which are not copied. */
#include "base/sized.h"
#include "data/excerpt.h"
#include "data/series.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static antler_status find_dtype(const char *name, ant_dtype *dtype)
{
    for (ant_dtype i = ANT_F64; i <= ANT_BOOL; i++) {
        if (strcmp(name, ant_dtype_name(i)) == 0) {
            *dtype = i;
            return ANTLER_OK;
        }
    }
    char shown[ANT_EXCERPT_ROOM];
    return ant_fail(ANTLER_ERROR_DATA,
                    "values of type '%s' cannot be used; convert them to float64, float32 or an integer",
                    ant_excerpt(name, strlen(name), shown));
}

/* Point `count` columns at a view.  Reading goes through typed pointers, so everything must be aligned. */
static antler_status point(const antler_view *view, size_t count, ant_column *columns)
{
    ant_dtype dtype = ANT_F64;
    ANT_CHECK(view->values != NULL && view->dtype != NULL, ANTLER_ERROR_ARGUMENT,
              "a view needs values and their type");
    ANT_TRY(find_dtype(view->dtype, &dtype));
    const ptrdiff_t size = (ptrdiff_t)ant_dtype_size(dtype);
    ANT_CHECK((uintptr_t)view->values % (size_t)size == 0 && view->row_step % size == 0 &&
                  view->column_step % size == 0,
              ANTLER_ERROR_ARGUMENT, "the values of a view must be aligned for %s; copy them first",
              view->dtype);
    for (size_t j = 0; j < count; j++)
        columns[j] =
            (ant_column){.first = (const unsigned char *)view->values + (ptrdiff_t)j * view->column_step,
                         .row_step = view->row_step,
                         .dtype = dtype,
                         .divisor = 1.0};
    return ANTLER_OK;
}

void(antler_view_default)(antler_view *view, size_t struct_size)
{
    const antler_view standard = {0};
    ant_sized_default(&standard, sizeof standard, view, struct_size);
}

antler_status antler_series_append_view(antler_series *series, size_t length, const antler_view *x,
                                        const antler_view *inputs)
{
    ANT_CHECK(series != NULL && x != NULL && length >= 1, ANTLER_ERROR_ARGUMENT,
              "a trajectory needs a series to go to and at least one row");
    ANT_OPTIONS(antler_view, x);
    ANT_OPTIONS(antler_view, inputs);
    ANT_CHECK(series->input_dim == 0 || inputs != NULL, ANTLER_ERROR_ARGUMENT,
              "this series has %zu inputs; give their values with each trajectory", series->input_dim);
    const size_t width = series->dim + series->input_dim;
    ant_part part = {.count = 1, .length = length};
    part.columns = malloc(width * sizeof *part.columns);
    part.origin = strdup("");
    antler_status status = ANTLER_OK;
    if (part.columns == NULL || part.origin == NULL)
        status = ant_fail_memory(width * sizeof *part.columns, "a trajectory");
    if (status == ANTLER_OK)
        status = point(x, series->dim, part.columns);
    if (status == ANTLER_OK && series->input_dim > 0)
        status = point(inputs, series->input_dim, part.columns + series->dim);
    if (status == ANTLER_OK)
        return ant_series_add_part(series, part);
    ant_part_free(&part);
    return status;
}
