/* npz_read.c - the arrays of an archive become trajectories; see npz.h for the convention. */
#include "data/excerpt.h"
#include "data/npz.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the archive declares besides its trajectories. */
typedef struct facts {
    bool convention;        /* there is an x */
    char **names, **inputs; /* owned; NULL: none */
    size_t name_count, input_count;
    double *mean, *scale; /* owned; NULL: none */
    size_t mean_count, scale_count;
    double dt;
    char **time_name, **time_unit; /* (1) owned; NULL: none */
    size_t time_names, time_units;
} facts;

static void free_texts(char **texts, size_t count)
{
    if (texts != NULL)
        for (size_t i = 0; i < count; i++)
            free(texts[i]);
    free(texts);
}

static void clear_facts(facts *f)
{
    free_texts(f->names, f->name_count);
    free_texts(f->inputs, f->input_count);
    free_texts(f->time_name, f->time_names);
    free_texts(f->time_unit, f->time_units);
    free(f->mean);
    free(f->scale);
    *f = (facts){0};
}

/* Whether key is `stem` or `stem`_ and digits. */
static bool is_numbered(const char *key, char stem)
{
    if (key[0] != stem || (key[1] != '\0' && (key[1] != '_' || key[2] == '\0')))
        return false;
    return key[1] == '\0' || key[2 + strspn(key + 2, "0123456789")] == '\0';
}

/* UTF-32 or bytes of one text, padded with zeros, as UTF-8. */
static antler_status decode_text(const unsigned char *from, const ant_npy_header *header, char **text)
{
    const size_t unit = header->kind == 'U' ? 4 : 1, units = header->item / unit;
    char *out = malloc(units * unit + 1);
    if (out == NULL)
        return ant_fail_memory(units * unit, "a name");
    size_t length = 0;
    for (size_t i = 0; i < units; i++) {
        uint32_t code = from[i];
        if (unit == 4)
            memcpy(&code, from + 4 * i, 4);
        if (code == 0)
            break;
        const size_t bytes = ant_utf8_encode(code, out + length);
        if (bytes == 0 || code < 0x20 || code == 0x7f) {
            free(out);
            return ant_fail(ANTLER_ERROR_FORMAT, "holds a name with control characters; rename it");
        }
        length += bytes;
    }
    out[length] = '\0';
    *text = out;
    return ANTLER_OK;
}

static antler_status decode_texts(const unsigned char *values, const ant_npy_header *header, char ***texts,
                                  size_t *count)
{
    const size_t most = (size_t)header->values;
    char **list = calloc(most, sizeof *list);
    if (list == NULL)
        return ant_fail_memory(most * sizeof *list, "the names");
    for (size_t i = 0; i < most; i++) {
        const antler_status status = decode_text(values + i * header->item, header, &list[i]);
        if (status != ANTLER_OK) {
            free_texts(list, most);
            return status;
        }
        if (list[i][0] == '\0') { /* unnamed */
            free(list[i]);
            list[i] = NULL;
        }
    }
    *texts = list;
    *count = most;
    return ANTLER_OK;
}

static antler_status read_texts(ant_npz *npz, const char *key, char ***texts, size_t *count)
{
    const size_t index = ant_npz_find(npz, key);
    if (index == ANT_NPZ_NONE)
        return ANTLER_OK;
    ant_source source;
    ant_npy_header header;
    ant_array array = {0};
    antler_status status = ant_npz_open_array(npz, index, &source);
    if (status != ANTLER_OK)
        return ant_npz_fail_in_array(status, key);
    status = ant_npy_read_header(&source, &header);
    const bool is_text = status == ANTLER_OK && (header.kind == 'U' || header.kind == 'S') &&
                         header.rank == 1 && header.bytes > 0 && header.values <= ANT_SERIES_MAX_DIM;
    if (status == ANTLER_OK && !is_text)
        status =
            ant_fail(ANTLER_ERROR_FORMAT, "must be a list of text; save it as numpy.array([\"x\", \"y\"])");
    if (status == ANTLER_OK)
        status = ant_npy_read_values(&source, &header, &array);
    if (status == ANTLER_OK)
        status = decode_texts(array.values, &header, texts, count);
    ant_array_clear(&array);
    ant_npz_close_array(&source);
    return status == ANTLER_OK ? ANTLER_OK : ant_npz_fail_in_array(status, key);
}

