/*
 * npz.h - NumPy archives: zip files with one .npy per array.
 *
 * Antler's own archives, and any other with an array `x`, are read by this convention:
 *     x, x_000, x_001, ...   trajectories            s, s_000, ...   their inputs
 *     names, input_names     text                    dt              a number
 *     mean, scale            user = value * scale + mean, one number per variable
 *     time, time_000, ...    times of the rows       time_name, time_unit   text
 * In any other archive the only array of numbers with 1 to 3 axes is taken, or all of them when their names
 * differ in digits at the end only; with others the option `key` must name them.  `dt` is read there too,
 * other single numbers and text are skipped.
 */
#ifndef ANT_DATA_NPZ_H
#define ANT_DATA_NPZ_H

#include "data/table.h"

typedef struct ant_npz ant_npz;

/* Open a file, whose first bytes have been seen to be those of a zip, or a copy of it in memory. */
antler_status ant_npz_open_file(ant_npz **npz, const char *path);
antler_status ant_npz_open_memory(ant_npz **npz, const void *bytes, size_t size);

/*
 * Arrays that are read take their bytes from *allowance, which grows by the size of the archive: so only
 * what is larger in memory than on disk counts.  Without this call, an archive may take ANT_MAX_BYTES.
 */
void ant_npz_allow(ant_npz *npz, uint64_t *allowance);

void ant_npz_close(ant_npz *npz);

/* Arrays in the archive: its members that end in .npy. */
size_t ant_npz_count(const ant_npz *npz);
const char *ant_npz_key(const ant_npz *npz, size_t index); /* without .npy */

/* The array of that name, or ANT_NPZ_NONE. */
#define ANT_NPZ_NONE SIZE_MAX
size_t ant_npz_find(const ant_npz *npz, const char *key);

/* Begin to read an array; `source` gives the bytes of its .npy.  Close it before the next. */
antler_status ant_npz_open_array(ant_npz *npz, size_t index, ant_source *source);
void ant_npz_close_array(ant_source *source);

/* Put "array KEY: " before the sentence of a failure. */
antler_status ant_npz_fail_in_array(antler_status status, const char *key);

/* Read the whole archive into the series (created at the first table).  origin: the file's name. */
antler_status ant_npz_read(ant_npz *npz, const antler_load_opts *opts, const char *origin,
                           antler_series **series);

#endif
