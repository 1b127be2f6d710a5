/*
 * sized.h - structs that cross the public interface.
 *
 * Each begins with size_t struct_size: the size that it has in the program, which may have been compiled with
 * an older or a newer header (docs/decisions/0022-struct-size.md).  ANT_OPTIONS stands at the head of a
 * function that reads such a struct, ANT_RESULT at the head of one that writes it.  Where the sizes are the
 * same, both do nothing.
 */
#ifndef ANT_BASE_SIZED_H
#define ANT_BASE_SIZED_H

#include "base/status.h"

#include <string.h>

/*
 * Whether this library can read a struct that the program has filled.  Its size is a multiple of 8 that holds
 * more than the size itself; bytes from `known` on, which are no fields of this library, are 0.  size: of
 * this library; known: `size`, or where `room` begins; remedy: what fills such a struct.
 */
antler_status ant_sized_check(const void *given, size_t size, size_t known, const char *type,
                              const char *remedy);

/* Whether a version of the library may have a struct of this size.  size: of this library */
bool ant_sized_known(size_t given_size, size_t size);

/* The same for the last argument of a function that fills a struct. */
antler_status ant_sized_check_result(size_t given_size, size_t size, const char *function);

/* Copy the fields that both have; struct_size of `to` becomes `to_size`, and its other bytes stay. */
void ant_sized_copy(const void *from, size_t from_size, void *to, size_t to_size);

/* The same into a struct of the program, which may be `from`; bytes that are no fields of this library become
 * 0. */
void ant_sized_fill(const void *from, size_t from_size, void *to, size_t to_size);

/* The same for a `_default` function, which does nothing for NULL or an unknown size. */
void ant_sized_default(const void *standard, size_t size, void *given, size_t given_size);

/* Let `given` point to a struct of this library's size: its own, or `given_whole` with `fill` before. */
#define ANT_TAKE(type, given, known, fill, remedy)                                                           \
    type given##_whole;                                                                                      \
    if ((given) != NULL) {                                                                                   \
        ANT_TRY(ant_sized_check((given), sizeof(type), (known), #type, (remedy)));                           \
        if ((given)->struct_size != sizeof(type)) {                                                          \
            fill;                                                                                            \
            ant_sized_copy((given), (given)->struct_size, &given##_whole, sizeof(type));                     \
            (given) = &given##_whole;                                                                        \
        }                                                                                                    \
    }

/* Options that the program has filled; NULL stays NULL. */
#define ANT_OPTIONS(type, given)                                                                             \
    ANT_TAKE(type, given, sizeof(type), type##_default(&given##_whole), #type "_default")

/* The same for structs that are part of another and have `room`. */
#define ANT_OPTIONS_PART(type, given)                                                                        \
    ANT_TAKE(type, given, offsetof(type, room), type##_default(&given##_whole), #type "_default")

/* A struct inside another that was taken: its size is this library's, and its `room` is empty. */
#define ANT_PART(type, part)                                                                                 \
    ANT_TRY(ant_sized_check((part), sizeof(type), offsetof(type, room), #type, #type "_default"))

/* A result of the library that the program hands back; `maker` is the function that fills it. */
#define ANT_HANDED_BACK(type, given, maker)                                                                  \
    ANT_TAKE(type, given, sizeof(type), memset(&given##_whole, 0, sizeof(type)), (maker))

/* After that: free what is in &whole beyond the program's struct. */
#define ANT_CLEAR_REST(type, size)                                                                           \
    (memset(&whole, 0, (size) < sizeof whole ? (size) : sizeof whole), whole.struct_size = sizeof whole,     \
     type##_clear(&whole))

/* At the head of a `_clear`: a struct of another size by way of a whole one. */
#define ANT_CLEAR(type, result)                                                                              \
    if ((result)->struct_size != sizeof(type)) {                                                             \
        type whole = {.struct_size = sizeof(type)};                                                          \
        if (!ant_sized_known((result)->struct_size, sizeof(type)))                                           \
            return;                                                                                          \
        ant_sized_copy((result), (result)->struct_size, &whole, sizeof whole);                               \
        type##_clear(&whole);                                                                                \
        ant_sized_fill(&whole, sizeof whole, (result), (result)->struct_size);                               \
        return;                                                                                              \
    }

/*
 * Where the program's struct has another size, `call` is this same function with &whole, and what it writes
 * there is copied; `after` then frees what the program's struct cannot hold.
 */
#define ANT_RESULT(type, result, size, call, after)                                                          \
    if ((result) != NULL && (size) != sizeof(type)) {                                                        \
        type whole = {.struct_size = sizeof(type)};                                                          \
        ANT_TRY(ant_sized_check_result((size), sizeof(type), __func__));                                     \
        ant_sized_copy((result), (size), &whole, sizeof whole);                                              \
        const antler_status ant_status = (call);                                                             \
        ant_sized_fill(&whole, sizeof whole, (result), (size));                                              \
        after;                                                                                               \
        return ant_status;                                                                                   \
    }

#endif
