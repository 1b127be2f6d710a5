/*
 * output.h - files that appear whole or not at all.
 *
 * Bytes go to a temporary name in the target's own folder; commit syncs them to disk and renames.  A
 * full disk, a crash or a killed process leaves the old file of that name as it was.  A device, a FIFO or a
 * socket is written into instead.  A symbolic link to a file is replaced; ant_output_follow gives the name
 * of the file itself.
 */
#ifndef ANT_BASE_OUTPUT_H
#define ANT_BASE_OUTPUT_H

#include "base/status.h"

#include <stdio.h>

typedef struct ant_output {
    char *path;      /* the final name */
    char *temporary; /* ".<name>.XXXXXX" beside it; NULL: a device, a FIFO or a socket */
    FILE *file;      /* open for writing */
} ant_output;

/* Begin to write `path`.  A folder that does not exist is ANTLER_ERROR_NOT_FOUND. */
antler_status ant_output_open(ant_output *output, const char *path);

/* As above for an archive, which is not written front to back: a device, a FIFO or a socket is refused. */
antler_status ant_output_open_to_seek(ant_output *output, const char *path);

/*
 * The file that `path` names, through symbolic links, in new memory.  For names that the user has given: the
 * files in a folder of runs, which may come from somebody else, are never written through a link.
 */
antler_status ant_output_follow(const char *path, char **target);

/* Write all `bytes` or fail with ANTLER_ERROR_IO and the system's reason. */
antler_status ant_output_write(ant_output *output, const void *data, size_t bytes);

/* Flush, sync, rename, sync the folder.  On failure the temporary file is removed. */
antler_status ant_output_commit(ant_output *output);

/* Give up: remove the temporary file.  Does nothing after a commit. */
void ant_output_abort(ant_output *output);

#endif
