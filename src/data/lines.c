/* lines.c - a buffer that is refilled from a source and read one line at a time. */
#include "data/lines.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 18 };
static const size_t longest_line = (size_t)1 << 30;

antler_status ant_lines_open(ant_lines *lines, ant_source *source)
{
    const unsigned char *start = NULL;
    size_t count = 0, skipped = 0;
    *lines = (ant_lines){.source = source};
    ANT_TRY(ant_source_peek(source, &start, &count));
    const size_t wide_mark = ant_utf16_find(start, count, &lines->wide);
    const size_t mark = count >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : wide_mark;
    lines->buffer = malloc(FIRST_CAPACITY);
    if (lines->buffer == NULL)
        return ant_fail_memory(FIRST_CAPACITY, "a line of text");
    lines->capacity = FIRST_CAPACITY;
    return ant_source_read(source, lines->buffer, mark, &skipped);
}

/* Make room for more text behind the part that was not yet returned. */
static antler_status make_room(ant_lines *lines)
{
    memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;
    if (lines->end < lines->capacity / 2)
        return ANTLER_OK;
    ANT_CHECK(lines->capacity < longest_line, ANTLER_ERROR_FORMAT,
              "line %llu is longer than a gigabyte; write one row per line",
              (unsigned long long)lines->number + 1);
    char *grown = realloc(lines->buffer, 2 * lines->capacity);
    if (grown == NULL)
        return ant_fail_memory(2 * lines->capacity, "a line of text");
    lines->buffer = grown;
    lines->capacity *= 2;
    return ANTLER_OK;
}

/* Read UTF-8 behind the text that is there, into `room` bytes.  UTF-16 is read into the end of them and
 * decoded to their start. */
static antler_status read_text(ant_lines *lines, size_t room, size_t *got)
{
    size_t bytes = 0;
    char *to = lines->buffer + lines->end;
    const size_t wanted = lines->wide.found ? 2 * (room / ANT_UTF16_MOST - 1) : room;
    unsigned char *from = (unsigned char *)to + (room - wanted);
    ANT_TRY(ant_source_read(lines->source, from, wanted, &bytes));
    lines->ended = bytes < wanted;
    *got = bytes;
    if (!lines->wide.found)
        return ANTLER_OK;
    ANT_CHECK(bytes % 2 == 0, ANTLER_ERROR_FORMAT,
              "is UTF-16 text that ends within a character; copy it again, or save it as UTF-8");
    *got = ant_utf16_decode(&lines->wide, from, bytes / 2, lines->ended, to);
    return ANTLER_OK;
}

/* Read on.  One byte stays free for the end mark of the last line. */
static antler_status refill(ant_lines *lines)
{
    size_t got = 0;
    ANT_TRY(make_room(lines));
    ANT_TRY(read_text(lines, lines->capacity - 1 - lines->end, &got));
    const char *fresh = lines->buffer + lines->end;
    const char *nul = memchr(fresh, '\0', got);
    if (nul != NULL) {
        uint64_t number = lines->number + 1;
        for (const char *p = lines->buffer; p < nul; p++)
            number += *p == '\n';
        return ant_fail(ANTLER_ERROR_FORMAT,
                        "has a NUL byte in line %llu, so it is not text; give the file the ending of its "
                        "true format (.npy, .npz)",
                        (unsigned long long)number);
    }
    lines->end += got;
    return ANTLER_OK;
}

antler_status ant_lines_next(ant_lines *lines, const char **text, size_t *length)
{
    size_t looked = 0;
    char *line_end = NULL;
    for (;;) {
        const size_t left = lines->end - lines->begin;
        line_end = memchr(lines->buffer + lines->begin + looked, '\n', left - looked);
        if (line_end != NULL || lines->ended)
            break;
        looked = left;
        ANT_TRY(refill(lines));
    }
    char *start = lines->buffer + lines->begin;
    if (line_end == NULL && lines->begin == lines->end) {
        *text = NULL;
        *length = 0;
        return ANTLER_OK;
    }
    lines->begin = line_end == NULL ? lines->end : (size_t)(line_end - lines->buffer) + 1;
    if (line_end == NULL) {
        line_end = lines->buffer + lines->end;
        *line_end = '\n';
    }
    lines->number++;
    *text = start;
    *length = (size_t)(line_end - start);
    if (*length > 0 && start[*length - 1] == '\r')
        (*length)--;
    return ANTLER_OK;
}

void ant_lines_close(ant_lines *lines)
{
    free(lines->buffer);
    *lines = (ant_lines){0};
}
