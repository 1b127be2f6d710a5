/* hash.c - FNV-1a with 128 bits. */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

ant_hash ant_hash_begin(void)
{
    return (ant_hash){.high = 0x6c62272e07bb0142u, .low = 0x62b821756295c58du};
}

ant_hash ant_hash_add(ant_hash hash, const void *bytes, size_t count)
{
    const wide prime = ((wide)1 << 88) + 0x13b;
    wide value = (wide)hash.high << 64 | hash.low;
    for (const unsigned char *byte = bytes; count-- > 0; byte++)
        value = (value ^ *byte) * prime;
    return (ant_hash){.high = (uint64_t)(value >> 64), .low = (uint64_t)value};
}

ant_hash ant_hash_add_text(ant_hash hash, const char *text)
{
    return ant_hash_add(hash, text, strlen(text) + 1);
}

void ant_hash_print(ant_hash hash, char text[ANT_HASH_TEXT])
{
    snprintf(text, ANT_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}
