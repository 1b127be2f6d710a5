/*
 * cache.h - compiled kernels on disk, so that only the first use of a shape pays for the compiler.
 *
 * The folder is ANTLER_CACHE, else XDG_CACHE_HOME/antler, else ~/.cache/antler.  A file's name is the hash of
 * everything that its contents depend on (the key); it begins with a magic word, the length and a checksum,
 * and appears whole or not at all.  A file that does not hold what it should is ignored and written anew.  No
 * failure of the cache is a failure of the caller: without a folder, it merely remembers nothing.
 */
#ifndef ANT_ENGINE_CUDA_CACHE_H
#define ANT_ENGINE_CUDA_CACHE_H

#include "base/status.h"

/* FNV-1a with 128 bits (Fowler, Noll, Vo). */
typedef struct ant_hash {
    uint64_t high, low;
} ant_hash;

ant_hash ant_hash_begin(void);
ant_hash ant_hash_add(ant_hash hash, const void *bytes, size_t count);

/* Text with its final zero byte, so that "ab", "c" and "a", "bc" differ. */
ant_hash ant_hash_add_text(ant_hash hash, const char *text);

/* True, and the bytes in *bytes (the caller frees them), when the cache has the key. */
bool ant_cache_load(ant_hash key, void **bytes, size_t *size);

/* Remember.  Nothing happens where that is not possible; antler_message() is as before. */
void ant_cache_store(ant_hash key, const void *bytes, size_t size);

#endif
