/* excerpt.c - a few characters of UTF-8 text, made safe to print. */
#include "data/excerpt.h"

#include <string.h>

enum { MOST_CHARACTERS = 24 };

size_t ant_utf8_character(const char *text, size_t length)
{
    if (length == 0)
        return 0;
    const unsigned char lead = (unsigned char)text[0];
    const size_t bytes = lead < 0x80   ? 1
                         : lead < 0xc2 ? 0
                         : lead < 0xe0 ? 2
                         : lead < 0xf0 ? 3
                         : lead < 0xf5 ? 4
                                       : 0;
    if (bytes == 0 || bytes > length)
        return 0;
    unsigned long code = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (next & 0x3fu);
    }
    char again[4];
    return ant_utf8_encode(code, again) == bytes ? bytes : 0; /* refuses surrogates and long forms */
}

size_t ant_utf8_encode(unsigned long code, char *out)
{
    static const unsigned char lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    const size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

const char *ant_excerpt(const char *text, size_t length, char *out)
{
    size_t from = 0, to = 0;
    for (size_t n = 0; n < MOST_CHARACTERS && from < length; n++) {
        const size_t bytes = ant_utf8_character(text + from, length - from);
        if (bytes == 0 || (unsigned char)text[from] < 0x20 || text[from] == 0x7f) {
            out[to++] = '?';
            from++;
        } else {
            memcpy(out + to, text + from, bytes);
            from += bytes;
            to += bytes;
        }
    }
    memcpy(out + to, from < length ? "..." : "", from < length ? 4 : 1);
    return out;
}
