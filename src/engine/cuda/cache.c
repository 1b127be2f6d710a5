/* cache.c - compiled kernels on disk: names by hash, checked owners and contents, atomic writes. */
#include "engine/cuda/cache.h"

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAXIMUM = 1 << 30 };

static const char magic[8] = {'A', 'N', 'T', 'C', 'U', 'B', '0', '1'};

typedef struct header {
    char magic[8];
    uint64_t size;
    ant_hash key, checksum;
} header;

static bool same(ant_hash a, ant_hash b)
{
    return a.high == b.high && a.low == b.low;
}

static bool folder_name(char path[PATH_BYTES])
{
    const char *own = getenv("ANTLER_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (own != NULL && own[0] != '\0')
        length = snprintf(path, PATH_BYTES, "%s", own);
    else if (shared != NULL && shared[0] == '/') /* the standard ignores relative names */
        length = snprintf(path, PATH_BYTES, "%s/antler", shared);
    else if (home != NULL && home[0] != '\0')
        length = snprintf(path, PATH_BYTES, "%s/.cache/antler", home);
    return length > 0 && length < PATH_BYTES;
}

static bool file_name(ant_hash key, char path[PATH_BYTES])
{
    if (!folder_name(path))
        return false;
    const size_t used = strlen(path);
    const int length =
        snprintf(path + used, PATH_BYTES - used, "/%016" PRIx64 "%016" PRIx64 ".cubin", key.high, key.low);
    return length > 0 && (size_t)length < PATH_BYTES - used;
}

/* Create the folder and its parents, private to the user: its contents are executed. */
static bool make_folder(void)
{
    char path[PATH_BYTES];
    if (!folder_name(path))
        return false;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool read_file(FILE *file, ant_hash key, void **bytes, size_t *size)
{
    header head;
    if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, magic, sizeof magic) != 0 ||
        !same(head.key, key) || head.size == 0 || head.size > MAXIMUM)
        return false;
    void *read = malloc(head.size);
    if (read == NULL)
        return false;
    if (fread(read, 1, head.size, file) != head.size || fgetc(file) != EOF ||
        !same(ant_hash_add(ant_hash_begin(), read, head.size), head.checksum)) {
        free(read);
        return false;
    }
    *bytes = read;
    *size = head.size;
    return true;
}

/*
 * What is in the cache is executed.  So folder and file must belong to this user or to root, and nobody else
 * may write them.  Both are examined by their descriptors: a name could be changed in between.
 */
static antler_status check_trust(int descriptor, const char *path, bool folder)
{
    struct stat facts;
    ANT_CHECK(fstat(descriptor, &facts) == 0 && (folder ? S_ISDIR(facts.st_mode) : S_ISREG(facts.st_mode)),
              ANTLER_ERROR_IO, "%s: is not a %s", path, folder ? "folder" : "file");
    ANT_CHECK(facts.st_uid == geteuid() || facts.st_uid == 0, ANTLER_ERROR_IO,
              "%s: belongs to another user (%lu), and what is in it would be executed; name a folder of your "
              "own in ANTLER_CACHE",
              path, (unsigned long)facts.st_uid);
    ANT_CHECK(
        (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0, ANTLER_ERROR_IO,
        "%s: others may write it, and what is in it would be executed; take that away with 'chmod go-w', "
        "or name another folder in ANTLER_CACHE",
        path);
    return ANTLER_OK;
}

/* *descriptor: of the folder; -1 when there is none yet. */
static antler_status open_folder(char path[PATH_BYTES], int *descriptor)
{
    *descriptor = -1;
    ANT_CHECK(folder_name(path), ANTLER_ERROR_NOT_FOUND, "neither ANTLER_CACHE nor HOME names a folder");
    *descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*descriptor < 0 && errno == ENOENT)
        return ANTLER_OK;
    ANT_CHECK(*descriptor >= 0, ANTLER_ERROR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    const antler_status status = check_trust(*descriptor, path, true);
    if (status != ANTLER_OK) {
        close(*descriptor);
        *descriptor = -1;
    }
    return status;
}

antler_status ant_cache_check(char *path, size_t bytes)
{
    char name[PATH_BYTES] = "";
    int folder = -1;
    const antler_status status = open_folder(name, &folder);
    if (folder >= 0)
        close(folder);
    snprintf(path, bytes, "%s", name);
    return status;
}

/* The file of this key in the folder, when both can be trusted; else NULL. */
static FILE *open_trusted(ant_hash key)
{
    char path[PATH_BYTES];
    int folder = -1;
    if (open_folder(path, &folder) != ANTLER_OK || folder < 0 || !file_name(key, path))
        return NULL;
    const int file = openat(folder, strrchr(path, '/') + 1, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    FILE *stream = file >= 0 && check_trust(file, path, false) == ANTLER_OK ? fdopen(file, "rb") : NULL;
    if (stream == NULL && file >= 0)
        close(file);
    return stream;
}

bool ant_cache_load(ant_hash key, void **bytes, size_t *size)
{
    char *before = strdup(antler_message());
    FILE *file = open_trusted(key);
    const bool found = file != NULL && read_file(file, key, bytes, size);
    if (file != NULL)
        fclose(file);
    if (before != NULL)
        (void)ant_fail(ANTLER_OK, "%s", before);
    free(before);
    return found;
}

static antler_status write_file(const char *path, const header *head, const void *bytes)
{
    ant_output output;
    ANT_TRY(ant_output_open(&output, path));
    (void)fchmod(fileno(output.file),
                 0600); /* whatever the umask: a file that others may write is not read */
    antler_status status = ant_output_write(&output, head, sizeof *head);
    if (status == ANTLER_OK)
        status = ant_output_write(&output, bytes, head->size);
    if (status == ANTLER_OK)
        status = ant_output_commit(&output);
    ant_output_abort(&output);
    return status;
}

void ant_cache_store(ant_hash key, const void *bytes, size_t size)
{
    char path[PATH_BYTES], *before = strdup(antler_message());
    int folder = -1;
    header head = {.size = size, .key = key, .checksum = ant_hash_add(ant_hash_begin(), bytes, size)};
    memcpy(head.magic, magic, sizeof magic);
    const bool possible = size > 0 && size <= MAXIMUM && make_folder() &&
                          open_folder(path, &folder) == ANTLER_OK && folder >= 0 && file_name(key, path);
    if (folder >= 0)
        close(folder);
    if (possible)
        (void)write_file(path, &head, bytes);
    if (before != NULL)
        (void)ant_fail(ANTLER_OK, "%s", before);
    free(before);
}
