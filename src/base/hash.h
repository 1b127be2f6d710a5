/* hash.h - FNV-1a with 128 bits (Fowler, Noll, Vo), byte by byte: names and fingerprints, no security. */
#ifndef ANT_BASE_HASH_H
#define ANT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct ant_hash {
    uint64_t high, low;
} ant_hash;

enum { ANT_HASH_TEXT = 33 }; /* 32 hexadecimal digits and the final zero byte */

ant_hash ant_hash_begin(void);
ant_hash ant_hash_add(ant_hash hash, const void *bytes, size_t count);

/* Text with its final zero byte, so that "ab", "c" and "a", "bc" differ. */
ant_hash ant_hash_add_text(ant_hash hash, const char *text);

void ant_hash_print(ant_hash hash, char text[ANT_HASH_TEXT]);

#endif
