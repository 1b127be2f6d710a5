/* archive_stream.c - write a matrix into an archive, tile by tile, or a block of bytes. */
#include "data/archive_zip.h"

#include "data/npy.h"

#include <stdlib.h>
#include <string.h>

typedef struct feed {
    ant_archive_rows rows;
    void *cookie; /* owned */
    size_t length, width;
    char header[ANT_NPY_WRITTEN_MAX];
    size_t header_bytes;
    uint64_t total, position; /* bytes of header and values; of them handed out */
    unsigned char *block;     /* owned: all bytes; NULL: a header, and values from `rows` */
    double *tile;             /* (tile_rows, width) */
    size_t tile_rows, tile_first, tile_count;
    zip_error_t error;
} feed;

static void load_tile(feed *f, size_t row)
{
    if (row >= f->tile_first && row - f->tile_first < f->tile_count)
        return;
    f->tile_first = row;
    f->tile_count = f->length - row < f->tile_rows ? f->length - row : f->tile_rows;
    f->rows(f->cookie, row, f->tile_count, f->tile);
}

/* Copy up to `bytes` from the present position. */
static zip_int64_t feed_read(feed *f, unsigned char *to, zip_uint64_t bytes)
{
    const size_t row_bytes = f->width * sizeof(double);
    zip_uint64_t done = 0;
    while (done < bytes && f->position < f->total) {
        const unsigned char *from;
        uint64_t available;
        if (f->block != NULL) {
            from = f->block + f->position;
            available = f->total - f->position;
        } else if (f->position < f->header_bytes) {
            from = (const unsigned char *)f->header + f->position;
            available = f->header_bytes - f->position;
        } else {
            const uint64_t offset = f->position - f->header_bytes;
            load_tile(f, (size_t)(offset / row_bytes));
            const uint64_t into = offset - (uint64_t)f->tile_first * row_bytes;
            from = (const unsigned char *)f->tile + into;
            available = (uint64_t)f->tile_count * row_bytes - into;
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
    f->tile_count = 0;
    if (f->block == NULL && f->tile == NULL) {
        f->tile = malloc(f->tile_rows * f->width * sizeof *f->tile);
        if (f->tile == NULL) {
            zip_error_set(&f->error, ZIP_ER_MEMORY, 0);
            return -1;
        }
    }
    return 0;
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
    if (f == NULL)
        return;
    free(f->block);
    free(f->tile);
    free(f->cookie);
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

/* The archive owns the feed, also on failure. */
static antler_status add_feed(ant_archive *archive, const char *key, feed *f)
{
    zip_source_t *source = zip_source_function(archive->zip, feed_call, f);
    if (source == NULL)
        feed_free(f);
    return ant_archive_add_member(archive, key, source);
}

antler_status ant_archive_add_rows(ant_archive *archive, const char *key, size_t length, size_t width,
                                   size_t tile_rows, ant_archive_rows rows, const void *cookie, size_t bytes)
{
    feed *f = calloc(1, sizeof *f);
    void *copy = malloc(bytes + 1);
    if (f == NULL || copy == NULL) {
        free(copy);
        feed_free(f);
        return ant_fail_memory(sizeof *f + bytes, "an array to be written");
    }
    memcpy(copy, cookie, bytes);
    zip_error_init(&f->error);
    f->rows = rows;
    f->cookie = copy;
    f->length = length;
    f->width = width;
    f->tile_rows = tile_rows;
    const size_t shape[] = {length, width};
    f->header_bytes = ant_npy_format_header("<f8", 2, shape, f->header);
    f->total = f->header_bytes + (uint64_t)length * width * sizeof(double);
    return add_feed(archive, key, f);
}

antler_status ant_archive_add_block(ant_archive *archive, const char *key, void *block, size_t bytes)
{
    feed *f = calloc(1, sizeof *f);
    if (f == NULL) {
        free(block);
        return ant_fail_memory(sizeof *f, "an array to be written");
    }
    zip_error_init(&f->error);
    f->block = block;
    f->total = bytes;
    return add_feed(archive, key, f);
}