/* Numbers with at most one axis, as double. */
static antler_status read_numbers(ant_npz *npz, const char *key, double **numbers, size_t *count)
{
    const size_t index = ant_npz_find(npz, key);
    if (index == ANT_NPZ_NONE)
        return ANTLER_OK;
    ant_source source;
    ant_npy_header header;
    ant_array array = {0};
    antler_status status = ant_npz_open_array(npz, index, &source);
    if (status != ANTLER_OK)
        return ant_npz_fail_in_array(status, key);
    status = ant_npy_read_header(&source, &header);
    if (status == ANTLER_OK &&
        (!header.readable || header.rank > 1 || header.values == 0 || header.values > ANT_SERIES_MAX_DIM))
        status = ant_fail(ANTLER_ERROR_FORMAT, "must be a plain list of numbers; save it again");
    if (status == ANTLER_OK)
        status = ant_npy_read_values(&source, &header, &array);
    if (status == ANTLER_OK) {
        const ant_column column = {
            .first = array.values, .row_step = (ptrdiff_t)header.item, .dtype = header.dtype, .divisor = 1.0};
        *numbers = malloc((size_t)header.values * sizeof **numbers);
        *count = (size_t)header.values;
        if (*numbers == NULL)
            status = ant_fail_memory(*count * sizeof **numbers, "a list of numbers");
        else
            ant_column_read_f64(&column, 0, 0, *count, *numbers, 1);
    }
    ant_array_clear(&array);
    ant_npz_close_array(&source);
    return status == ANTLER_OK ? ANTLER_OK : ant_npz_fail_in_array(status, key);
}

static antler_status read_dt(ant_npz *npz, facts *f)
{
    double *number = NULL;
    size_t count = 0;
    ANT_TRY(read_numbers(npz, "dt", &number, &count));
    if (number == NULL)
        return ANTLER_OK;
    const bool good = count == 1 && isfinite(number[0]) && number[0] >= 0.0;
    f->dt = number[0];
    free(number);
    ANT_CHECK(good, ANTLER_ERROR_FORMAT, "array dt: must be one positive number; save it again");
    return ANTLER_OK;
}

static antler_status read_facts(ant_npz *npz, facts *f)
{
    for (size_t i = 0; i < ant_npz_count(npz); i++)
        f->convention = f->convention || is_numbered(ant_npz_key(npz, i), 'x');
    ANT_TRY(read_dt(npz, f));
    if (!f->convention)
        return ANTLER_OK;
    ANT_TRY(read_texts(npz, "names", &f->names, &f->name_count));
    ANT_TRY(read_texts(npz, "input_names", &f->inputs, &f->input_count));
    ANT_TRY(read_texts(npz, "time_name", &f->time_name, &f->time_names));
    ANT_TRY(read_texts(npz, "time_unit", &f->time_unit, &f->time_units));
    ANT_TRY(read_numbers(npz, "mean", &f->mean, &f->mean_count));
    ANT_TRY(read_numbers(npz, "scale", &f->scale, &f->scale_count));
    ANT_CHECK((f->mean == NULL) == (f->scale == NULL), ANTLER_ERROR_FORMAT,
              "has only one of the arrays mean and scale; save both or neither");
    for (size_t i = 0; i < f->mean_count && i < f->scale_count; i++)
        ANT_CHECK(isfinite(f->mean[i]) && isfinite(f->scale[i]) && f->scale[i] > 0.0, ANTLER_ERROR_FORMAT,
                  "the scaling of variable %zu is (x - %g) / %g; the mean must be finite and the scale "
                  "positive",
                  i + 1, f->mean[i], f->scale[i]);
    return ANTLER_OK;
}

/* Read an array that is to be a table. */
static antler_status read_table_array(ant_npz *npz, size_t index, ant_array *array)
{
    ant_source source;
    ant_npy_header header;
    ANT_TRY(ant_npz_open_array(npz, index, &source));
    antler_status status = ant_npy_read_header(&source, &header);
    if (status == ANTLER_OK)
        status = ant_npy_check_numeric(&header);
    if (status == ANTLER_OK)
        status = ant_npy_read_values(&source, &header, array);
    ant_npz_close_array(&source);
    return status;
}

