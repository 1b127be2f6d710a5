/*
 * missing.h - missing values of a series set: NaN of a variable (spec 12).  A set without any is never
 * copied.
 */
#ifndef ANT_DATA_MISSING_H
#define ANT_DATA_MISSING_H

#include "data/series.h"

/* Values of the variables that are missing, of `values`; inputs do not count. */
antler_status ant_series_missing(const antler_series *series, size_t *missing, size_t *values);

/*
 * antler_series_check of a set whose variables may have missing values, but not all of one.  With
 * `in_inputs`, inputs may have them, too.
 */
antler_status ant_series_check_gaps(const antler_series *series, size_t min_length, bool in_inputs);

/* No variable has a value whose square leaves the range of double: measures square and add. */
antler_status ant_series_check_squares(const antler_series *series);

/*
 * The stretches between rows that lack a value of a variable or an input, each a trajectory of its own; those
 * of fewer than `least` rows are left out.  `longest`: rows of the longest stretch, also where it is left
 * out.
 */
antler_status ant_series_cut(const antler_series *series, size_t least, antler_series **cut, size_t *longest);

/*
 * A copy in which gaps of at most `longest` rows, in each variable and input by itself, are filled linearly.
 * Gaps at the ends of a trajectory stay.  `filled`: how many values of the variables were.
 */
antler_status ant_series_interpolate(const antler_series *series, size_t longest, antler_series **copy,
                                     size_t *filled);

#endif
