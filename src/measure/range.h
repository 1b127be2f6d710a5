/* range.h - whether free runs stay where the data are: their reach beyond the range, their spread (spec 8).
 */
#ifndef ANT_MEASURE_RANGE_H
#define ANT_MEASURE_RANGE_H

#include "base/status.h"

/* The range of each variable of a series. */
typedef struct ant_range {
    size_t N;
    double *middle, *half; /* (N), owned: one allocation */
} ant_range;

antler_status ant_range_create(const antler_series *truth, ant_range *range);
void ant_range_free(ant_range *range);

/*
 * The first row, counted from 1, in which a value is farther from the middle than `factor` half ranges; 0:
 * none, or the factor is 0.  `reach` is raised to the farthest value in half ranges, and `variable` is the
 * one that has it.  x: (rows, N), in the units of the truth
 */
size_t ant_range_leave(const ant_range *range, const double *x, size_t rows, double factor, double *reach,
                       size_t *variable);

/*
 * sqrt(1/N sum_j min(1, v'_j / v_j)): v the mean variance of the trajectories of the truth, v' that of the
 * second halves of the generated ones, so that a transient does not count.
 */
antler_status ant_spread(const antler_series *truth, const antler_series *generated, double *spread);

#endif
