/*
 * fuzz_npz.c - any bytes, read as a NumPy archive.
 *
 * When the highest bit of the first byte is set, the rest describes members, which are packed into a
 * sound archive first: the checksums of a zip would otherwise hide what lies behind them.
 *     length of the name (1 byte), name, length of the data (2 bytes), data; repeated
 */
#include "data/npz.h"
#include "fuzz.h"

#include <zip.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_archive(const void *bytes, size_t size, const antler_load_opts *opts)
{
    antler_series *series = NULL;
    ant_npz *npz = NULL;
    antler_status status = ant_npz_open_memory(&npz, bytes, size);
    if (status == ANTLER_OK)
        status = ant_npz_read(npz, opts, "fuzz", &series);
    fuzz_check_message(status);
    if (status == ANTLER_OK)
        fuzz_read_all(series);
    antler_series_free(series);
    ant_npz_close(npz);
}

/* Add what the bytes describe; returns when they do not make another member. */
static void add_members(zip_t *archive, const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        char name[256 + 5];
        const size_t length = data[at];
        if (size - at < 1 + length + 2)
            return;
        snprintf(name, sizeof name, "%.*s.npy", (int)length, (const char *)data + at + 1);
        at += 1 + length;
        size_t bytes = data[at] | (size_t)data[at + 1] << 8;
        at += 2;
        bytes = bytes < size - at ? bytes : size - at;
        zip_source_t *source = zip_source_buffer(archive, data + at, bytes, 0);
        if (zip_file_add(archive, name, source, 0) < 0)
            zip_source_free(source);
        at += bytes;
    }
}

static void pack_and_read(const uint8_t *data, size_t size, const antler_load_opts *opts)
{
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *archive = zip_open_from_source(target, ZIP_TRUNCATE, NULL);
    zip_source_keep(target);
    add_members(archive, data, size);
    if (zip_close(archive) != 0)
        zip_discard(archive);
    zip_stat_t facts;
    zip_stat_init(&facts);
    if (zip_source_stat(target, &facts) == 0 && facts.size > 0 && zip_source_open(target) == 0) {
        void *bytes = malloc(facts.size);
        if (bytes != NULL && zip_source_read(target, bytes, facts.size) == (zip_int64_t)facts.size)
            read_archive(bytes, facts.size, opts);
        free(bytes);
        zip_source_close(target);
    }
    zip_source_free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const antler_load_opts opts = fuzz_options(data[0] & 0x1f);
    if ((data[0] & 0x80) != 0)
        pack_and_read(data + 1, size - 1, &opts);
    else
        read_archive(data + 1, size - 1, &opts);
    return 0;
}
