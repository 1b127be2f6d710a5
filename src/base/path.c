/* path.c - names on the disk: whether they are there, folders made, folders synchronised. */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

antler_status ant_path_exists(const char *path, bool *exists)
{
    struct stat facts;
    *exists = stat(path, &facts) == 0;
    if (*exists || errno == ENOENT || errno == ENOTDIR)
        return ANTLER_OK;
    return ant_fail(ANTLER_ERROR_IO, "%s: cannot be examined: %s", path, strerror(errno));
}

/* *file: NULL where there is none */
static antler_status open_existing(const char *path, FILE **file)
{
    *file = fopen(path, "rbe");
    ANT_CHECK(*file != NULL || errno == ENOENT || errno == ENOTDIR, ANTLER_ERROR_IO,
              "%s: cannot be opened: %s", path, strerror(errno));
    return ANTLER_OK;
}

antler_status ant_path_same_bytes(const char *first, const char *second, bool *same)
{
    FILE *a = NULL, *b = NULL;
    *same = false;
    antler_status status = open_existing(first, &a);
    if (status == ANTLER_OK)
        status = open_existing(second, &b);
    if (status == ANTLER_OK && a != NULL && b != NULL) {
        int from_a, from_b;
        do {
            from_a = getc(a);
            from_b = getc(b);
        } while (from_a == from_b && from_a != EOF);
        *same = from_a == from_b;
        if (ferror(a) || ferror(b))
            status = ant_fail(ANTLER_ERROR_IO, "%s: cannot be read: %s", ferror(a) ? first : second,
                              strerror(errno));
    }
    if (a != NULL)
        fclose(a);
    if (b != NULL)
        fclose(b);
    return status;
}

antler_status ant_path_sync_folder(const char *folder)
{
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP);
    const int reason = errno;
    if (descriptor >= 0)
        close(descriptor);
    /* A folder that may be written but not read cannot be opened. */
    ANT_CHECK(good || reason == EACCES, ANTLER_ERROR_IO, "%s: cannot be synchronised to the disk: %s", folder,
              strerror(reason));
    return ANTLER_OK;
}

antler_status ant_path_sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    if (folder == NULL)
        return ant_fail_memory(strlen(path), "a file name");
    const antler_status status = ant_path_sync_folder(folder);
    free(folder);
    return status;
}

/* One folder, and its name on the disk; a folder that exists is no error. */
static antler_status make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0)
        return ant_path_sync_parent(path);
    ANT_CHECK(errno == EEXIST, ANTLER_ERROR_IO, "%s: the folder cannot be made: %s", path, strerror(errno));
    return ANTLER_OK;
}

antler_status ant_path_make_folders(const char *path)
{
    char *part = strdup(path);
    if (part == NULL)
        return ant_fail_memory(strlen(path), "a file name");
    antler_status status = ANTLER_OK;
    for (char *slash = part; slash != NULL && status == ANTLER_OK;) {
        slash = slash[0] == '\0' ? NULL : strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        status = make_folder(part);
        if (slash != NULL)
            *slash = '/';
    }
    free(part);
    return status;
}
