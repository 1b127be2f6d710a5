/* encoding.c - UTF-16 and Windows-1252 become UTF-8. */
#include "data/encoding.h"
#include "data/excerpt.h"

#include <stdlib.h>
#include <string.h>

static const unsigned long unknown = 0xfffd;

/* Plain letters in every second byte, the first of them at `at`, and zeros between them. */
static bool is_wide(const unsigned char *start, size_t count, size_t at)
{
    for (size_t i = 0; i < 8; i++) {
        if (i >= count)
            return false;
        const bool plain = (start[i] >= 0x20 && start[i] < 0x7f) || (start[i] >= '\t' && start[i] <= '\r');
        if (i % 2 == at ? !plain : start[i] != 0)
            return false;
    }
    return true;
}

size_t ant_utf16_find(const unsigned char *start, size_t count, ant_utf16 *decoder)
{
    const bool marked = count >= 2 && (start[0] ^ start[1]) == 1 && (start[0] | start[1]) == 0xff;
    decoder->high = 0;
    decoder->big = marked ? start[0] == 0xfe : is_wide(start, count, 1);
    decoder->found = marked || decoder->big || is_wide(start, count, 0);
    return marked ? 2 : 0;
}

size_t ant_utf16_decode(ant_utf16 *decoder, const unsigned char *from, size_t units, bool last, char *to)
{
    size_t done = 0;
    for (size_t i = 0; i < units; i++, from += 2) {
        const unsigned long unit =
            decoder->big ? (unsigned long)from[0] << 8 | from[1] : (unsigned long)from[1] << 8 | from[0];
        const unsigned long high = decoder->high;
        const bool first = unit >= 0xd800 && unit < 0xdc00, second = unit >= 0xdc00 && unit < 0xe000;
        if (high != 0 && !second)
            done += ant_utf8_encode(unknown, to + done);
        decoder->high = first ? unit : 0;
        if (high != 0 && second)
            done += ant_utf8_encode(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), to + done);
        else if (!first)
            done += ant_utf8_encode(second ? unknown : unit, to + done);
    }
    if (last && decoder->high != 0)
        done += ant_utf8_encode(unknown, to + done);
    decoder->high = last ? 0 : decoder->high;
    return done;
}

bool ant_text_is_utf8(const char *text)
{
    const size_t length = strlen(text);
    for (size_t i = 0, bytes; i < length; i += bytes) {
        bytes = ant_utf8_character(text + i, length - i);
        if (bytes == 0)
            return false;
    }
    return true;
}

char *ant_text_from_windows(const char *text)
{
    /* 0x80 to 0x9f; the others are those of Latin-1, whose bytes are code points; 0: none */
    static const unsigned short second[] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                            0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                            0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                            0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};
    char *copy = malloc(3 * strlen(text) + 1);
    size_t done = 0;
    for (; copy != NULL && *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        const unsigned long code = byte >= 0x80 && byte < 0xa0 ? second[byte - 0x80] : byte;
        done += ant_utf8_encode(code == 0 ? unknown : code, copy + done);
    }
    if (copy != NULL)
        copy[done] = '\0';
    return copy;
}
