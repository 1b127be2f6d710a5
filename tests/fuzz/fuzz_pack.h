/*
 * fuzz_pack.h - bytes that describe the members of a zip become a sound archive: its checksums would
 * otherwise hide what lies behind them.
 *     length of the name (1 byte), name, length of the data (2 bytes), data; repeated
 */
#ifndef ANT_FUZZ_PACK_H
#define ANT_FUZZ_PACK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <zip.h>

typedef void (*fuzz_archive_fn)(const void *bytes, size_t size, const void *cookie);

/* Add what the bytes describe; returns when they do not make another member. */
static inline void fuzz_add_members(zip_t *archive, const uint8_t *data, size_t size)
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

static inline void fuzz_pack(const uint8_t *data, size_t size, fuzz_archive_fn use, const void *cookie)
{
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_t *archive = zip_open_from_source(target, ZIP_TRUNCATE, NULL);
    zip_source_keep(target);
    fuzz_add_members(archive, data, size);
    if (zip_close(archive) != 0)
        zip_discard(archive);
    zip_stat_t facts;
    zip_stat_init(&facts);
    if (zip_source_stat(target, &facts) == 0 && facts.size > 0 && zip_source_open(target) == 0) {
        void *bytes = malloc(facts.size);
        if (bytes != NULL && zip_source_read(target, bytes, facts.size) == (zip_int64_t)facts.size)
            use(bytes, facts.size, cookie);
        free(bytes);
        zip_source_close(target);
    }
    zip_source_free(target);
}

#endif
