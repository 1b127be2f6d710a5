/* archive.c - writing named arrays through libzip. */
#include "data/archive_zip.h"

#include "data/excerpt.h"
#include "data/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static antler_status fail_zip(const ant_archive *archive, zip_error_t *error)
{
    const char *path = archive->output.path;
    const int code = zip_error_code_zip(error), system = zip_error_code_system(error);
    if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK) /* zip_close reports one of its allocations by no code */
        return ant_fail(ANTLER_ERROR_MEMORY, "%s: out of memory while the archive was written", path);
    return ant_fail(ANTLER_ERROR_IO, "%s: cannot be written: %s%s", path, zip_error_strerror(error),
                    system == ENOSPC || system == EDQUOT ? "; free some space and try again" : "");
}

antler_status ant_archive_create(const char *path, ant_archive **archive)
{
    ant_archive *a = calloc(1, sizeof *a);
    if (a == NULL)
        return ant_fail_memory(sizeof *a, "an archive");
    const antler_status opened = ant_output_open_to_seek(&a->output, path);
    if (opened != ANTLER_OK) {
        free(a);
        return opened;
    }
    zip_error_t error;
    zip_error_init(&error);
    antler_status status = ANTLER_OK;
    if (ant_archive_open_zip(a, &error)) {
        *archive = a;
    } else {
        status = fail_zip(a, &error);
        ant_archive_abort(a);
    }
    zip_error_fini(&error);
    return status;
}

antler_status ant_archive_commit(ant_archive *archive)
{
    if (zip_close(archive->zip) != 0) {
        const antler_status status = fail_zip(archive, zip_get_error(archive->zip));
        ant_archive_abort(archive);
        return status;
    }
    archive->zip = NULL;
    const antler_status status = ant_output_commit(&archive->output);
    free(archive);
    return status;
}

void ant_archive_abort(ant_archive *archive)
{
    if (archive == NULL)
        return;
    if (archive->zip != NULL)
        zip_discard(archive->zip);
    ant_output_abort(&archive->output);
    free(archive);
}

antler_status ant_archive_add_member(ant_archive *archive, const char *key, zip_source_t *source)
{
    char name[160];
    struct tm date = {.tm_year = 80, .tm_mday = 1, .tm_isdst = -1}; /* the first that a zip can hold */
    if (source == NULL)
        return fail_zip(archive, zip_get_error(archive->zip));
    snprintf(name, sizeof name, "%.150s.npy", key);
    const zip_int64_t index = zip_file_add(archive->zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return fail_zip(archive, zip_get_error(archive->zip));
    }
    if (zip_set_file_compression(archive->zip, (zip_uint64_t)index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_mtime(archive->zip, (zip_uint64_t)index, mktime(&date), 0) != 0)
        return fail_zip(archive, zip_get_error(archive->zip));
    return ANTLER_OK;
}

/* values: `bytes` bytes in little-endian order; copied behind a header. */
static antler_status add_bytes(ant_archive *archive, const char *key, const char *descr, size_t rank,
                               const size_t *shape, const void *values, size_t bytes)
{
    char header[ANT_NPY_WRITTEN_MAX];
    const size_t header_bytes = ant_npy_format_header(descr, rank, shape, header);
    char *all = malloc(header_bytes + bytes);
    if (all == NULL)
        return ant_fail_memory(header_bytes + bytes, "an array to be written");
    memcpy(all, header, header_bytes);
    memcpy(all + header_bytes, values, bytes);
    return ant_archive_add_block(archive, key, all, header_bytes + bytes);
}

static const char *descr_of(ant_dtype dtype)
{
    switch (dtype) {
#define DESCR(name, type, text, kind)                                                                        \
    case ANT_##name: {                                                                                       \
        static const char descr[] = {sizeof(type) == 1 ? '|' : '<', kind, '0' + (char)sizeof(type), '\0'};   \
        return descr;                                                                                        \
    }
        ANT_DTYPE_LIST(DESCR)
#undef DESCR
    }
    return "";
}

static size_t product(size_t rank, const size_t *shape)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= shape[i];
    return count;
}

/* Numbers of a type that NumPy calls `descr`, of `size` bytes each. */
static antler_status add_numbers(ant_archive *archive, const char *key, const char *descr, size_t size,
                                 size_t rank, const size_t *shape, const void *values)
{
    const size_t count = product(rank, shape);
    if (ant_machine_is_little_endian())
        return add_bytes(archive, key, descr, rank, shape, values, count * size);
    void *copy = malloc(count * size + 1);
    if (copy == NULL)
        return ant_fail_memory(count * size, "an array to be written");
    memcpy(copy, values, count * size);
    ant_swap_bytes(copy, count, size);
    const antler_status status = add_bytes(archive, key, descr, rank, shape, copy, count * size);
    free(copy);
    return status;
}

antler_status ant_archive_add(ant_archive *archive, const char *key, ant_dtype dtype, size_t rank,
                              const size_t *shape, const void *values)
{
    return add_numbers(archive, key, descr_of(dtype), ant_dtype_size(dtype), rank, shape, values);
}

antler_status ant_archive_add_dates(ant_archive *archive, const char *key, size_t count,
                                    const int64_t *values)
{
    return add_numbers(archive, key, "<M8[us]", sizeof *values, 1, &count, values);
}

antler_status ant_archive_add_reals(ant_archive *archive, const char *key, int bits, size_t rank,
                                    const size_t *shape, const double *values)
{
    if (bits == 64)
        return ant_archive_add(archive, key, ANT_F64, rank, shape, values);
    const size_t count = product(rank, shape);
    float *copy = malloc(count * sizeof *copy + 1);
    if (copy == NULL)
        return ant_fail_memory(count * sizeof *copy, "an array to be written");
    for (size_t i = 0; i < count; i++)
        copy[i] = (float)values[i];
    const antler_status status = ant_archive_add(archive, key, ANT_F32, rank, shape, copy);
    free(copy);
    return status;
}

/* One text as code points, little-endian.  out: (room, 4), zero beforehand; NULL only counts. */
static size_t encode_text(const char *text, unsigned char *out)
{
    size_t count = 0;
    const size_t length = strlen(text);
    for (size_t i = 0, bytes; i < length; i += bytes, count++) {
        bytes = ant_utf8_character(text + i, length - i);
        uint32_t code = '?'; /* for bytes that are not UTF-8 */
        if (bytes > 0) {
            code = (unsigned char)text[i] & (bytes == 1 ? 0x7fu : 0xffu >> (bytes + 1));
            for (size_t k = 1; k < bytes; k++)
                code = code << 6 | ((unsigned char)text[i + k] & 0x3fu);
        }
        bytes = bytes == 0 ? 1 : bytes;
        for (size_t k = 0; k < 4 && out != NULL; k++)
            out[4 * count + k] = (unsigned char)(code >> (8 * k));
    }
    return count;
}

antler_status ant_archive_add_texts(ant_archive *archive, const char *key, size_t rank, size_t count,
                                    const char *const *texts)
{
    char descr[32];
    size_t longest = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t length = encode_text(texts[i], NULL);
        longest = length > longest ? length : longest;
    }
    unsigned char *all = calloc(count, 4 * longest);
    if (all == NULL)
        return ant_fail_memory(count * 4 * longest, "texts to be written");
    for (size_t i = 0; i < count; i++)
        encode_text(texts[i], all + i * 4 * longest);
    snprintf(descr, sizeof descr, "<U%zu", longest);
    const antler_status status = add_bytes(archive, key, descr, rank, &count, all, count * 4 * longest);
    free(all);
    return status;
}
