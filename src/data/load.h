/* load.h - loading from bytes that are already open, as the fuzzers do. */
#ifndef ANT_DATA_LOAD_H
#define ANT_DATA_LOAD_H

#include "data/series.h"
#include "data/source.h"

/* Read one array, or one table of text, into the series, which is created at the first. */
antler_status ant_load_npy(ant_source *source, const antler_load_opts *opts, const char *origin,
                           antler_series **series);
antler_status ant_load_text(ant_source *source, const antler_load_opts *opts, const char *origin,
                            antler_series **series);

#endif
