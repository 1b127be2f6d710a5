/* load.c - files and patterns become one series. */
#include "data/load.h"
#include "data/csv.h"
#include "data/format.h"
#include "data/npz.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void antler_load_opts_default(antler_load_opts *opts)
{
    *opts = (antler_load_opts){0};
}

antler_status ant_load_npy(ant_source *source, const antler_load_opts *opts, const char *origin,
                           antler_series **series)
{
    ant_npy_header header;
    ant_array x = {0}, none = {0};
    ant_table table = {0};
    const ant_labels nothing = {0};
    ANT_TRY(ant_npy_read_header(source, &header));
    ANT_TRY(ant_npy_check_numeric(&header));
    ANT_TRY(ant_npy_read_values(source, &header, &x));
    ANT_TRY(ant_table_from_arrays(&x, &none, &nothing, opts, origin, &table));
    return ant_table_join(&table, opts->dt, series);
}

antler_status ant_load_text(ant_source *source, const antler_load_opts *opts, const char *origin,
                            antler_series **series)
{
    ant_table table = {0};
    ANT_TRY(ant_csv_read(source, opts, origin, &table));
    return ant_table_join(&table, opts->dt, series);
}

static antler_status load_npz(const char *path, const ant_source *source, const antler_load_opts *opts,
                              antler_series **series)
{
    ant_npz *npz = NULL;
    ANT_CHECK(source->size_is_seen, ANTLER_ERROR_FORMAT,
              "is an archive that comes through a pipe; write it to a file first");
    ANT_TRY(ant_npz_open_file(&npz, path));
    const antler_status status = ant_npz_read(npz, opts, path, series);
    ant_npz_close(npz);
    return status;
}

static antler_status load_file(const char *path, const antler_load_opts *opts, antler_series **series)
{
    ant_source source;
    ant_format format = ANT_FORMAT_TEXT;
    antler_status status = ant_source_open_file(&source, path);
    if (status != ANTLER_OK)
        return ant_fail_within(status, path);
    status = ant_format_find(path, &source, &format);
    if (status == ANTLER_OK)
        status = format == ANT_FORMAT_NPY   ? ant_load_npy(&source, opts, path, series)
                 : format == ANT_FORMAT_NPZ ? load_npz(path, &source, opts, series)
                                            : ant_load_text(&source, opts, path, series);
    ant_source_close(&source);
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, path);
}

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static antler_status load_pattern(const char *pattern, const antler_load_opts *opts, antler_series **series)
{
    struct stat facts;
    if (!is_pattern(pattern) || stat(pattern, &facts) == 0) /* a file may be called a[1].csv */
        return load_file(pattern, opts, series);
    glob_t found = {0};
    antler_status status = ANTLER_OK;
    const int outcome = glob(pattern, 0, NULL, &found);
    if (outcome == GLOB_NOMATCH)
        status = ant_fail(ANTLER_ERROR_NOT_FOUND,
                          "%s: no file matches this pattern; check the folder and the spelling", pattern);
    else if (outcome != 0)
        status = ant_fail(outcome == GLOB_NOSPACE ? ANTLER_ERROR_MEMORY : ANTLER_ERROR_IO,
                          "%s: the folder cannot be searched", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == ANTLER_OK; i++)
        status = load_file(found.gl_pathv[i], opts, series);
    globfree(&found);
    return status;
}

antler_status antler_series_load(const char *const *patterns, size_t count, const antler_load_opts *opts,
                                 antler_series **series)
{
    antler_load_opts used;
    antler_load_opts_default(&used);
    if (opts != NULL)
        used = *opts;
    ANT_CHECK(patterns != NULL && count > 0 && series != NULL, ANTLER_ERROR_ARGUMENT,
              "name at least one file to load");
    ANT_CHECK(isfinite(used.dt) && used.dt >= 0.0, ANTLER_ERROR_ARGUMENT,
              "dt is %g; it must be a positive number, or 0 to take the file's", used.dt);
    antler_series *loaded = NULL;
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < count && status == ANTLER_OK; i++)
        status = load_pattern(patterns[i], &used, &loaded);
    if (status != ANTLER_OK) {
        antler_series_free(loaded);
        return status;
    }
    *series = loaded;
    return ANTLER_OK;
}
