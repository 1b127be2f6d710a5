/* white.h - whether anything in a row can be predicted from the rows before it. */
#ifndef ANT_MEASURE_WHITE_H
#define ANT_MEASURE_WHITE_H

#include "base/status.h"

/*
 * Whether no dependence of a row on those before it is seen (spec 8): no correlation between two variables at
 * a lag of 1 to 20 rows, or of a variable with itself at one of up to 500, is larger than chance would have
 * it once in a thousand series, and the mean of what followed the nearest rows predicts no variable better
 * than its mean; delay vectors of two and three rows count, too, where they have few components.  False where
 * there are fewer than 100 rows, or fewer than 50 with their next one that lack no value (NaN).  x: (rows,
 * N), each variable with mean 0 and variance 1
 */
antler_status ant_rows_are_white(const double *x, size_t rows, size_t N, bool *white);

#endif
