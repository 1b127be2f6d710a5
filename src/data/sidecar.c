/* sidecar.c - the facts of a text file as JSON beside it. */
#include "data/sidecar.h"
#include "base/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

static const char mark[] = "antler_table";
enum { VERSION = 1, MOST_BYTES = 1 << 26 };

static char *name_beside(const char *path)
{
    const size_t bytes = strlen(path) + sizeof ".json";
    char *name = malloc(bytes);
    if (name != NULL)
        snprintf(name, bytes, "%s.json", path);
    return name;
}

static antler_status fail_memory(void)
{
    return ant_fail(ANTLER_ERROR_MEMORY, "out of memory for the .json file beside a table");
}

/* The file beside `path`; NULL when there is none that Antler wrote. */
static antler_status load_beside(const char *path, json_t **root)
{
    struct stat about;
    json_error_t error = {.line = 0};
    char *name = name_beside(path);
    *root = NULL;
    if (name == NULL)
        return fail_memory();
    errno = 0;
    if (stat(name, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= MOST_BYTES) {
        void *probe =
            malloc(4 * (size_t)about.st_size + 4096); /* Jansson's parser ends the process without */
        free(probe);
        if (probe == NULL) {
            free(name);
            return fail_memory();
        }
        *root = json_load_file(name, 0, &error);
        const bool starved =
            *root == NULL && (errno == ENOMEM || json_error_code(&error) == json_error_out_of_memory);
        if (starved) {
            free(name);
            return fail_memory();
        }
    }
    free(name);
    if (*root != NULL && !json_is_integer(json_object_get(*root, mark))) {
        json_decref(*root);
        *root = NULL;
    }
    return ANTLER_OK;
}

/* Beside the name that was given, else beside the file that it names through symbolic links. */
static antler_status load_facts(const char *path, json_t **root)
{
    ANT_TRY(load_beside(path, root));
    if (*root != NULL)
        return ANTLER_OK;
    char *real = realpath(path, NULL);
    if (real == NULL)
        return errno == ENOMEM ? fail_memory() : ANTLER_OK;
    const antler_status status = strcmp(real, path) != 0 ? load_beside(real, root) : ANTLER_OK;
    free(real);
    return status;
}

static antler_status fail_fact(const char *key)
{
    return ant_fail(ANTLER_ERROR_FORMAT,
                    "the value of \"%s\" in the .json file beside it cannot be used; correct or remove that "
                    "file",
                    key);
}

/* An array of finite numbers; a missing one stays NULL. */
static antler_status read_list(const json_t *root, const char *key, bool positive, double **values,
                               size_t *count)
{
    const json_t *list = json_object_get(root, key);
    if (list == NULL)
        return ANTLER_OK;
    const size_t n = json_array_size(list);
    if (n == 0 || n > ANT_SERIES_MAX_DIM || *values != NULL)
        return fail_fact(key);
    double *read = calloc(n, sizeof *read);
    if (read == NULL)
        return ant_fail_memory(n * sizeof *read, "the scaling");
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        read[i] = json_number_value(item);
        if (!json_is_number(item) || !isfinite(read[i]) || (positive && !(read[i] > 0.0))) {
            free(read);
            return fail_fact(key);
        }
    }
    *values = read;
    *count = n;
    return ANTLER_OK;
}

/* A number from 0 to `most`; a missing one stays as it was. */
static antler_status read_number(const json_t *root, const char *key, double most, double *value)
{
    const json_t *item = json_object_get(root, key);
    if (item == NULL)
        return ANTLER_OK;
    const double number = json_number_value(item);
    if (!json_is_number(item) || !(number >= 0.0) || !(number <= most))
        return fail_fact(key);
    *value = number;
    return ANTLER_OK;
}

static antler_status take_facts(const json_t *root, uint64_t bytes, ant_csv_comments *facts)
{
    double size = -1.0, inputs = (double)facts->inputs;
    ANT_CHECK(json_integer_value(json_object_get(root, mark)) == VERSION, ANTLER_ERROR_FORMAT,
              "the .json file beside it has version %lld, and this Antler reads %d; use a newer Antler",
              (long long)json_integer_value(json_object_get(root, mark)), (int)VERSION);
    ANT_TRY(read_number(root, "bytes", 1e18, &size));
    ANT_CHECK(size == (double)bytes, ANTLER_ERROR_FORMAT,
              "has %llu bytes, and the .json file beside it, with dt and scaling, belongs to %.0f: it was "
              "changed since; remove that .json file",
              (unsigned long long)bytes, size);
    ANT_TRY(read_number(root, "dt", 1e300, &facts->dt));
    ANT_TRY(read_number(root, "inputs", ANT_SERIES_MAX_DIM, &inputs));
    ANT_TRY(read_list(root, "mean", false, &facts->mean, &facts->mean_count));
    ANT_TRY(read_list(root, "scale", true, &facts->scale, &facts->scale_count));
    facts->inputs = (size_t)inputs;
    facts->header = facts->header || json_is_true(json_object_get(root, "header"));
    facts->time = facts->time || json_is_true(json_object_get(root, "time"));
    return ANTLER_OK;
}

