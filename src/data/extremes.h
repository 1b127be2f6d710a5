/*
 * extremes.h - values that a faulty sensor may have left: spikes, and a range that ends where values pile up.
 *
 * A spike is a value at least six robust standard deviations from the median and farther than nearly all
 * others, beyond the tail of these; on each side one of the next two rows is less than half as far.  A
 * variable saturates where at least one value in 200, and at most one in three, is exactly its largest or
 * smallest one, five times as many as in a two-hundredth of its range beside it.
 */
#ifndef ANT_DATA_EXTREMES_H
#define ANT_DATA_EXTREMES_H

#include "data/notes.h"
#include "data/series.h"

/* Notes on the variables that have them.  known: (count) numbers that other notes are about. */
antler_status ant_extremes_notes(const antler_series *series, const double *known, size_t count,
                                 ant_notes *notes);

#endif
