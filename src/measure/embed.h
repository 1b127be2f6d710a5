/* embed.h - all delay vectors of a series set, gathered without crossing from one trajectory to the next. */
#ifndef ANT_MEASURE_EMBED_H
#define ANT_MEASURE_EMBED_H

#include "base/status.h"

/* Delay vectors of every trajectory, one below the other. */
typedef struct ant_points {
    size_t count;   /* rows over all trajectories */
    size_t dim;     /* m N */
    double *values; /* (count, dim), owned */
} ant_points;

/*
 * Gather and embed; vectors with a missing value (NaN) are left out.  `what` names the set in the sentence:
 * "the true orbit".  A trajectory without a single delay vector is ANTLER_ERROR_DATA, and the sentence says
 * how many rows are needed.
 */
antler_status ant_points_gather(const antler_series *series, const char *what, size_t m, size_t tau,
                                ant_points *points);
void ant_points_free(ant_points *points);

#endif
