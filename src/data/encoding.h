/*
 * encoding.h - text that is not UTF-8: UTF-16, which spreadsheets write as "Unicode text", and Windows-1252,
 * of which Latin-1 is a part.
 */
#ifndef ANT_DATA_ENCODING_H
#define ANT_DATA_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ant_utf16 {
    bool found, big;
    unsigned long high; /* the first half of a pair whose second half was not read yet; 0: none */
} ant_utf16;

/* A decoder that fits the first bytes of a text: found by the mark or, without one, by the zero in every
 * second byte of plain letters.  Returns the length of the mark. */
size_t ant_utf16_find(const unsigned char *start, size_t count, ant_utf16 *decoder);

enum { ANT_UTF16_MOST = 3 }; /* bytes of UTF-8 of one unit of UTF-16 */

/*
 * Decode `units` of two bytes; half a pair becomes U+FFFD.  `last`: the text ends here.  to: room for
 * ANT_UTF16_MOST (units + 1) bytes; it may lie before `from` in one buffer, at least ANT_UTF16_MOST + units
 * bytes.  Returns the bytes of UTF-8.
 */
size_t ant_utf16_decode(ant_utf16 *decoder, const unsigned char *from, size_t units, bool last, char *to);

bool ant_text_is_utf8(const char *text);

/* A new text, in UTF-8, of one in Windows-1252; NULL: no memory.  Bytes without a character become U+FFFD. */
char *ant_text_from_windows(const char *text);

#endif
