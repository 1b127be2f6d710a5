/*
 * save_npz.c - a series as a NumPy archive; npz.h says what the arrays mean.
 *
 * libzip asks for the bytes of each array while it writes, so no array is ever held as a whole.  Arrays
 * are stored, not compressed (measured orbits hardly shrink), with a fixed date, so that the same
 * series gives the same bytes.
 */
#include "data/excerpt.h"
#include "data/npy.h"
#include "data/save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zip.h>

/* One array on its way into the archive. */
typedef struct feed {
    const antler_series *series;
    size_t trajectory, width, length;
    bool inputs;
    char header[ANT_NPY_WRITTEN_MAX];
    size_t header_bytes;
    uint64_t total, position; /* bytes of header and values; of them handed out */
    double *block;            /* (block_rows, width) */
    size_t block_rows, block_first, block_count;
    zip_error_t error;
} feed;

static void load_block(feed *f, size_t row)
{
    if (row >= f->block_first && row - f->block_first < f->block_count)
        return;
    f->block_first = row;
    f->block_count = f->length - row < f->block_rows ? f->length - row : f->block_rows;
    ant_save_rows(f->series, f->trajectory, f->inputs, row, f->block_count, f->block);
}

/* Copy up to `bytes` from the present position. */
static zip_int64_t feed_read(feed *f, unsigned char *to, zip_uint64_t bytes)
{
    const size_t row_bytes = f->width * sizeof(double);
    zip_uint64_t done = 0;
    while (done < bytes && f->position < f->total) {
        const unsigned char *from;
        uint64_t available;
        if (f->position < f->header_bytes) {
            from = (const unsigned char *)f->header + f->position;
            available = f->header_bytes - f->position;
        } else {
            const uint64_t offset = f->position - f->header_bytes;
            load_block(f, (size_t)(offset / row_bytes));
            const uint64_t into = offset - (uint64_t)f->block_first * row_bytes;
            from = (const unsigned char *)f->block + into;
            available = (uint64_t)f->block_count * row_bytes - into;
        }
        const uint64_t n = available < bytes - done ? available : bytes - done;
        memcpy(to + done, from, (size_t)n);
        done += n;
        f->position += n;
    }
    return (zip_int64_t)done;
}

static zip_int64_t feed_open(feed *f)
{
    f->position = 0;
    f->block_count = 0;
    if (f->block == NULL)
        f->block = malloc(f->block_rows * f->width * sizeof *f->block);
    if (f->block == NULL)
        zip_error_set(&f->error, ZIP_ER_MEMORY, 0);
    return f->block == NULL ? -1 : 0;
}

static zip_int64_t feed_stat(const feed *f, void *data, zip_uint64_t bytes)
{
    zip_stat_t facts;
    if (bytes < sizeof facts)
        return -1;
    zip_stat_init(&facts);
    facts.size = f->total;
    facts.valid = ZIP_STAT_SIZE;
    memcpy(data, &facts, sizeof facts);
    return sizeof facts;
}

static void feed_free(feed *f)
{
    free(f->block);
    free(f);
}

