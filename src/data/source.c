/* source.c - read bytes from a file or from memory, and peek at the first ones. */
#include "data/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 20, MOST_NEIGHBOURS = 4096 };

static antler_status pull_file(ant_source *source, unsigned char *to, size_t bytes, size_t *got)
{
    const size_t most = (size_t)1 << 30; /* one read(2) takes no more than about 2^31 bytes */
    ssize_t n;
    do
        n = read(source->descriptor, to, bytes < most ? bytes : most);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return ant_fail(ANTLER_ERROR_IO, "cannot be read: %s", strerror(errno));
    *got = (size_t)n;
    return ANTLER_OK;
}

static antler_status pull_memory(ant_source *source, unsigned char *to, size_t bytes, size_t *got)
{
    *got = bytes < source->memory_left ? bytes : source->memory_left;
    if (*got > 0)
        memcpy(to, source->memory, *got);
    source->memory += *got;
    source->memory_left -= *got;
    return ANTLER_OK;
}

/* "no such file; did you mean train.csv?", looking at what else is in the folder. */
static antler_status fail_missing(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    char *names[MOST_NEIGHBOURS];
    size_t count = 0;
    DIR *listing = folder == NULL ? NULL : opendir(folder);
    if (listing != NULL) {
        const struct dirent *entry;
        while (count < MOST_NEIGHBOURS && (entry = readdir(listing)) != NULL)
            if (entry->d_name[0] != '.' && (names[count] = strdup(entry->d_name)) != NULL)
                count++;
        closedir(listing);
    }
    const char *nearest = antler_nearest(name, (const char *const *)names, count);
    const antler_status status =
        nearest == NULL
            ? ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no such file; check the name and the folder")
            : ant_fail(ANTLER_ERROR_NOT_FOUND, "there is no such file; did you mean %s?", nearest);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(folder);
    return status;
}

/* Take over an open descriptor. */
static antler_status use_descriptor(ant_source *source, int descriptor)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0) {
        close(descriptor);
        return ant_fail(ANTLER_ERROR_IO, "cannot be examined: %s", strerror(errno));
    }
    if (S_ISDIR(facts.st_mode)) {
        close(descriptor);
        return ant_fail(ANTLER_ERROR_ARGUMENT, "is a folder; give the name of a file");
    }
    source->descriptor = descriptor;
    if (S_ISREG(facts.st_mode)) {
        source->size = (uint64_t)facts.st_size;
        source->size_is_seen = true;
    }
    return ANTLER_OK;
}

antler_status ant_source_open_file(ant_source *source, const char *path)
{
    *source = (ant_source){.size = ANT_SIZE_UNKNOWN, .pull = pull_file, .descriptor = -1, .path = path};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return fail_missing(path);
        return ant_fail(ANTLER_ERROR_IO, "cannot be opened: %s", strerror(errno));
    }
    return use_descriptor(source, descriptor);
}

static antler_status open_input(ant_source *source)
{
    *source = (ant_source){.size = ANT_SIZE_UNKNOWN, .pull = pull_file, .descriptor = -1};
    const int descriptor = dup(STDIN_FILENO);
    ANT_CHECK(descriptor >= 0, ANTLER_ERROR_IO, "cannot be opened: %s", strerror(errno));
    return use_descriptor(source, descriptor);
}

antler_status ant_source_open(ant_source *source, const char *path)
{
    ANT_TRY(strcmp(path, "-") == 0 ? open_input(source) : ant_source_open_file(source, path));
    const antler_status status = ant_source_unpack(source);
    if (status != ANTLER_OK)
        ant_source_close(source);
    return status;
}

void ant_source_open_memory(ant_source *source, const void *bytes, size_t size)
{
    *source = (ant_source){.size = size,
                           .size_is_seen = true,
                           .pull = pull_memory,
                           .descriptor = -1,
                           .memory = bytes,
                           .memory_left = size};
}

void ant_source_close(ant_source *source)
{
    if (source->close != NULL)
        source->close(source);
    source->close = NULL;
    if (source->descriptor >= 0)
        close(source->descriptor);
    source->descriptor = -1;
}

antler_status ant_source_read(ant_source *source, void *to, size_t bytes, size_t *got)
{
    unsigned char *out = to;
    const size_t looked_at = source->ahead_count - source->ahead_used;
    size_t done = looked_at < bytes ? looked_at : bytes;
    if (done > 0)
        memcpy(out, source->ahead + source->ahead_used, done);
    source->ahead_used += done;
    source->position += done;
    while (done < bytes) {
        size_t n = 0;
        ANT_TRY(source->pull(source, out + done, bytes - done, &n));
        if (n == 0)
            break;
        done += n;
        source->position += n;
    }
    *got = done;
    return ANTLER_OK;
}

uint64_t ant_source_left(const ant_source *source)
{
    if (source->size == ANT_SIZE_UNKNOWN)
        return ANT_SIZE_UNKNOWN;
    return source->size > source->position ? source->size - source->position : 0;
}

antler_status ant_source_peek(ant_source *source, const unsigned char **bytes, size_t *count)
{
    if (source->ahead_count == 0 && source->position == 0) {
        size_t got = 0;
        ANT_TRY(ant_source_read(source, source->ahead, sizeof source->ahead, &got));
        source->ahead_count = got;
        source->position = 0;
    }
    *bytes = source->ahead + source->ahead_used;
    *count = source->ahead_count - source->ahead_used;
    return ANTLER_OK;
}

antler_status ant_source_charge(ant_source *source, uint64_t bytes)
{
    if (source->allowance == NULL)
        return ANTLER_OK;
    ANT_CHECK(
        bytes <= *source->allowance, ANTLER_ERROR_DATA,
        "takes %llu bytes in memory, and %llu more are allowed; raise --max-bytes (the setting max_bytes) "
        "if you trust it, or save it to a file, uncompressed",
        (unsigned long long)bytes, (unsigned long long)*source->allowance);
    *source->allowance -= bytes;
    return ANTLER_OK;
}

antler_status ant_source_read_new(ant_source *source, size_t bytes, void **data, size_t *got)
{
    size_t capacity = source->size_is_seen || bytes < FIRST_BYTES ? bytes : FIRST_BYTES;
    unsigned char *buffer = malloc(capacity == 0 ? 1 : capacity);
    if (buffer == NULL)
        return ant_fail_memory(capacity, "the values");
    size_t done = 0;
    for (;;) {
        size_t n = 0;
        const antler_status status = ant_source_read(source, buffer + done, capacity - done, &n);
        if (status != ANTLER_OK) {
            free(buffer);
            return status;
        }
        done += n;
        if (done < capacity || capacity == bytes)
            break;
        capacity = bytes - capacity < capacity ? bytes : 2 * capacity;
        unsigned char *grown = realloc(buffer, capacity);
        if (grown == NULL) {
            free(buffer);
            return ant_fail_memory(capacity, "the values");
        }
        buffer = grown;
    }
    *got = done;
    *data = done == bytes ? buffer : NULL;
    if (*data == NULL)
        free(buffer);
    return ANTLER_OK;
}
