/*
 * extremes.h - values that a faulty sensor may have left: spikes, and a range that ends where values pile up.
 *
 * A spike is a value farther from the median than six robust standard deviations and than nearly all others,
 * beyond the tail of these, whose neighbours within two rows on both sides are less than half as far.  A
 * variable saturates where at least one value in 200 is exactly its largest or smallest one, five times as
 * many as in the 200th part of its range beside it.
 */
#ifndef ANT_DATA_EXTREMES_H
#define ANT_DATA_EXTREMES_H

#include "data/notes.h"
#include "data/series.h"

/* Notes on the variables that have them.  known: (count) numbers that other notes are about. */
antler_status ant_extremes_notes(const antler_series *series, const double *known, size_t count,
                                 ant_notes *notes);

#endif
