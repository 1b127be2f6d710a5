/*
 * cache.h - compiled kernels on disk, so that a variant is compiled only at its first use.
 *
 * The folder is ANTLER_CACHE, else XDG_CACHE_HOME/antler, else ~/.cache/antler.  The name of a file is the
 * hash of everything that its contents depend on (the key).  A file begins with a magic word, the length and
 * a checksum, and is written atomically.  An invalid file is ignored and written again, and so is one that
 * somebody else may have written.  A failure of the cache is never a failure of the caller: without a folder
 * of which owner and permissions are right, nothing is cached.
 */
#ifndef ANT_ENGINE_CUDA_CACHE_H
#define ANT_ENGINE_CUDA_CACHE_H

#include "base/hash.h"
#include "base/status.h"

/* The name of the folder; not ANTLER_OK, with the reason, when it is not used. */
antler_status ant_cache_check(char *path, size_t bytes);

/* True, and the bytes in *bytes (the caller frees them), when the cache has the key. */
bool ant_cache_load(ant_hash key, void **bytes, size_t *size);

/* Store.  Where that is not possible nothing happens, and antler_message() does not change. */
void ant_cache_store(ant_hash key, const void *bytes, size_t size);

#endif
