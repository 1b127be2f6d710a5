/* npz.c - the archive: open it, list its arrays, read their bytes. */
#include "data/npz.h"
#include "data/excerpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

typedef struct member {
    char *key;
    zip_uint64_t index;
} member;

struct ant_npz {
    zip_t *archive;
    size_t count;
    member *members;       /* (count), in the archive's order */
    const member **sorted; /* (count), by key */
    uint64_t size;         /* of the archive */
    uint64_t own;          /* the allowance of an archive that shares none */
    uint64_t *allowance;
};

static antler_status fail_zip(zip_error_t *error)
{
    const int code = zip_error_code_zip(error);
    if (code == ZIP_ER_MEMORY || zip_error_code_system(error) == ENOMEM)
        return ant_fail(ANTLER_ERROR_MEMORY, "out of memory while a zip archive was opened");
    if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS || code == ZIP_ER_EOF)
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "the zip archive is truncated or damaged: its table of contents cannot be read; copy "
                        "or save it again");
    if (code == ZIP_ER_CRC || code == ZIP_ER_ZLIB || code == ZIP_ER_COMPRESSED_DATA)
        return ant_fail(ANTLER_ERROR_FORMAT, "is damaged (%s); copy or save it again",
                        code == ZIP_ER_CRC ? "its checksum does not match" : "it cannot be decompressed");
    if (code == ZIP_ER_READ || code == ZIP_ER_OPEN || code == ZIP_ER_SEEK)
        return ant_fail(ANTLER_ERROR_IO, "cannot be read: %s", zip_error_strerror(error));
    return ant_fail(ANTLER_ERROR_FORMAT, "cannot be unpacked (%s); save it again with numpy.savez",
                    zip_error_strerror(error));
}

static bool ends_in_npy(const char *name)
{
    const size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".npy") == 0;
}

/* Members that are arrays, in the archive's order. */
static antler_status list_members(ant_npz *npz)
{
    const zip_int64_t entries = zip_get_num_entries(npz->archive, 0);
    ANT_CHECK(entries > 0, ANTLER_ERROR_FORMAT, "the archive is empty; save arrays with numpy.savez");
    npz->members = calloc((size_t)entries, sizeof *npz->members);
    if (npz->members == NULL)
        return ant_fail_memory((size_t)entries * sizeof *npz->members, "the list of arrays");
    for (zip_uint64_t i = 0; i < (zip_uint64_t)entries; i++) {
        const char *name = zip_get_name(npz->archive, i, 0);
        if (name == NULL || !ends_in_npy(name))
            continue;
        char *key = strndup(name, strlen(name) - 4);
        if (key == NULL)
            return ant_fail_memory(strlen(name), "the name of an array");
        npz->members[npz->count++] = (member){.key = key, .index = i};
    }
    ANT_CHECK(npz->count > 0, ANTLER_ERROR_FORMAT,
              "is a zip archive without any array (.npy) in it; save arrays with numpy.savez");
    return ANTLER_OK;
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const member *const *)a)->key, (*(const member *const *)b)->key);
}

/* Sort the keys, which must differ. */
static antler_status sort_members(ant_npz *npz)
{
    npz->sorted = malloc(npz->count * sizeof *npz->sorted);
    if (npz->sorted == NULL)
        return ant_fail_memory(npz->count * sizeof *npz->sorted, "the list of arrays");
    for (size_t i = 0; i < npz->count; i++)
        npz->sorted[i] = &npz->members[i];
    qsort(npz->sorted, npz->count, sizeof *npz->sorted, compare_members);
    char shown[ANT_EXCERPT_ROOM];
    for (size_t i = 1; i < npz->count; i++) {
        const char *key = npz->sorted[i]->key;
        ANT_CHECK(strcmp(npz->sorted[i - 1]->key, key) != 0, ANTLER_ERROR_FORMAT,
                  "holds two arrays called '%s'; save it again", ant_excerpt(key, strlen(key), shown));
    }
    return ANTLER_OK;
}

size_t ant_npz_find(const ant_npz *npz, const char *key)
{
    size_t low = 0, high = npz->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(key, npz->sorted[middle]->key);
        if (order == 0)
            return (size_t)(npz->sorted[middle] - npz->members);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return ANT_NPZ_NONE;
}

/* libzip calls an archive damaged also where memory was missing to examine it: then so much cannot be
 * allocated. */
static bool lacks_memory(void)
{
    enum { LOOK_BYTES = 1 << 18 };
    void *memory = malloc(LOOK_BYTES);
    free(memory);
    return memory == NULL;
}

