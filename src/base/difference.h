/* difference.h - the largest difference of two arrays, relative to the largest entry of the second. */
#ifndef ANT_BASE_DIFFERENCE_H
#define ANT_BASE_DIFFERENCE_H

#include <math.h>

/* Running maxima of |a - b| and |b|. */
typedef struct ant_difference {
    double largest, scale;
} ant_difference;

static inline void ant_difference_add(ant_difference *d, double a, double b)
{
    const double gap = fabs(a - b);
    d->largest = gap <= d->largest ? d->largest : gap; /* keeps NaN */
    d->scale = fmax(d->scale, fabs(b));
}

static inline double ant_difference_relative(const ant_difference *d)
{
    return d->scale > 0.0 ? d->largest / d->scale : d->largest;
}

#endif
