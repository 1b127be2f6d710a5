/*
 * decay.h - A = tanh(Abar), kept as A - 1.
 *
 * A unit with A = 0.9995 remembers for 2,000 steps.  Rounded to float, its A is off by 3e-8 and its memory by
 * 6e-5 of its length; A - 1 is good to 6e-8 of it.  So steps are z + ((A - 1) z + ...), not A z + ....
 */
#ifndef ANT_MODEL_DECAY_H
#define ANT_MODEL_DECAY_H

#include <math.h>

/* tanh(x) - 1, to full relative accuracy. */
static inline double ant_decay_less_one(double x)
{
    return -2.0 / (exp(2.0 * x) + 1.0);
}

#endif
