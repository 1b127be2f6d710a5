/* excerpt.h - parts of a file's text that can be shown in a message. */
#ifndef ANT_DATA_EXCERPT_H
#define ANT_DATA_EXCERPT_H

#include <stddef.h>

enum { ANT_EXCERPT_ROOM = 128 };

/*
 * Copy text .. text+length-1 for display: at most 24 characters, then "..."; control characters and
 * bytes that are not UTF-8 become '?'.  out: (ANT_EXCERPT_ROOM).  Returns out.
 */
const char *ant_excerpt(const char *text, size_t length, char *out);

/* Bytes of the valid UTF-8 character at text, 0 when there is none. */
size_t ant_utf8_character(const char *text, size_t length);

/* Write a code point as UTF-8.  out: (4).  Returns the bytes, 0 when it is not a character. */
size_t ant_utf8_encode(unsigned long code, char *out);

#endif
