/*
 * decay.h - A from the parameter x that is stored: tanh(x), or x itself where the diagonal is free (spec 1).
 *
 * A unit with A = 0.9995 remembers for 2,000 steps.  Rounded to float, its A is off by 3e-8 and its memory by
 * 6e-5 of its length; A - 1 is good to 6e-8 of it.  So steps are z + ((A - 1) z + ...), not A z + ....
 */
#ifndef ANT_MODEL_DECAY_H
#define ANT_MODEL_DECAY_H

#include <math.h>
#include <stdbool.h>

static inline double ant_decay(bool is_free, double x)
{
    return is_free ? x : tanh(x);
}

/* A - 1, to full relative accuracy. */
static inline double ant_decay_less_one(bool is_free, double x)
{
    return is_free ? x - 1.0 : -2.0 / (exp(2.0 * x) + 1.0);
}

/* dA/dx, where A = a. */
static inline double ant_decay_slope(bool is_free, double a)
{
    return is_free ? 1.0 : 1.0 - a * a;
}

/* The x that gives A = a. */
static inline double ant_decay_inverse(bool is_free, double a)
{
    return is_free ? a : atanh(a);
}

#endif
