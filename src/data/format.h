/* format.h - which of the formats a file is in, by its ending and its first bytes. */
#ifndef ANT_DATA_FORMAT_H
#define ANT_DATA_FORMAT_H

#include "data/source.h"

typedef enum ant_format {
    ANT_FORMAT_NPY,
    ANT_FORMAT_NPZ,
    ANT_FORMAT_TEXT,
} ant_format;

/*
 * Determine the format: known endings first, then the first bytes.  A file in a known format that Antler
 * does not read, or not in the format of its ending, is refused with the remedy.
 */
antler_status ant_format_find(const char *path, ant_source *source, ant_format *format);

/* Whether the name ends so (".npy"), without regard to case, and has something before it. */
bool ant_format_has_ending(const char *path, const char *ending);

#endif
