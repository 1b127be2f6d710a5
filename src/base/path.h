/*
 * path.h - what is on the disk, without taking a fault of the machine for an absence.
 *
 * A file that is not there differs from a file that cannot be examined: taking the second for the first would
 * begin a run anew where there is one.
 */
#ifndef ANT_BASE_PATH_H
#define ANT_BASE_PATH_H

#include "base/status.h"

/* Whether there is a file or a folder of that name; ANTLER_ERROR_IO when that cannot be found out. */
antler_status ant_path_exists(const char *path, bool *exists);

/* Whether two files hold the same bytes; false where one of them is not there. */
antler_status ant_path_same_bytes(const char *first, const char *second, bool *same);

/* All folders of a path, as `mkdir -p`; their names are on the disk when it returns. */
antler_status ant_path_make_folders(const char *path);

/* Names that were made, renamed or removed in a folder reach the disk.  A file system that cannot sync
   folders is no error. */
antler_status ant_path_sync_folder(const char *folder);

/* The same for the folder that a file is in. */
antler_status ant_path_sync_parent(const char *path);

#endif