static antler_status check_counts(const facts *f, size_t columns, size_t inputs)
{
    const struct {
        const char *key, *what;
        const void *given;
        size_t count, needed;
    } lists[] = {{"names", "variable", f->names, f->name_count, columns},
                 {"mean", "variable", f->mean, f->mean_count, columns},
                 {"scale", "variable", f->scale, f->scale_count, columns},
                 {"input_names", "input", f->inputs, f->input_count, inputs}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ANT_CHECK(lists[i].given == NULL || lists[i].count == lists[i].needed, ANTLER_ERROR_FORMAT,
                  "the archive's %s has %zu entr%s, but there %s %zu %s%s; save them together again",
                  lists[i].key, lists[i].count, lists[i].count == 1 ? "y" : "ies",
                  lists[i].needed == 1 ? "is" : "are", lists[i].needed, lists[i].what,
                  lists[i].needed == 1 ? "" : "s");
    return ANTLER_OK;
}

/* The array with the times of this trajectory: time_000 beside x_000, or `time` beside the only one. */
static size_t find_times(const ant_npz *npz, const facts *f, const char *key, size_t trajectories)
{
    char name[ANT_EXCERPT_ROOM];
    snprintf(name, sizeof name, "time%s", f->convention && is_numbered(key, 'x') ? key + 1 : "");
    const size_t own = ant_npz_find(npz, name);
    return own != ANT_NPZ_NONE || trajectories > 1 ? own : ant_npz_find(npz, "time");
}

/* Times from an array of their own, in numbers or dates. */
static antler_status read_stamps(ant_npz *npz, size_t index, ant_table *table)
{
    ant_source source;
    ant_npy_header header;
    ant_array array = {0};
    const size_t rows = table->part.length;
    ANT_TRY(ant_npz_open_array(npz, index, &source));
    antler_status status = ant_npy_read_header(&source, &header);
    const bool dates =
        status == ANTLER_OK && header.kind == 'M' && header.item == 8 && header.date_unit > 0.0;
    if (status == ANTLER_OK && !dates)
        status = ant_npy_check_numeric(&header);
    if (status == ANTLER_OK && (header.rank != 1 || header.values != rows))
        status = ant_fail(ANTLER_ERROR_FORMAT,
                          "must have one time for each of the %zu rows; save them together", rows);
    if (status == ANTLER_OK)
        status = ant_npy_read_values(&source, &header, &array);
    ant_npz_close_array(&source);
    if (status == ANTLER_OK && (table->stamps = malloc(rows * sizeof *table->stamps)) == NULL)
        status = ant_fail_memory(rows * sizeof *table->stamps, "the times");
    if (status == ANTLER_OK) {
        const ant_column column = {.first = array.values,
                                   .row_step = (ptrdiff_t)header.item,
                                   .dtype = dates ? ANT_I64 : header.dtype,
                                   .divisor = 1.0};
        ant_column_read_f64(&column, 0, 0, rows, table->stamps, 1);
        for (size_t i = 0; dates && i < rows; i++)
            table->stamps[i] *= header.date_unit;
        table->dates = dates;
        table->style = (ant_date_style){.clock = dates && header.date_unit < 86400e6};
        table->claim = ANT_TIME_STRONG;
        table->time = ANT_NO_COLUMN;
    }
    ant_array_clear(&array);
    return status;
}

/* Give the table the times that lie beside it, unless the options name a column or none. */
static antler_status add_stamps(ant_npz *npz, const facts *f, const antler_load_opts *opts, size_t times,
                                ant_table *table)
{
    if (times == ANT_NPZ_NONE || opts->time != NULL || table->part.count != 1)
        return ANTLER_OK;
    const antler_status status = read_stamps(npz, times, table);
    if (status != ANTLER_OK)
        return ant_npz_fail_in_array(status, ant_npz_key(npz, times));
    const char *name = f->time_name == NULL || f->time_name[0] == NULL ? "time" : f->time_name[0];
    free(table->time_name);
    table->time_name = strdup(name);
    if (f->time_unit != NULL && f->time_unit[0] != NULL)
        ant_time_unit(f->time_unit[0], strlen(f->time_unit[0]), table->time_unit);
    return table->time_name == NULL ? ant_fail_memory(strlen(name), "a name") : ANTLER_OK;
}

/* One trajectory with its inputs goes into the series; both arrays are taken over. */
static antler_status add_table(ant_npz *npz, size_t times, const facts *f, const antler_load_opts *opts,
                               const char *origin, ant_array *x, ant_array *inputs, antler_series **series)
{
    const size_t columns = ant_array_columns(x, opts->transpose);
    const size_t input_columns = inputs->values == NULL ? 0 : ant_array_columns(inputs, opts->transpose);
    const size_t count = columns + input_columns;
    ant_labels labels = {
        .count = count, .own_inputs = input_columns, .mean = f->mean, .scale = f->scale, .dt = f->dt};
    ant_table table = {0};
    antler_status status = check_counts(f, columns, input_columns);
    if (status == ANTLER_OK && (f->names != NULL || f->inputs != NULL)) {
        labels.names = calloc(count, sizeof *labels.names); /* borrowed texts */
        if (labels.names == NULL)
            status = ant_fail_memory(count * sizeof *labels.names, "the names");
        for (size_t i = 0; i < columns && f->names != NULL && status == ANTLER_OK; i++)
            labels.names[i] = f->names[i];
        for (size_t i = 0; i < input_columns && f->inputs != NULL && status == ANTLER_OK; i++)
            labels.names[columns + i] = f->inputs[i];
    }
    if (status == ANTLER_OK)
        status = ant_table_from_arrays(x, inputs, &labels, opts, origin, &table);
    if (status == ANTLER_OK) {
        status = add_stamps(npz, f, opts, times, &table);
        if (status == ANTLER_OK)
            status = ant_table_place(&table, opts, series);
        else
            ant_table_clear(&table);
    }
    free(labels.names);
    return status;
}

/* The trajectory at `index`, and the inputs s or s_... that go with it. */
static antler_status read_trajectory(ant_npz *npz, size_t index, const facts *f, size_t trajectories,
                                     const antler_load_opts *opts, const char *path, antler_series **series)
{
    const char *key = ant_npz_key(npz, index);
    const size_t room = strlen(path) + strlen(key) + ANT_EXCERPT_ROOM;
    ant_array x = {0}, inputs = {0};
    char *text = malloc(room);
    if (text == NULL)
        return ant_fail_memory(room, "a name");
    antler_status status = read_table_array(npz, index, &x);
    if (status == ANTLER_OK && f->convention && is_numbered(key, 'x')) {
        snprintf(text, room, "s%s", key + 1);
        const size_t partner = ant_npz_find(npz, text);
        if (partner != ANT_NPZ_NONE) {
            status = read_table_array(npz, partner, &inputs);
            key = status == ANTLER_OK ? key : ant_npz_key(npz, partner);
        }
    }
    if (status == ANTLER_OK) {
        char shown[ANT_EXCERPT_ROOM];
        snprintf(text, room, "%s:%s", path,
                 ant_series_name_is_fit(key) ? key : ant_excerpt(key, strlen(key), shown));
        const facts dt_only = {.dt = f->dt}; /* names and scaling belong to x */
        const facts *own = is_numbered(key, 'x') ? f : &dt_only;
        status = add_table(npz, find_times(npz, f, key, trajectories), own, opts, text, &x, &inputs, series);
    }
    ant_array_clear(&x);
    ant_array_clear(&inputs);
    free(text);
    return status == ANTLER_OK ? ANTLER_OK : ant_npz_fail_in_array(status, key);
}

/* Inputs without their trajectory would be ignored without a message. */
static antler_status check_partners(const ant_npz *npz)
{
    for (size_t i = 0; i < ant_npz_count(npz); i++) {
        const char *key = ant_npz_key(npz, i);
        if (!is_numbered(key, 's'))
            continue;
        char partner[ANT_EXCERPT_ROOM];
        snprintf(partner, sizeof partner, "x%s", key + 1);
        ANT_CHECK(ant_npz_find(npz, partner) != ANT_NPZ_NONE, ANTLER_ERROR_FORMAT,
                  "array %s: these inputs have no trajectory %s; save them together", key, partner);
    }
    return ANTLER_OK;
}

/* ---- which arrays are trajectories ------------------------------------------------------------------- */

/* Whether the array at `index` can be a table: numbers, or what NumPy pickles, which is refused on reading.
 */
static antler_status is_table(ant_npz *npz, size_t index, bool *table)
{
    ant_source source;
    ant_npy_header header;
    const char *key = ant_npz_key(npz, index);
    antler_status status = ant_npz_open_array(npz, index, &source);
    if (status == ANTLER_OK) {
        status = ant_npy_read_header(&source, &header);
        ant_npz_close_array(&source);
    }
    if (status != ANTLER_OK)
        return ant_npz_fail_in_array(status, key);
    *table = header.rank > 0 && strchr("USaMm", header.kind) == NULL && strcmp(key, "dt") != 0 &&
             strcmp(key, "time") != 0;
    return ANTLER_OK;
}

/* The length of a key without the digits at its end, and a mark before them: "run_12" and "run_7" are alike.
 */
static size_t stem_length(const char *key)
{
    size_t length = strlen(key);
    while (length > 0 && key[length - 1] >= '0' && key[length - 1] <= '9')
        length--;
    return length == strlen(key) ? 0 : length;
}

static bool are_alike(const char *a, const char *b)
{
    const size_t length = stem_length(a);
    return length > 0 && length == stem_length(b) && strncmp(a, b, length) == 0;
}

/* "train, test, mask" of the marked arrays. */
static void list_keys(const ant_npz *npz, const bool *marked, char *text, size_t room)
{
    size_t used = 0;
    char shown[ANT_EXCERPT_ROOM];
    text[0] = '\0';
    for (size_t i = 0; i < ant_npz_count(npz); i++) {
        const char *key = ant_npz_key(npz, i);
        if (!marked[i])
            continue;
        if (used + ANT_EXCERPT_ROOM + 8 > room) {
            snprintf(text + used, room - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", used == 0 ? "" : ", ",
                                 ant_excerpt(key, strlen(key), shown));
    }
}

/* Mark the arrays that the words of --key name, and count them. */
static antler_status mark_named(const ant_npz *npz, const char *list, bool *marked, size_t *count)
{
    char word[256];
    for (const char *p = list; p != NULL;) {
        size_t found = 0;
        const size_t length = strcspn(p, ",");
        ANT_CHECK(length > 0 && length < sizeof word, ANTLER_ERROR_ARGUMENT,
                  "'%s' is not a list of arrays for --key; write names with commas, as in a,b or run_*",
                  list);
        memcpy(word, p, length);
        word[length] = '\0';
        for (size_t i = 0; i < ant_npz_count(npz); i++) {
            if (strcmp(ant_npz_key(npz, i), word) != 0 && fnmatch(word, ant_npz_key(npz, i), 0) != 0)
                continue;
            found++;
            *count += !marked[i];
            marked[i] = true;
        }
        if (found == 0) {
            bool *all = malloc(ant_npz_count(npz) * sizeof *all);
            char keys[400] = "";
            for (size_t i = 0; all != NULL && i < ant_npz_count(npz); i++)
                all[i] = true;
            if (all != NULL)
                list_keys(npz, all, keys, sizeof keys);
            free(all);
            return ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no array '%s'; the arrays are: %s", word, keys);
        }
        p = p[length] == '\0' ? NULL : p + length + 1;
    }
    return ANTLER_OK;
}

/* Without --key: the only array that can be a table, or all when their names are alike. */
static antler_status mark_default(ant_npz *npz, bool *marked, size_t *count)
{
    size_t first = ANT_NPZ_NONE;
    bool alike = true;
    for (size_t i = 0; i < ant_npz_count(npz); i++) {
        ANT_TRY(is_table(npz, i, &marked[i]));
        if (!marked[i])
            continue;
        first = first == ANT_NPZ_NONE ? i : first;
        alike = alike && (first == i || are_alike(ant_npz_key(npz, first), ant_npz_key(npz, i)));
        (*count)++;
    }
    if (*count <= 1 || alike)
        return ANTLER_OK;
    char keys[400], shown[ANT_EXCERPT_ROOM];
    const char *key = ant_npz_key(npz, first);
    list_keys(npz, marked, keys, sizeof keys);
    return ant_fail(ANTLER_ERROR_DATA, "holds the arrays %s; choose those to take with --key, as in --key %s",
                    keys, ant_excerpt(key, strlen(key), shown));
}

static antler_status mark_wanted(ant_npz *npz, const facts *f, const char *keys, bool *marked, size_t *count)
{
    if (keys != NULL)
        return mark_named(npz, keys, marked, count);
    if (!f->convention)
        return mark_default(npz, marked, count);
    for (size_t i = 0; i < ant_npz_count(npz); i++) {
        marked[i] = is_numbered(ant_npz_key(npz, i), 'x');
        *count += marked[i];
    }
    return check_partners(npz);
}

antler_status ant_npz_read(ant_npz *npz, const antler_load_opts *opts, const char *origin,
                           antler_series **series)
{
    facts f = {0};
    size_t count = 0;
    bool *wanted = calloc(ant_npz_count(npz) + 1, sizeof *wanted);
    antler_status status =
        wanted == NULL ? ant_fail_memory(ant_npz_count(npz), "the list of arrays") : read_facts(npz, &f);
    if (status == ANTLER_OK)
        status = mark_wanted(npz, &f, opts->key, wanted, &count);
    if (status == ANTLER_OK && count == 0)
        status = ant_fail(ANTLER_ERROR_FORMAT, "holds no array of numbers with 1 to 3 axes; save the "
                                               "trajectories with numpy.savez");
    for (size_t i = 0; i < ant_npz_count(npz) && status == ANTLER_OK; i++)
        if (wanted[i])
            status = read_trajectory(npz, i, &f, count, opts, origin, series);
    clear_facts(&f);
    free(wanted);
    return status;
}
