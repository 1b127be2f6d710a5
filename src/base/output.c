/* output.c - a file is written under a temporary name, synchronised to disk and renamed. */
#include "base/output.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* Six letters in place of the X; create_temporary tries again where that name is taken. */
static void choose_name(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static _Thread_local uint64_t calls;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t bits = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)getpid() << 20 ^
                    (uint64_t)(uintptr_t)&calls ^ ++calls << 48;
    for (char *x = name + strlen(name) - 6; *x != '\0'; x++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        *x = letters[(bits >> 33) % (sizeof letters - 1)];
    }
}

/* A new file of the usual permissions, which the system masks itself: umask(2) is of the whole process. */
static int create_temporary(char *name)
{
    enum { TRIES = 100 };
    int descriptor = -1;
    for (int i = 0; i < TRIES && descriptor < 0; i++) {
        choose_name(name);
        descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    return descriptor;
}

/* A device, a FIFO or a socket is written into; to rename a file onto it would replace it. */
static bool is_special(const struct stat *file)
{
    return !S_ISREG(file->st_mode) && !S_ISDIR(file->st_mode);
}

static antler_status open_temporary(ant_output *output, const struct stat *old, int *descriptor)
{
    output->temporary = temporary_name(output->path);
    if (output->temporary == NULL) {
        forget(output);
        return ant_fail_memory(sizeof "..XXXXXX", "a file name");
    }
    *descriptor = create_temporary(output->temporary);
    if (*descriptor < 0)
        return fail_open(output);
    if (old != NULL) /* a file system without permissions is no reason to fail */
        (void)fchmod(*descriptor, old->st_mode & 0777);
    return ANTLER_OK;
}

static antler_status open_descriptor(ant_output *output, const char *path, bool to_seek, int *descriptor)
{
    ANT_CHECK(path != NULL, ANTLER_ERROR_ARGUMENT, "a file needs a name");
    struct stat old;
    const bool exists = stat(path, &old) == 0;
    *output = (ant_output){0};
    ANT_CHECK(!exists || !S_ISDIR(old.st_mode), ANTLER_ERROR_ARGUMENT,
              "%s: is a folder; give the name of a file", path);
    ANT_CHECK(!exists || !is_special(&old) || !to_seek, ANTLER_ERROR_ARGUMENT,
              "%s: is a device or a pipe, and an archive needs a file; use .npy, .csv or .tsv", path);
    output->path = strdup(path);
    if (output->path == NULL)
        return ant_fail_memory(strlen(path), "a file name");
    if (!exists || !is_special(&old))
        return open_temporary(output, exists ? &old : NULL, descriptor);
    *descriptor = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return *descriptor < 0 ? fail_open(output) : ANTLER_OK;
}

/* The kernel's rule for links in folders like /tmp (protected_symlinks): another user's is not followed. */
static bool is_planted(const char *name, const struct stat *entry)
{
    const char *slash = strrchr(name, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(name, (size_t)(slash - name) + 1);
    struct stat facts;
    const mode_t open_to_all = S_ISVTX | S_IWOTH;
    const bool planted =
        folder == NULL || (stat(folder, &facts) == 0 && (facts.st_mode & open_to_all) == open_to_all &&
                           entry->st_uid != geteuid() && entry->st_uid != facts.st_uid);
    free(folder);
    return planted;
}

/* The name in the symbolic link `name`, seen from the current folder; NULL when it cannot be read. */
static char *read_link(const char *name)
{
    char text[4096];
    const ssize_t length = readlink(name, text, sizeof text - 1);
    if (length <= 0)
        return NULL;
    text[length] = '\0';
    const char *slash = strrchr(name, '/');
    if (text[0] == '/' || slash == NULL)
        return strdup(text);
    const size_t folder = (size_t)(slash - name) + 1;
    char *joined = malloc(folder + (size_t)length + 1);
    if (joined != NULL)
        snprintf(joined, folder + (size_t)length + 1, "%.*s%s", (int)folder, name, text);
    return joined;
}

antler_status ant_output_follow(const char *path, char **target)
{
    enum { MOST_LINKS = 40 };
    struct stat facts, entry;
    char *name = strdup(path);
    if (name != NULL && stat(path, &facts) == 0 && is_special(&facts)) { /* /dev/stdout is a chain of links */
        *target = name;
        return ANTLER_OK;
    }
    for (int i = 0; name != NULL && lstat(name, &entry) == 0 && S_ISLNK(entry.st_mode); i++) {
        const bool good = i < MOST_LINKS && !is_planted(name, &entry);
        char *next = good ? read_link(name) : NULL;
        free(name);
        name = next;
        ANT_CHECK(
            good, ANTLER_ERROR_ARGUMENT,
            "%s: is a symbolic link that is not followed: it goes round, or belongs to another user in a "
            "folder that is open to all; name the file itself",
            path);
    }
    if (name == NULL)
        return ant_fail_memory(strlen(path), "a file name");
    *target = name;
    return ANTLER_OK;
}

static antler_status open_file(ant_output *output, const char *path, bool to_seek)
{
    int descriptor = -1;
    ANT_TRY(open_descriptor(output, path, to_seek, &descriptor));
    output->file = fdopen(descriptor, "wb");
    if (output->file == NULL) {
        const antler_status status = fail_write(output);
        close(descriptor);
        ant_output_abort(output);
        return status;
    }
    return ANTLER_OK;
}

antler_status ant_output_open(ant_output *output, const char *path)
{
    return open_file(output, path, false);
}

antler_status ant_output_open_to_seek(ant_output *output, const char *path)
{
    return open_file(output, path, true);
}

antler_status ant_output_write(ant_output *output, const void *data, size_t bytes)
{
    if (bytes != 0 && fwrite(data, 1, bytes, output->file) != bytes)
        return fail_write(output);
    return ANTLER_OK;
}

static bool sync_and_close(ant_output *output)
{
    bool good = fflush(output->file) == 0 && (output->temporary == NULL || fsync(fileno(output->file)) == 0);
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
    if (!sync_and_close(output) ||
        (output->temporary != NULL && rename(output->temporary, output->path) != 0)) {
        const antler_status status = fail_write(output);
        ant_output_abort(output);
        return status;
    }
    /* The rename itself must survive a power cut. */
    const antler_status status = output->temporary == NULL ? ANTLER_OK : ant_path_sync_parent(output->path);
    forget(output);
    return status;
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
    ANT_CHECK(path != NULL && text != NULL, ANTLER_ERROR_ARGUMENT, "writing needs a file name and a text");
    ANT_TRY(ant_output_open(&output, path));
    const antler_status status = ant_output_write(&output, text, strlen(text));
    if (status == ANTLER_OK)
        return ant_output_commit(&output);
    ant_output_abort(&output);
    return status;
}
