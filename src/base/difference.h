/* difference.h - how far two sets of numbers are apart: max|a - b| / max|b|. */
#ifndef ANT_BASE_DIFFERENCE_H
#define ANT_BASE_DIFFERENCE_H

#include <math.h>

/* The maxima so far; starts from zeros. */
typedef struct ant_difference {
    double largest; /* max|a - b| */
    double scale;   /* max|b| */
} ant_difference;

/* Take one pair in.  NaN stays in `largest`. */
static inline void ant_difference_add(ant_difference *d, double a, double b)
{
    const double gap = fabs(a - b);
    d->largest = gap <= d->largest ? d->largest : gap;
    d->scale = fmax(d->scale, fabs(b));
}

/* max|a - b| / max|b|; max|a - b| where b is 0. */
static inline double ant_difference_relative(const ant_difference *d)
{
    return d->scale > 0.0 ? d->largest / d->scale : d->largest;
}

#endif
