/* load.c - files and patterns become one series. */
#include "data/load.h"
#include "base/sized.h"
#include "data/csv.h"
#include "data/format.h"
#include "data/npz.h"
#include "data/sentinels.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void(antler_load_opts_default)(antler_load_opts *opts, size_t struct_size)
{
    const antler_load_opts standard = {0};
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

static antler_status refuse_key(const antler_load_opts *opts)
{
    ANT_CHECK(opts->key == NULL, ANTLER_ERROR_ARGUMENT,
              "--key chooses among the arrays of an .npz, and this file holds one table; leave it out");
    return ANTLER_OK;
}

antler_status ant_load_npy(ant_source *source, const antler_load_opts *opts, const char *origin,
                           antler_series **series)
{
    ant_npy_header header;
    ant_array x = {0}, none = {0};
    ant_table table = {0};
    const ant_labels nothing = {0};
    ANT_TRY(refuse_key(opts));
    ANT_TRY(ant_npy_read_header(source, &header));
    ANT_TRY(ant_npy_check_numeric(&header));
    ANT_TRY(ant_npy_read_values(source, &header, &x));
    ANT_TRY(ant_table_from_arrays(&x, &none, &nothing, opts, origin, &table));
    return ant_table_place(&table, opts, series);
}

antler_status ant_load_text(ant_source *source, const antler_load_opts *opts, const char *origin,
                            antler_series **series)
{
    ant_table table = {0};
    ANT_TRY(refuse_key(opts));
    ANT_TRY(ant_csv_read(source, opts, origin, &table));
    return ant_table_place(&table, opts, series);
}

/* One call of antler_series_load. */
typedef struct loading {
    antler_load_opts opts;
    uint64_t allowance; /* bytes that archives and pipes may still take */
    antler_series *series;
} loading;

static antler_status load_npz(const char *path, const ant_source *source, loading *l)
{
    ant_npz *npz = NULL;
    ANT_CHECK(source->size_is_seen, ANTLER_ERROR_FORMAT,
              "is an archive that comes through a pipe; write it to a file first");
    ANT_TRY(ant_npz_open_file(&npz, path));
    ant_npz_allow(npz, &l->allowance);
    const antler_status status = ant_npz_read(npz, &l->opts, path, &l->series);
    ant_npz_close(npz);
    return status;
}

static antler_status load_file(const char *path, loading *l)
{
    ant_source source;
    ant_format format = ANT_FORMAT_TEXT;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    antler_status status = ant_source_open(&source, path);
    if (status != ANTLER_OK)
        return ant_fail_within(status, name);
    source.allowance = source.size_is_seen ? NULL : &l->allowance;
    status = ant_format_find(path, &source, &format);
    if (status == ANTLER_OK)
        status = format == ANT_FORMAT_NPY   ? ant_load_npy(&source, &l->opts, name, &l->series)
                 : format == ANT_FORMAT_NPZ ? load_npz(path, &source, l)
                                            : ant_load_text(&source, &l->opts, name, &l->series);
    ant_source_close(&source);
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, name);
}

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static antler_status load_pattern(const char *pattern, loading *l)
{
    struct stat facts;
    if (!is_pattern(pattern) || stat(pattern, &facts) == 0) /* a file may be called a[1].csv */
        return load_file(pattern, l);
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
        status = load_file(found.gl_pathv[i], l);
    globfree(&found);
    return status;
}

antler_status antler_series_load(const char *const *patterns, size_t count, const antler_load_opts *opts,
                                 antler_series **series)
{
    ANT_OPTIONS(antler_load_opts, opts);
    loading l = {0};
    antler_load_opts_default(&l.opts);
    if (opts != NULL)
        l.opts = *opts;
    l.allowance = l.opts.max_bytes == 0 ? ANT_MAX_BYTES : l.opts.max_bytes;
    ANT_CHECK(patterns != NULL && count > 0 && series != NULL, ANTLER_ERROR_ARGUMENT,
              "name at least one file to load");
    ANT_CHECK(isfinite(l.opts.dt) && l.opts.dt >= 0.0, ANTLER_ERROR_ARGUMENT,
              "dt is %g; it must be a positive number, or 0 to take the file's", l.opts.dt);
    for (size_t i = 0; i < count; i++)
        ANT_NEED(patterns[i] != NULL);
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < count && status == ANTLER_OK; i++)
        status = load_pattern(patterns[i], &l);
    if (status == ANTLER_OK)
        status = ant_sentinels_notes(l.series, &l.series->notes);
    if (status != ANTLER_OK) {
        antler_series_free(l.series);
        return status;
    }
    *series = l.series;
    return ANTLER_OK;
}
