/*
 * output.h - files that appear whole or not at all.
 *
 * Bytes go to a temporary name in the target's own folder; commit syncs them to disk and renames.  A
 * full disk, a crash or a killed process leaves the old file of that name as it was.
 */
#ifndef ANT_BASE_OUTPUT_H
#define ANT_BASE_OUTPUT_H

#include "base/status.h"

#include <stdio.h>

typedef struct ant_output {
    char *path;      /* the final name */
    char *temporary; /* ".<name>.XXXXXX" beside it */
    FILE *file;      /* open for writing, NULL when another library writes to `temporary` */
} ant_output;

/* Begin to write `path`.  A folder that does not exist is ANTLER_ERROR_NOT_FOUND. */
antler_status ant_output_open(ant_output *output, const char *path);

/* As above for a library that wants a name rather than a file: `temporary` exists and is empty. */
antler_status ant_output_open_name(ant_output *output, const char *path);

/* Write all `bytes` or fail with ANTLER_ERROR_IO and the system's reason. */
antler_status ant_output_write(ant_output *output, const void *data, size_t bytes);

/* Flush, sync, rename, sync the folder.  On failure the temporary file is removed. */
antler_status ant_output_commit(ant_output *output);

/* Give up: remove the temporary file.  Does nothing after a commit. */
void ant_output_abort(ant_output *output);

#endif
