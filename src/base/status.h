/* status.h - how internal code fails: one call that records the message, two macros that return it to the
 * caller. */
#ifndef ANT_BASE_STATUS_H
#define ANT_BASE_STATUS_H

#include <antler/antler.h>

#if defined(__GNUC__)
#define ANT_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define ANT_PRINTF(string, first)
#endif

/* Record the message for antler_message() on this thread and return `status`. */
antler_status ant_fail(antler_status status, const char *format, ...) ANT_PRINTF(2, 3);

/* Put "prefix: " before the recorded message and return `status`: a caller adds the file's name. */
antler_status ant_fail_within(antler_status status, const char *prefix);

/* ANTLER_ERROR_MEMORY with the size and the purpose in the message. */
antler_status ant_fail_memory(size_t bytes, const char *purpose);

/* Forward whatever is not ANTLER_OK.  Not for functions that own something: those use `goto done`. */
#define ANT_TRY(call)                                                                                        \
    do {                                                                                                     \
        const antler_status ant_try_status = (call);                                                         \
        if (ant_try_status != ANTLER_OK)                                                                     \
            return ant_try_status;                                                                           \
    } while (0)

/* Return a failure with its message unless the condition holds.  Stays on in release builds. */
#define ANT_CHECK(condition, status, ...)                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return ant_fail((status), __VA_ARGS__);                                                          \
    } while (0)

/* At the head of a public function: refuse a call without a pointer that must be given. */
#define ANT_NEED(given)                                                                                      \
    ANT_CHECK(given, ANTLER_ERROR_ARGUMENT, "%s: an argument that must be given is NULL", __func__)

#endif
