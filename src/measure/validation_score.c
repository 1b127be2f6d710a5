/* validation_score.c - the one number by which models are chosen (spec 14). */
#include "measure/validation.h"

#include <float.h>
#include <math.h>

/* Of D_stsp and D_H; smaller floors are taken for this: D_stsp of a periodic orbit may be 0, and by samples
 * below it. */
static const double least_floor = 1e-3;

/* A good forecast of a few steps does not make up for a wrong attractor: fits of a bursting neuron chose such
   models with a weight of 1. */
static const double PREDICTION_SHARE = 0.25;

/* ln(max(value, floor) / floor): differences below the floor are those of chance, and do not count. */
static double excess(double value, double floor, double least)
{
    if (isnan(floor))
        return 0.0;
    if (isnan(value))
        return INFINITY;
    const double lower = fmax(floor, least);
    return log(fmax(value, lower) / lower);
}

double ant_validation_score(const ant_validation_measures *measured, const ant_validation_measures *floor)
{
    return excess(measured->dstsp, floor->dstsp, least_floor) +
           excess(measured->hellinger, floor->hellinger, least_floor) +
           PREDICTION_SHARE * excess(measured->prediction_error, floor->prediction_error, DBL_MIN);
}
