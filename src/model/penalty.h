/* penalty.h - the terms that regularisers are made of (spec 5, spec 10): |x|^p for p = 1, 2 with its slope.
 */
#ifndef ANT_MODEL_PENALTY_H
#define ANT_MODEL_PENALTY_H

#include "model/decay.h"

#include <math.h>
#include <stddef.h>

typedef struct ant_penalty {
    const double *parameters; /* (total) */
    double *gradient;         /* (total); NULL: values only */
    int p;
    bool free_diagonal; /* decay.h */
} ant_penalty;

static inline double ant_power(double x, int p)
{
    return p == 1 ? fabs(x) : x * x;
}

/* Its derivative, 0 at 0. */
static inline double ant_power_slope(double x, int p)
{
    return p == 2 ? 2.0 * x : (double)(x > 0) - (double)(x < 0);
}

static inline void ant_penalty_add(const ant_penalty *c, size_t index, double slope)
{
    if (c->gradient != NULL)
        c->gradient[index] += slope;
}

/* scale |theta_index|^p: returns the value, adds the slope. */
static inline double ant_penalise(const ant_penalty *c, size_t index, double scale)
{
    const double x = c->parameters[index];
    ant_penalty_add(c, index, scale * ant_power_slope(x, c->p));
    return scale * ant_power(x, c->p);
}

/* scale |1 - A|^p, A of theta_index: what holds a decay near 1. */
static inline double ant_penalise_decay(const ant_penalty *c, size_t index, double scale)
{
    const double a = ant_decay(c->free_diagonal, c->parameters[index]);
    ant_penalty_add(c, index, -scale * ant_power_slope(1.0 - a, c->p) * ant_decay_slope(c->free_diagonal, a));
    return scale * ant_power(1.0 - a, c->p);
}

#endif
