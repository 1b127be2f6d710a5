/*
 * fail_allocations.c - a library for LD_PRELOAD that makes allocations fail, those of all libraries included.
 *
 * ANTLER_FAIL_AT=n       the n-th allocation of the process fails (1: the first; 0: none)
 * ANTLER_FAIL_MODE=all   so do all after it
 * ANTLER_FAIL_REPORT=F   at the end, F holds the number of allocations that were requested
 *
 * Programs that the process starts do not inherit it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, MAP_ANONYMOUS */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The allocator of glibc under the names that it keeps for this purpose. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_ullong calls;
static unsigned long long fail_at;
static bool fail_all;
static char report_path[4096];
static pid_t owner;

static bool fails(void)
{
    const unsigned long long call = atomic_fetch_add(&calls, 1) + 1;
    const bool failing = fail_at != 0 && (call == fail_at || (fail_all && call > fail_at));
    if (failing)
        errno = ENOMEM;
    return failing;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made = memalign(alignment, bytes);
    if (made == NULL)
        return ENOMEM;
    *memory = made;
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int descriptor, off_t offset)
{
    static void *(*system_mmap)(void *, size_t, int, int, int, off_t);
    if (system_mmap == NULL)
        *(void **)&system_mmap = dlsym(RTLD_NEXT, "mmap");
    if ((flags & MAP_ANONYMOUS) != 0 && fails())
        return MAP_FAILED;
    return system_mmap(address, bytes, protection, flags, descriptor, offset);
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("ANTLER_FAIL_AT"), *mode = getenv("ANTLER_FAIL_MODE");
    const char *report = getenv("ANTLER_FAIL_REPORT");
    fail_at = at == NULL ? 0 : strtoull(at, NULL, 10);
    fail_all = mode != NULL && strcmp(mode, "all") == 0;
    if (report != NULL && strlen(report) < sizeof report_path)
        strcpy(report_path, report);
    owner = getpid();
    unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void)
{
    char digits[24];
    size_t at = sizeof digits;
    unsigned long long count = atomic_load(&calls);
    const int file = report_path[0] == '\0' || owner != getpid()
                         ? -1
                         : open(report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    do
        digits[--at] = (char)('0' + count % 10);
    while ((count /= 10) != 0);
    (void)!write(file, digits + at, sizeof digits - at);
    close(file);
}
