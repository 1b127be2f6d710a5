/* resample.h - values at even times from values at uneven ones. */
#ifndef ANT_DATA_RESAMPLE_H
#define ANT_DATA_RESAMPLE_H

#include "base/status.h"

typedef struct ant_resample {
    const double *stamps; /* (rows), increasing */
    size_t rows;
    double first, step; /* the new times: first + k * step */
    size_t count;       /* of new times */
    double widest;      /* values that are farther apart have a gap between them, which is not filled */
    bool cubic;
} ant_resample;

/*
 * One column.  x: (rows); out[k * out_step] receives the value at the new time k.  Linear: on the line
 * between the two neighbours.  Cubic: the Hermite polynomial with the slopes of parabolas through three
 * neighbours.  NaN where a neighbour is NaN, and inside gaps.
 */
void ant_resample_column(const ant_resample *r, const double *x, double *out, size_t out_step);

#endif
