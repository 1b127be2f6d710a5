/*
 * archive.h - named arrays in a NumPy archive (.npz), written whole or not at all, and read by name.
 *
 * Members are stored, not compressed, with a fixed date: the same arrays give the same bytes.
 */
#ifndef ANT_DATA_ARCHIVE_H
#define ANT_DATA_ARCHIVE_H

#include "data/dtype.h"
#include "data/npz.h"

typedef struct ant_archive ant_archive;

/* Begin to write `path`; bytes go to a temporary name beside it until ant_archive_commit. */
antler_status ant_archive_create(const char *path, ant_archive **archive);

/* Write, sync, rename.  Frees the archive, also on failure. */
antler_status ant_archive_commit(ant_archive *archive);

/* Give up; nothing is left on disk.  NULL is allowed. */
void ant_archive_abort(ant_archive *archive);

/* Add numbers, copied.  rank <= 3; shape: (rank); values in C order. */
antler_status ant_archive_add(ant_archive *archive, const char *key, ant_dtype dtype, size_t rank,
                              const size_t *shape, const void *values);

/* Add dates, in microseconds since 1970, as NumPy's datetime64[us].  values: (count) */
antler_status ant_archive_add_dates(ant_archive *archive, const char *key, size_t count,
                                    const int64_t *values);

/* Add doubles as float32 (exact for values that are floats) or float64. */
antler_status ant_archive_add_reals(ant_archive *archive, const char *key, int bits, size_t rank,
                                    const size_t *shape, const double *values);

/* Add UTF-8 texts as NumPy strings.  rank 0: one text; rank 1: a list of `count`. */
antler_status ant_archive_add_texts(ant_archive *archive, const char *key, size_t rank, size_t count,
                                    const char *const *texts);

/*
 * Add a matrix of doubles that is read in tiles of rows while the archive is written, so that it is
 * never held as a whole.  `rows` fills out: (count, width), little-endian, until ant_archive_commit; the
 * `bytes` of its cookie are copied.
 */
typedef void (*ant_archive_rows)(const void *cookie, size_t first, size_t count, double *out);
antler_status ant_archive_add_rows(ant_archive *archive, const char *key, size_t length, size_t width,
                                   size_t tile_rows, ant_archive_rows rows, const void *cookie, size_t bytes);

/* Reading.  A missing key is ANTLER_ERROR_FORMAT; call ant_npz_find first where it may be missing. */

/* The shape of an array of numbers, and the bytes of one value.  shape: (8). */
antler_status ant_archive_shape(ant_npz *npz, const char *key, size_t *rank, size_t *shape, size_t *item);

/* All values as double, C order, any number type.  `count` must be the number of values. */
antler_status ant_archive_read(ant_npz *npz, const char *key, size_t count, double *values);

/* All values as they are, which must be of this type. */
antler_status ant_archive_read_raw(ant_npz *npz, const char *key, ant_dtype dtype, size_t count,
                                   void *values);

/* One text (rank 0) or entry `index` of a list, in new memory. */
antler_status ant_archive_read_text(ant_npz *npz, const char *key, size_t index, char **text);

#endif
