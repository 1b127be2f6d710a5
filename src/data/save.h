/* save.h - the formats that need a file of their own to be written.  Each writes to an output that is open.
 */
#ifndef ANT_DATA_SAVE_H
#define ANT_DATA_SAVE_H

#include "base/output.h"
#include "data/series.h"

/* The only trajectory as text with a header. */
antler_status ant_save_csv(const antler_series *series, char delimiter, ant_output *output);

/* Whether a reader might take the header of that text for data: a name in it looks like a number. */
bool ant_save_csv_needs_header(const antler_series *series);

/* Everything; opens and commits its own output, through libzip. */
antler_status ant_save_npz(const antler_series *series, const char *path);

/*
 * Values of one trajectory as they stand in a file: float64, little-endian, row after row.  Reads
 * rows first .. first+count-1 of the variables, or of the inputs, into out: (count, width).
 */
void ant_save_rows(const antler_series *series, size_t trajectory, bool inputs, size_t first, size_t count,
                   double *out);

/* Rows that make a tile of about 256 KiB. */
size_t ant_save_tile_rows(size_t width);

#endif