static zip_int64_t feed_call(void *state, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    feed *f = state;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        return feed_open(f);
    case ZIP_SOURCE_READ:
        return feed_read(f, data, bytes);
    case ZIP_SOURCE_CLOSE:
        return 0;
    case ZIP_SOURCE_STAT:
        return feed_stat(f, data, bytes);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&f->error, data, bytes);
    case ZIP_SOURCE_FREE:
        feed_free(f);
        return 0;
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
        zip_error_set(&f->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

enum { MOST_SMALL_ARRAYS = 5 };

/* The archive while it is put together. */
typedef struct writer {
    zip_t *archive;
    const antler_series *series;
    const char *path;               /* for sentences */
    void *small[MOST_SMALL_ARRAYS]; /* arrays that libzip reads when the archive is closed; owned */
    size_t small_count;
} writer;

static antler_status fail_zip(zip_error_t *error, const char *path)
{
    const int code = zip_error_code_zip(error), system = zip_error_code_system(error);
    if (code == ZIP_ER_MEMORY)
        return ant_fail(ANTLER_ERROR_MEMORY, "%s: out of memory while the archive was written", path);
    return ant_fail(ANTLER_ERROR_IO, "%s: cannot be written: %s%s", path, zip_error_strerror(error),
                    system == ENOSPC || system == EDQUOT ? "; free some space and try again" : "");
}

static antler_status fail_writer(const writer *w)
{
    return fail_zip(zip_get_error(w->archive), w->path);
}

/* Add a member; the archive owns the source, also on failure. */
static antler_status add_member(writer *w, const char *key, zip_source_t *source)
{
    char name[64];
    struct tm date = {.tm_year = 80, .tm_mday = 1, .tm_isdst = -1}; /* the first that a zip can hold */
    snprintf(name, sizeof name, "%s.npy", key);
    if (source == NULL)
        return fail_writer(w);
    const zip_int64_t index = zip_file_add(w->archive, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return fail_writer(w);
    }
    if (zip_set_file_compression(w->archive, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_mtime(w->archive, (zip_uint64_t)index, mktime(&date), 0) != 0)
        return fail_writer(w);
    return ANTLER_OK;
}

static antler_status add_trajectory(writer *w, size_t trajectory, bool inputs)
{
    char key[32];
    snprintf(key, sizeof key, "%c_%03zu", inputs ? 's' : 'x', trajectory);
    feed *f = calloc(1, sizeof *f);
    if (f == NULL)
        return ant_fail_memory(sizeof *f, "an array to be written");
    zip_error_init(&f->error);
    f->series = w->series;
    f->trajectory = trajectory;
    f->inputs = inputs;
    f->width = inputs ? w->series->input_dim : w->series->dim;
    f->length = antler_series_length(w->series, trajectory);
    f->block_rows = ant_save_block_rows(f->width);
    const size_t shape[] = {f->length, f->width};
    f->header_bytes = ant_npy_format_header("<f8", 2, shape, f->header);
    f->total = f->header_bytes + (uint64_t)f->length * f->width * sizeof(double);
    zip_source_t *source = zip_source_function(w->archive, feed_call, f);
    if (source == NULL)
        feed_free(f);
    return add_member(w, key, source);
}

/* A small array that is made at once.  values: `bytes` bytes behind a header for descr and shape. */
static antler_status add_small(writer *w, const char *key, const char *descr, size_t rank,
                               const size_t *shape, const void *values, size_t bytes)
{
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t header_bytes = ant_npy_format_header(descr, rank, shape, header);
    char *all = malloc(header_bytes + bytes);
    if (all == NULL)
        return ant_fail_memory(header_bytes + bytes, "an array to be written");
    memcpy(all, header, header_bytes);
    memcpy(all + header_bytes, values, bytes);
    w->small[w->small_count++] = all;
    return add_member(w, key, zip_source_buffer(w->archive, all, header_bytes + bytes, 0));
}

/* values: (count); rank 0 writes a single number */
static antler_status add_numbers(writer *w, const char *key, size_t rank, const double *values, size_t count)
{
    double *copy = malloc(count * sizeof *copy);
    if (copy == NULL)
        return ant_fail_memory(count * sizeof *copy, "an array to be written");
    memcpy(copy, values, count * sizeof *copy);
    if (!ant_machine_is_little_endian())
        ant_swap_bytes(copy, count, sizeof *copy);
    const antler_status status = add_small(w, key, "<f8", rank, &count, copy, count * sizeof *copy);
    free(copy);
    return status;
}

/* One UTF-8 text as code points, little-endian.  out: (room, 4), zero beforehand; NULL only counts. */
static size_t encode_text(const char *text, unsigned char *out)
{
    size_t count = 0;
    const size_t length = strlen(text);
    for (size_t i = 0, bytes; i < length; i += bytes, count++) {
        bytes = ant_utf8_character(text + i, length - i);
        uint32_t code = (unsigned char)text[i] & (bytes == 1 ? 0x7fu : 0xffu >> (bytes + 1));
        for (size_t k = 1; k < bytes; k++)
            code = code << 6 | ((unsigned char)text[i + k] & 0x3fu);
        for (size_t k = 0; k < 4 && out != NULL; k++)
            out[4 * count + k] = (unsigned char)(code >> (8 * k));
    }
    return count;
}

/* names: (count) */
static antler_status add_names(writer *w, const char *key, char *const *names, size_t count)
{
    char descr[32];
    size_t longest = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t length = encode_text(names[i], NULL);
        longest = length > longest ? length : longest;
    }
    unsigned char *texts = calloc(count, 4 * longest);
    if (texts == NULL)
        return ant_fail_memory(count * 4 * longest, "the names");
    for (size_t i = 0; i < count; i++)
        encode_text(names[i], texts + i * 4 * longest);
    snprintf(descr, sizeof descr, "<U%zu", longest);
    const antler_status status = add_small(w, key, descr, 1, &count, texts, count * 4 * longest);
    free(texts);
    return status;
}

static antler_status add_all(writer *w)
{
    const antler_series *series = w->series;
    for (size_t k = 0; k < series->count; k++) {
        ANT_TRY(add_trajectory(w, k, false));
        if (series->input_dim != 0)
            ANT_TRY(add_trajectory(w, k, true));
    }
    ANT_TRY(add_names(w, "names", series->names, series->dim));
    if (series->input_dim != 0)
        ANT_TRY(add_names(w, "input_names", series->names + series->dim, series->input_dim));
    if (series->dt != 0.0)
        ANT_TRY(add_numbers(w, "dt", 0, &series->dt, 1));
    if (series->scaled) {
        ANT_TRY(add_numbers(w, "mean", 1, series->mean, series->dim));
        ANT_TRY(add_numbers(w, "scale", 1, series->scale, series->dim));
    }
    return ANTLER_OK;
}

antler_status ant_save_npz(const antler_series *series, ant_output *output)
{
    int code = 0;
    writer w = {.series = series, .path = output->path};
    w.archive = zip_open(output->temporary, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (w.archive == NULL) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        const antler_status status = fail_zip(&error, output->path);
        zip_error_fini(&error);
        return status;
    }
    antler_status status = add_all(&w);
    if (status == ANTLER_OK && zip_close(w.archive) != 0)
        status = fail_writer(&w);
    else if (status == ANTLER_OK)
        w.archive = NULL;
    if (w.archive != NULL)
        zip_discard(w.archive);
    for (size_t i = 0; i < w.small_count; i++)
        free(w.small[i]);
    return status;
}
