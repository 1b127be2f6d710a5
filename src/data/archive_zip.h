/* archive_zip.h - inside an archive that is being written.  For archive*.c alone. */
#ifndef ANT_DATA_ARCHIVE_ZIP_H
#define ANT_DATA_ARCHIVE_ZIP_H

#include "base/output.h"
#include "data/archive.h"

#include <zip.h>

struct ant_archive {
    ant_output output;
    zip_t *zip;
    zip_error_t sink_error;
};

/* Set `zip`, which writes to the file of `output`; false: it failed with `error`. */
bool ant_archive_open_zip(ant_archive *archive, zip_error_t *error);

/* Add a member.  The archive owns `source`, also on failure; NULL, which libzip could not make, fails. */
antler_status ant_archive_add_member(ant_archive *archive, const char *key, zip_source_t *source);

/* Add a member with these bytes, which were allocated by malloc; the archive owns them, also on failure. */
antler_status ant_archive_add_block(ant_archive *archive, const char *key, void *block, size_t bytes);

#endif
