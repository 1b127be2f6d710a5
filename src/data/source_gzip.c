/* source_gzip.c - a source that unpacks another one, which gzip has compressed (RFC 1952). */
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { PACKED_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 };

typedef struct unpacker {
    z_stream stream;
    ant_source packed;
    bool open; /* within a member; several may follow each other */
    unsigned char bytes[PACKED_BYTES];
} unpacker;

static antler_status refill(unpacker *u)
{
    size_t got = 0;
    ANT_TRY(ant_source_read(&u->packed, u->bytes, sizeof u->bytes, &got));
    u->stream.next_in = u->bytes;
    u->stream.avail_in = (uInt)got;
    return ANTLER_OK;
}

static antler_status pull_unpacked(ant_source *source, unsigned char *to, size_t bytes, size_t *got)
{
    unpacker *u = source->entry;
    u->stream.next_out = to;
    u->stream.avail_out = bytes < PACKED_BYTES ? (uInt)bytes : PACKED_BYTES;
    const uInt room = u->stream.avail_out;
    while (u->stream.avail_out == room) {
        if (u->stream.avail_in == 0)
            ANT_TRY(refill(u));
        if (u->stream.avail_in == 0 && !u->open)
            break;
        ANT_CHECK(u->stream.avail_in > 0, ANTLER_ERROR_FORMAT,
                  "is truncated: it ends within what gzip has compressed; copy it again");
        if (!u->open)
            inflateReset(&u->stream);
        u->open = true;
        const int outcome = inflate(&u->stream, Z_NO_FLUSH);
        ANT_CHECK(outcome == Z_OK || outcome == Z_STREAM_END || outcome == Z_BUF_ERROR, ANTLER_ERROR_FORMAT,
                  "is damaged: gzip cannot unpack it; copy it again");
        u->open = outcome != Z_STREAM_END;
    }
    *got = room - u->stream.avail_out;
    return ANTLER_OK;
}

static void close_unpacker(ant_source *source)
{
    unpacker *u = source->entry;
    inflateEnd(&u->stream);
    ant_source_close(&u->packed);
    free(u);
    source->entry = NULL;
}

antler_status ant_source_unpack(ant_source *source)
{
    const unsigned char *start = NULL;
    size_t count = 0;
    ANT_TRY(ant_source_peek(source, &start, &count));
    if (count < 2 || memcmp(start, "\x1f\x8b", 2) != 0)
        return ANTLER_OK;
    unpacker *u = calloc(1, sizeof *u);
    if (u == NULL || inflateInit2(&u->stream, GZIP_WINDOW) != Z_OK) {
        free(u);
        return ant_fail_memory(sizeof *u, "a compressed file");
    }
    u->packed = *source;
    *source = (ant_source){.size = ANT_SIZE_UNKNOWN,
                           .pull = pull_unpacked,
                           .descriptor = -1,
                           .entry = u,
                           .close = close_unpacker};
    return ANTLER_OK;
}
