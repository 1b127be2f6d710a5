/* library.c - dlopen by several names, and symbols as function pointers. */
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_reason(char path[ANT_LIBRARY_PATH])
{
    const char *reason = dlerror();
    snprintf(path, ANT_LIBRARY_PATH, "%s", reason == NULL ? "the loader gave no reason" : reason);
}

bool ant_library_open(const char *variable, const char *const *names, void **library,
                      char path[ANT_LIBRARY_PATH])
{
    const char *const asked = getenv(variable);
    const char *const only[] = {asked, NULL};
    if (asked != NULL && asked[0] != '\0')
        names = only;
    for (size_t i = 0; names[i] != NULL; i++) {
        *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (*library != NULL) {
            snprintf(path, ANT_LIBRARY_PATH, "%s", names[i]);
            return true;
        }
        if (i == 0) /* report the first name */
            keep_reason(path);
    }
    return false;
}

bool ant_library_find(void *library, const char *symbol, void *function, size_t bytes)
{
    void *address = dlsym(library, symbol);
    /* C has no conversion between pointers to objects and to functions; POSIX promises equal bytes. */
    memcpy(function, &address, bytes);
    return address != NULL;
}

void ant_library_close(void *library)
{
    dlclose(library);
}
