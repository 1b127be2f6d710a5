/* sized.c - structs of programs that were compiled with another version of the header. */
#include "base/sized.h"

#include <stdint.h>

enum {
    WORD = 8,      /* alignment of every public struct */
    LEAST = 16,    /* the size itself and a field */
    NEWER = 16384, /* bytes that a newer header may have added */
};

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

/* Bytes first .. last-1 are 0. */
static bool is_zero(const void *given, size_t first, size_t last)
{
    const unsigned char *bytes = given;
    while (first < last && bytes[first] == 0)
        first++;
    return first >= last;
}

bool ant_sized_known(size_t given_size, size_t size)
{
    return given_size >= LEAST && given_size % WORD == 0 && given_size <= size + NEWER;
}

antler_status ant_sized_check(const void *given, size_t size, size_t known, const char *type,
                              const char *remedy)
{
    const size_t has = size_of(given);
    ANT_CHECK(ant_sized_known(has, size), ANTLER_ERROR_ARGUMENT,
              "struct_size of an %s is %zu, which no version has; fill the struct by %s first", type, has,
              remedy);
    ANT_CHECK(
        is_zero(given, known, has), ANTLER_ERROR_ARGUMENT,
        "an %s has %zu bytes, of which Antler %s reads %zu, and a later field is set; fill the struct by "
        "%s and leave that field, or use a newer library",
        type, has, antler_version(), known, remedy);
    return ANTLER_OK;
}

antler_status ant_sized_check_result(size_t given_size, size_t size, const char *function)
{
    ANT_CHECK(ant_sized_known(given_size, size), ANTLER_ERROR_ARGUMENT,
              "%s: no version fills a struct of %zu bytes; give the sizeof of its type", function,
              given_size);
    return ANTLER_OK;
}

void ant_sized_copy(const void *from, size_t from_size, void *to, size_t to_size)
{
    memcpy(to, from, from_size < to_size ? from_size : to_size);
    memcpy(to, &to_size, sizeof to_size);
}

void ant_sized_fill(const void *from, size_t from_size, void *to, size_t to_size)
{
    if (from == to)
        return;
    if (to_size > from_size)
        memset((unsigned char *)to + from_size, 0, to_size - from_size);
    ant_sized_copy(from, from_size, to, to_size);
}

void ant_sized_default(const void *standard, size_t size, void *given, size_t given_size)
{
    if (given != NULL && ant_sized_known(given_size, size))
        ant_sized_fill(standard, size, given, given_size);
}
