/* status.c - the message of the last failure, one per thread, and the names of statuses. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

static _Thread_local char last_message[MESSAGE_BYTES];

antler_status ant_fail(antler_status status, const char *format, ...)
{
    char text[MESSAGE_BYTES]; /* arguments may point into last_message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(last_message, text, sizeof last_message);
    return status;
}

antler_status ant_fail_within(antler_status status, const char *prefix)
{
    return ant_fail(status, "%s: %s", prefix, last_message);
}

antler_status ant_fail_memory(size_t bytes, const char *purpose)
{
    return ant_fail(ANTLER_ERROR_MEMORY, "out of memory: %.3g MB for %s could not be allocated",
                    (double)bytes / 1e6, purpose);
}

const char *antler_message(void)
{
    return last_message;
}

const char *antler_status_name(antler_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, text)                                                                       \
    case ANTLER_##name:                                                                                      \
        return #name;
        ANTLER_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "UNKNOWN";
}

const char *antler_status_text(antler_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text)                                                                       \
    case ANTLER_##name:                                                                                      \
        return text;
        ANTLER_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "a status of another version of Antler";
}
