/* lines.h - text from a source, one line after another, through a buffer: the file is never held whole. */
#ifndef ANT_DATA_LINES_H
#define ANT_DATA_LINES_H

#include "data/encoding.h"
#include "data/source.h"

typedef struct ant_lines {
    ant_source *source; /* borrowed */
    char *buffer;       /* owned; grows for a line that is longer than it */
    size_t capacity, begin, end;
    bool ended;
    ant_utf16 wide;
    uint64_t number; /* of the line last returned, from 1 */
} ant_lines;

/* Read the start: skip a byte-order mark, find out whether the text is UTF-16. */
antler_status ant_lines_open(ant_lines *lines, ant_source *source);

/*
 * The next line in UTF-8, without its line end (LF or CR LF): text .. text+length-1, valid until the next
 * call. *text is NULL after the last.  The character after the line may be read.  A NUL byte is a fault: this
 * is not text.
 */
antler_status ant_lines_next(ant_lines *lines, const char **text, size_t *length);

void ant_lines_close(ant_lines *lines);

#endif
