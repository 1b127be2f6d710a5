/* cache.c - compiled kernels on disk: names by hash, checked contents, atomic writes. */
#include "engine/cuda/cache.h"

#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

bool ant_cache_load(ant_hash key, void **bytes, size_t *size)
{
    char path[PATH_BYTES];
    FILE *file = file_name(key, path) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return false;
    const bool found = read_file(file, key, bytes, size);
    fclose(file);
    return found;
}

static antler_status write_file(const char *path, const header *head, const void *bytes)
{
    ant_output output;
    ANT_TRY(ant_output_open(&output, path));
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
    header head = {.size = size, .key = key, .checksum = ant_hash_add(ant_hash_begin(), bytes, size)};
    memcpy(head.magic, magic, sizeof magic);
    if (size > 0 && size <= MAXIMUM && file_name(key, path) && make_folder() &&
        write_file(path, &head, bytes) != ANTLER_OK && before != NULL)
        (void)ant_fail(ANTLER_OK, "%s", before);
    free(before);
}
