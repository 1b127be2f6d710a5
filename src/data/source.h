/*
 * source.h - bytes that are read once, front to back, wherever they come from: a file, memory, or an
 * entry of a zip archive.  All readers take a source, so fuzzers can read from memory.
 */
#ifndef ANT_DATA_SOURCE_H
#define ANT_DATA_SOURCE_H

#include "base/status.h"

#define ANT_SIZE_UNKNOWN UINT64_MAX

enum { ANT_SOURCE_AHEAD = 96 };

/* The default limit: what archives and pipes may take in memory beyond the size of their files. */
#define ANT_MAX_BYTES UINT64_C(8000000000)

typedef struct ant_source ant_source;

/* Fetch up to `bytes`; *got is 0 only at the end. */
typedef antler_status (*ant_source_pull)(ant_source *source, unsigned char *to, size_t bytes, size_t *got);

struct ant_source {
    uint64_t size;     /* bytes in all; ANT_SIZE_UNKNOWN for a pipe */
    bool size_is_seen; /* the size was measured, not declared: that much memory may be allocated at once */
    uint64_t position; /* bytes returned */
    ant_source_pull pull;
    int descriptor;              /* of a file, else -1 */
    const char *path;            /* of a file, borrowed; else NULL */
    const unsigned char *memory; /* what is left of a memory source */
    size_t memory_left;
    void *entry;                       /* of a zip archive, or what unpacks gzip */
    void (*close)(ant_source *source); /* what ant_source_close does besides; NULL: nothing */
    uint64_t
        *allowance; /* bytes that values may still take in memory; NULL: the size of the file limits them */
    unsigned char ahead[ANT_SOURCE_AHEAD];
    size_t ahead_count, ahead_used; /* peeked at but not returned */
};

/* Open a file, or the standard input for "-", and unpack what gzip has compressed. */
antler_status ant_source_open(ant_source *source, const char *path);

/* If the bytes of an open source are compressed with gzip, give what is in them from now on. */
antler_status ant_source_unpack(ant_source *source);

/* Missing: ANTLER_ERROR_NOT_FOUND.  A folder: ANTLER_ERROR_ARGUMENT.  Not readable: ANTLER_ERROR_IO. */
antler_status ant_source_open_file(ant_source *source, const char *path);

/* The bytes are borrowed. */
void ant_source_open_memory(ant_source *source, const void *bytes, size_t size);

void ant_source_close(ant_source *source);

/* Read `bytes`, or fewer at the end. */
antler_status ant_source_read(ant_source *source, void *to, size_t bytes, size_t *got);

/* Bytes that are left by the declared size; ANT_SIZE_UNKNOWN without one. */
uint64_t ant_source_left(const ant_source *source);

/* Give the next bytes, at most ANT_SOURCE_AHEAD, without taking them. */
antler_status ant_source_peek(ant_source *source, const unsigned char **bytes, size_t *count);

/* Before `bytes` of values are allocated: take them from the allowance, or fail when it is less. */
antler_status ant_source_charge(ant_source *source, uint64_t bytes);

/*
 * Read exactly `bytes` into new memory that grows with what really arrives, unless the size of the
 * source was measured.  *got < bytes when the source ends early; *data is NULL then.
 */
antler_status ant_source_read_new(ant_source *source, size_t bytes, void **data, size_t *got);

#endif
