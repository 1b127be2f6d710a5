/* save.c - writing a series; the ending of the name chooses the format. */
#include "data/save.h"
#include "data/format.h"
#include "data/npy.h"
#include "data/sidecar.h"

#include <stdlib.h>

size_t ant_save_tile_rows(size_t width)
{
    const size_t rows = (1 << 15) / width;
    return rows == 0 ? 1 : rows;
}

void ant_save_rows(const antler_series *series, size_t trajectory, bool inputs, size_t first, size_t count,
                   double *out)
{
    const ant_part *part = ant_series_part(series, trajectory);
    const size_t width = inputs ? series->input_dim : series->dim;
    const ant_column *columns = part->columns + (inputs ? series->dim : 0);
    for (size_t j = 0; j < width; j++)
        ant_column_read_f64(&columns[j], trajectory - part->first, first, count, out + j, width);
    if (!ant_machine_is_little_endian())
        ant_swap_bytes(out, count * width, sizeof *out);
}

/* All trajectories, of equal length, as one array of float64: T x N or count x T x N. */
static antler_status write_npy(const antler_series *series, ant_output *output)
{
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t length = antler_series_length(series, 0), dim = series->dim;
    const size_t shape[] = {series->count, length, dim};
    const size_t bytes = series->count == 1 ? ant_npy_format_header("<f8", 2, shape + 1, header)
                                            : ant_npy_format_header("<f8", 3, shape, header);
    ANT_TRY(ant_output_write(output, header, bytes));
    const size_t rows = ant_save_tile_rows(dim);
    double *tile = malloc(rows * dim * sizeof *tile);
    if (tile == NULL)
        return ant_fail_memory(rows * dim * sizeof *tile, "rows to be written");
    antler_status status = ANTLER_OK;
    for (size_t k = 0; k < series->count && status == ANTLER_OK; k++)
        for (size_t row = 0; row < length && status == ANTLER_OK; row += rows) {
            const size_t n = length - row < rows ? length - row : rows;
            ant_save_rows(series, k, false, row, n, tile);
            status = ant_output_write(output, tile, n * dim * sizeof *tile);
        }
    free(tile);
    return status;
}

/* Check that the format can hold these data. */
static antler_status check_npy(const antler_series *series, const char *path)
{
    ANT_CHECK(series->input_dim == 0, ANTLER_ERROR_ARGUMENT,
              "%s: an .npy has no room for inputs; give the file the ending .npz", path);
    for (size_t k = 1; k < series->count; k++)
        ANT_CHECK(
            antler_series_length(series, k) == antler_series_length(series, 0), ANTLER_ERROR_ARGUMENT,
            "%s: the trajectories differ in length, which an .npy cannot hold; give the file the ending "
            ".npz",
            path);
    return ANTLER_OK;
}

static antler_status finish(ant_output *output, antler_status status)
{
    if (status == ANTLER_OK)
        return ant_output_commit(output);
    ant_output_abort(output);
    return status;
}

static antler_status save_npy(const antler_series *series, const char *path)
{
    ant_output output;
    ANT_TRY(check_npy(series, path));
    ANT_TRY(ant_output_open(&output, path));
    return finish(&output, write_npy(series, &output));
}

static antler_status save_csv(const antler_series *series, const char *path, char delimiter)
{
    ant_output output;
    ANT_CHECK(series->count == 1, ANTLER_ERROR_ARGUMENT,
              "%s: text holds one trajectory, but the series has %zu; give the file the ending .npz", path,
              series->count);
    ANT_TRY(ant_output_open(&output, path));
    antler_status status = ant_save_csv(series, delimiter, &output);
    if (status == ANTLER_OK && output.temporary != NULL) { /* a stream has no file beside it */
        const off_t bytes = ftello(output.file);
        status = ant_sidecar_write(series, path, (uint64_t)bytes, ant_save_csv_needs_header(series));
    }
    return finish(&output, status);
}

/* The ending of `path` chooses the format. */
static antler_status save_to(const antler_series *series, const char *path, const char *target)
{
    if (ant_format_has_ending(path, ".npz"))
        return ant_save_npz(series, target);
    if (ant_format_has_ending(path, ".npy"))
        return save_npy(series, target);
    if (ant_format_has_ending(path, ".csv"))
        return save_csv(series, target, ',');
    if (ant_format_has_ending(path, ".tsv"))
        return save_csv(series, target, '\t');
    return ant_fail(
        ANTLER_ERROR_ARGUMENT,
        "%s: the ending chooses the format, and this one is not known; use .npz, .npy, .csv or .tsv", path);
}

antler_status antler_series_save(const antler_series *series, const char *path)
{
    ANT_CHECK(series != NULL && path != NULL, ANTLER_ERROR_ARGUMENT, "saving needs a series and a file name");
    ANT_CHECK(series->count > 0, ANTLER_ERROR_ARGUMENT, "%s: the series has no trajectory to be saved", path);
    char *target = NULL;
    ANT_TRY(ant_output_follow(path, &target));
    const antler_status status = save_to(series, path, target);
    free(target);
    return status;
}
