/* library.h - open a shared library by any of several names. */
#ifndef ANT_BASE_LIBRARY_H
#define ANT_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

enum { ANT_LIBRARY_PATH = 1024 };

/*
 * The environment variable alone when it is set and not empty, else the first of the NULL-terminated names
 * that opens.  path: (ANT_LIBRARY_PATH): the name that opened or, when it returns false, the loader's reason.
 */
bool ant_library_open(const char *variable, const char *const *names, void **library,
                      char path[ANT_LIBRARY_PATH]);

/* Store the address of a symbol in a function pointer of `bytes` bytes; false when there is none. */
bool ant_library_find(void *library, const char *symbol, void *function, size_t bytes);

void ant_library_close(void *library);

#endif