antler_status ant_sidecar_read(const char *path, uint64_t bytes, ant_csv_comments *facts)
{
    json_t *root = NULL;
    ANT_TRY(load_facts(path, &root));
    if (root == NULL)
        return ANTLER_OK;
    const antler_status status = take_facts(root, bytes, facts);
    json_decref(root);
    return status;
}

static json_t *list_json(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_real(values[i]));
    return list;
}

/* Every fact of the series; NULL without memory. */
static json_t *facts_json(const antler_series *series, uint64_t bytes, bool header)
{
    const size_t all = series->dim + series->input_dim;
    json_t *names = json_array();
    for (size_t v = 0; v < all; v++)
        json_array_append_new(names, json_string(series->names[v]));
    json_t *root = json_pack("{s:i, s:I, s:o, s:I, s:b}", mark, (int)VERSION, "bytes", (json_int_t)bytes,
                             "names", names, "inputs", (json_int_t)series->input_dim, "header", header);
    bool whole = json_array_size(names) == all; /* also where a name is not UTF-8 */
    if (series->time.kind != ANTLER_TIME_NONE)
        whole = json_object_set_new(root, "time", json_true()) == 0 && whole;
    if (series->dt != 0.0)
        whole = json_object_set_new(root, "dt", json_real(series->dt)) == 0 && whole;
    if (series->scaled) {
        json_t *mean = list_json(series->mean, series->dim), *scale = list_json(series->scale, series->dim);
        whole = json_array_size(mean) == series->dim && json_array_size(scale) == series->dim && whole;
        whole = json_object_set_new(root, "mean", mean) == 0 && whole;
        whole = json_object_set_new(root, "scale", scale) == 0 && whole;
    }
    if (!whole) {
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* Jansson ignores some failures of this function, so they are kept. */
typedef struct writing {
    ant_output output;
    antler_status status;
} writing;

static int write_part(const char *text, size_t bytes, void *cookie)
{
    writing *w = cookie;
    if (w->status == ANTLER_OK)
        w->status = ant_output_write(&w->output, text, bytes);
    return w->status == ANTLER_OK ? 0 : -1;
}

/* 17 digits keep every bit of a double. */
static antler_status write_json(json_t *root, const char *name)
{
    const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17);
    writing w = {.status = root == NULL ? fail_memory() : ANTLER_OK};
    if (w.status == ANTLER_OK)
        w.status = ant_output_open(&w.output, name);
    if (w.status != ANTLER_OK) {
        json_decref(root);
        return w.status;
    }
    if (json_dump_callback(root, write_part, &w, flags) != 0 && w.status == ANTLER_OK)
        w.status = fail_memory();
    json_decref(root);
    (void)write_part("\n", 1, &w);
    if (w.status == ANTLER_OK)
        return ant_output_commit(&w.output);
    ant_output_abort(&w.output);
    return w.status;
}

/* A file of facts that an earlier file of this name had. */
static antler_status remove_old(const char *path, const char *name)
{
    json_t *old = NULL;
    ANT_TRY(load_beside(path, &old));
    const bool gone = old == NULL || unlink(name) == 0 || errno == ENOENT;
    json_decref(old);
    return gone ? ANTLER_OK : ant_fail(ANTLER_ERROR_IO, "%s: cannot be removed: %s", name, strerror(errno));
}

antler_status ant_sidecar_write(const antler_series *series, const char *path, uint64_t bytes, bool header)
{
    char *name = name_beside(path);
    if (name == NULL)
        return ant_fail_memory(strlen(path), "a file name");
    const bool needed = series->dt != 0.0 || series->scaled || series->input_dim > 0 || header ||
                        series->time.kind != ANTLER_TIME_NONE;
    json_t *root = needed ? facts_json(series, bytes, header) : NULL;
    const antler_status status = !needed        ? remove_old(path, name)
                                 : root == NULL ? ant_fail_memory(0, "the facts of a table")
                                                : write_json(root, name);
    free(name);
    return status;
}
