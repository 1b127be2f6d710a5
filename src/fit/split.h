/* split.h - the rows that are held back. */
#ifndef ANT_FIT_SPLIT_H
#define ANT_FIT_SPLIT_H

#include "base/status.h"

/* Copies: all rows of each trajectory but the last `share` of them, and those. */
antler_status ant_series_split(const antler_series *series, double share, antler_series **others,
                               antler_series **held_back);

#endif