/* Open it, a second time where the first one found it damaged.  Consumes the source. */
static zip_t *open_zip(zip_source_t *source, zip_error_t *error)
{
    zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, error);
    if (archive == NULL && zip_error_code_zip(error) != ZIP_ER_OPEN) {
        zip_error_fini(error);
        zip_error_init(error);
        archive = zip_open_from_source(source, ZIP_RDONLY, error);
        if (archive == NULL && lacks_memory())
            zip_error_set(error, ZIP_ER_MEMORY, 0);
    }
    if (archive == NULL)
        zip_source_free(source);
    return archive;
}

static antler_status open_archive(ant_npz **npz, zip_source_t *source, zip_error_t *error)
{
    ant_npz *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        zip_source_free(source);
        return ant_fail_memory(sizeof *opened, "an archive");
    }
    zip_stat_t facts;
    zip_stat_init(&facts);
    if (zip_source_stat(source, &facts) == 0 && (facts.valid & ZIP_STAT_SIZE) != 0)
        opened->size = facts.size;
    opened->own = ANT_MAX_BYTES;
    ant_npz_allow(opened, &opened->own);
    opened->archive = open_zip(source, error);
    if (opened->archive == NULL) {
        free(opened);
        return fail_zip(error);
    }
    antler_status status = list_members(opened);
    if (status == ANTLER_OK)
        status = sort_members(opened);
    if (status == ANTLER_OK)
        *npz = opened;
    else
        ant_npz_close(opened);
    return status;
}

antler_status ant_npz_open_file(ant_npz **npz, const char *path)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_file_create(path, 0, -1, &error);
    const antler_status status = source == NULL ? fail_zip(&error) : open_archive(npz, source, &error);
    zip_error_fini(&error);
    return status;
}

antler_status ant_npz_open_memory(ant_npz **npz, const void *bytes, size_t size)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &error);
    const antler_status status = source == NULL ? fail_zip(&error) : open_archive(npz, source, &error);
    zip_error_fini(&error);
    return status;
}

void ant_npz_allow(ant_npz *npz, uint64_t *allowance)
{
    *allowance = *allowance > UINT64_MAX - npz->size ? UINT64_MAX : *allowance + npz->size;
    npz->allowance = allowance;
}

void ant_npz_close(ant_npz *npz)
{
    if (npz == NULL)
        return;
    for (size_t i = 0; i < npz->count; i++)
        free(npz->members[i].key);
    free(npz->members);
    free(npz->sorted);
    zip_discard(npz->archive);
    free(npz);
}

size_t ant_npz_count(const ant_npz *npz)
{
    return npz->count;
}

const char *ant_npz_key(const ant_npz *npz, size_t index)
{
    return npz->members[index].key;
}

antler_status ant_npz_fail_in_array(antler_status status, const char *key)
{
    char shown[ANT_EXCERPT_ROOM], prefix[ANT_EXCERPT_ROOM + 8];
    snprintf(prefix, sizeof prefix, "array %s", ant_excerpt(key, strlen(key), shown));
    return ant_fail_within(status, prefix);
}

static antler_status pull_entry(ant_source *source, unsigned char *to, size_t bytes, size_t *got)
{
    zip_file_t *file = source->entry;
    const zip_int64_t n = zip_fread(file, to, bytes);
    if (n < 0)
        return fail_zip(zip_file_get_error(file));
    *got = (size_t)n;
    return ANTLER_OK;
}

antler_status ant_npz_open_array(ant_npz *npz, size_t index, ant_source *source)
{
    const zip_uint64_t entry = npz->members[index].index;
    zip_stat_t facts;
    zip_stat_init(&facts);
    if (zip_stat_index(npz->archive, entry, 0, &facts) != 0)
        return fail_zip(zip_get_error(npz->archive));
    ANT_CHECK((facts.valid & ZIP_STAT_ENCRYPTION_METHOD) == 0 || facts.encryption_method == ZIP_EM_NONE,
              ANTLER_ERROR_FORMAT, "is encrypted; save it without a password");
    ANT_CHECK((facts.valid & ZIP_STAT_COMP_METHOD) == 0 || facts.comp_method == ZIP_CM_STORE ||
                  facts.comp_method == ZIP_CM_DEFLATE,
              ANTLER_ERROR_FORMAT,
              "is compressed by a method (%u) that NumPy does not use; save it again "
              "with numpy.savez_compressed",
              (unsigned)facts.comp_method);
    zip_file_t *file = zip_fopen_index(npz->archive, entry, 0);
    if (file == NULL)
        return fail_zip(zip_get_error(npz->archive));
    *source = (ant_source){.size = (facts.valid & ZIP_STAT_SIZE) != 0 ? facts.size : ANT_SIZE_UNKNOWN,
                           .pull = pull_entry,
                           .descriptor = -1,
                           .entry = file,
                           .allowance = npz->allowance};
    return ANTLER_OK;
}

void ant_npz_close_array(ant_source *source)
{
    if (source->entry != NULL)
        zip_fclose(source->entry);
    source->entry = NULL;
}
