/* output.c - a file is written under a temporary name, synchronised to disk and renamed. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static antler_status fail_write(const ant_output *output)
{
    const int reason = errno;
    const char *remedy = reason == ENOSPC || reason == EDQUOT ? "; free some space and try again" : "";
    return ant_fail(ANTLER_ERROR_IO, "%s: cannot be written: %s%s", output->path, strerror(reason), remedy);
}

/* "folder/.name.XXXXXX" for "folder/name". */
static char *temporary_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    const size_t bytes = strlen(path) + sizeof "..XXXXXX";
    char *name = malloc(bytes);
    if (name != NULL)
        snprintf(name, bytes, "%.*s.%s.XXXXXX", (int)folder, path, path + folder);
    return name;
}

static void forget(ant_output *output)
{
    free(output->path);
    free(output->temporary);
    *output = (ant_output){0};
}

static antler_status fail_open(ant_output *output)
{
    const int reason = errno;
    const antler_status status =
        reason == ENOENT || reason == ENOTDIR ? ANTLER_ERROR_NOT_FOUND : ANTLER_ERROR_IO;
    if (status == ANTLER_ERROR_NOT_FOUND)
        ant_fail(status, "%s: its folder does not exist; create it first", output->path);
    else
        ant_fail(status, "%s: cannot be created: %s", output->path, strerror(reason));
    forget(output);
    return status;
}

/* mkstemp makes private files; give the ones we publish the usual permissions, or the old file's. */
static void set_permissions(int descriptor, const char *path)
{
    struct stat old;
    mode_t mode;
    if (stat(path, &old) == 0) {
        mode = old.st_mode & 07777;
    } else {
        const mode_t mask = umask(0);
        umask(mask);
        mode = 0666 & ~mask;
    }
    (void)fchmod(descriptor, mode); /* a file system without permissions is no reason to fail */
}

static antler_status open_descriptor(ant_output *output, const char *path, int *descriptor)
{
    *output = (ant_output){.path = strdup(path), .temporary = temporary_name(path)};
    if (output->path == NULL || output->temporary == NULL) {
        forget(output);
        return ant_fail_memory(strlen(path), "a file name");
    }
    struct stat existing;
    if (stat(path, &existing) == 0 && S_ISDIR(existing.st_mode)) {
        forget(output);
        return ant_fail(ANTLER_ERROR_ARGUMENT, "%s: is a folder; give the name of a file", path);
    }
    *descriptor = mkstemp(output->temporary);
    if (*descriptor < 0)
        return fail_open(output);
    set_permissions(*descriptor, path);
    return ANTLER_OK;
}

antler_status ant_output_open(ant_output *output, const char *path)
{
    int descriptor = -1;
    ANT_TRY(open_descriptor(output, path, &descriptor));
    output->file = fdopen(descriptor, "wb");
    if (output->file == NULL) {
        const antler_status status = fail_write(output);
        close(descriptor);
        ant_output_abort(output);
        return status;
    }
    return ANTLER_OK;
}

antler_status ant_output_open_name(ant_output *output, const char *path)
{
    int descriptor = -1;
    ANT_TRY(open_descriptor(output, path, &descriptor));
    close(descriptor);
    return ANTLER_OK;
}

antler_status ant_output_write(ant_output *output, const void *data, size_t bytes)
{
    if (bytes != 0 && fwrite(data, 1, bytes, output->file) != bytes)
        return fail_write(output);
    return ANTLER_OK;
}

/* The rename itself must survive a power cut: sync the folder, where the file system can. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    const int descriptor = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        close(descriptor);
    }
    free(folder);
}

static bool sync_and_close(ant_output *output)
{
    if (output->file == NULL) {
        const int descriptor = open(output->temporary, O_RDWR | O_CLOEXEC);
        const bool synced = descriptor >= 0 && fsync(descriptor) == 0;
        const int reason = errno;
        if (descriptor >= 0)
            close(descriptor);
        errno = reason;
        return synced;
    }
    bool good = fflush(output->file) == 0 && fsync(fileno(output->file)) == 0;
    const int reason = errno;
    if (fclose(output->file) != 0 && good)
        good = false;
    else
        errno = reason;
    output->file = NULL;
    return good;
}

antler_status ant_output_commit(ant_output *output)
{
    if (!sync_and_close(output) || rename(output->temporary, output->path) != 0) {
        const antler_status status = fail_write(output);
        ant_output_abort(output);
        return status;
    }
    sync_folder(output->path);
    forget(output);
    return ANTLER_OK;
}

void ant_output_abort(ant_output *output)
{
    if (output->file != NULL)
        fclose(output->file);
    if (output->temporary != NULL)
        (void)unlink(output->temporary);
    forget(output);
}

antler_status antler_write_file(const char *path, const char *text)
{
    ant_output output;
    ANT_TRY(ant_output_open(&output, path));
    const antler_status status = ant_output_write(&output, text, strlen(text));
    if (status == ANTLER_OK)
        return ant_output_commit(&output);
    ant_output_abort(&output);
    return status;
}
