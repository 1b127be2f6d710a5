/*
 * archive_sink.c - the file of an archive as libzip writes to it.
 *
 * libzip's own file sources write to one more temporary file and draw its name with libcrypto, which does not
 * survive a lack of memory.  This one writes into the file that is already open.
 */
#include "data/archive_zip.h"

#include <errno.h>
#include <string.h>

static zip_int64_t check(ant_archive *a, bool good, int code, zip_int64_t value)
{
    if (good)
        return value;
    zip_error_set(&a->sink_error, code, errno);
    return -1;
}

static zip_int64_t write_bytes(ant_archive *a, const void *data, zip_uint64_t bytes)
{
    const size_t written = fwrite(data, 1, (size_t)bytes, a->output.file);
    return check(a, written == bytes, ZIP_ER_WRITE, (zip_int64_t)bytes);
}

static zip_int64_t seek(ant_archive *a, const void *data, zip_uint64_t bytes)
{
    zip_source_args_seek_t to;
    if (bytes < sizeof to)
        return check(a, false, ZIP_ER_INVAL, 0);
    memcpy(&to, data, sizeof to);
    return check(a, fseeko(a->output.file, (off_t)to.offset, to.whence) == 0, ZIP_ER_SEEK, 0);
}

static zip_int64_t describe(ant_archive *a, void *data, zip_uint64_t bytes)
{
    zip_stat_t facts;
    if (bytes < sizeof facts)
        return check(a, false, ZIP_ER_INVAL, 0);
    zip_stat_init(&facts);
    facts.size = 0;
    facts.valid = ZIP_STAT_SIZE;
    memcpy(data, &facts, sizeof facts);
    return sizeof facts;
}

static zip_int64_t sink_call(void *state, void *data, zip_uint64_t bytes, zip_source_cmd_t command)
{
    ant_archive *a = state;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_WRITE,
            ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE,
            ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT:
        return describe(a, data, bytes);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&a->sink_error, data, bytes);
    case ZIP_SOURCE_WRITE:
        return write_bytes(a, data, bytes);
    case ZIP_SOURCE_SEEK_WRITE:
        return seek(a, data, bytes);
    case ZIP_SOURCE_TELL_WRITE: {
        const off_t at = ftello(a->output.file);
        return check(a, at >= 0, ZIP_ER_TELL, at);
    }
    case ZIP_SOURCE_COMMIT_WRITE:
        return check(a, fflush(a->output.file) == 0, ZIP_ER_WRITE, 0);
    case ZIP_SOURCE_OPEN: /* it is empty, and the output owns it */
    case ZIP_SOURCE_READ:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_SEEK:
    case ZIP_SOURCE_TELL:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        return check(a, false, ZIP_ER_OPNOTSUPP, 0);
    }
}

bool ant_archive_open_zip(ant_archive *archive, zip_error_t *error)
{
    zip_error_init(&archive->sink_error);
    zip_source_t *source = zip_source_function_create(sink_call, archive, error);
    if (source == NULL)
        return false;
    archive->zip = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, error);
    if (archive->zip == NULL)
        zip_source_free(source);
    return archive->zip != NULL;
}
