/* validation_score.c - the one number by which models are chosen (spec 14). */
#include "measure/validation.h"

#include <float.h>
#include <math.h>

/* Of D_stsp and D_H; smaller floors are taken for this: D_stsp of a periodic orbit may be 0, and by samples
 * below it. */
static const double least_floor = 1e-3;

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

/* The excess of each measure, in the order of the struct. */
typedef struct excesses {
    double dstsp, hellinger, prediction_error;
} excesses;

static excesses excesses_of(const ant_validation_measures *m, const ant_validation_measures *floor)
{
    return (excesses){excess(m->dstsp, floor->dstsp, least_floor),
                      excess(m->hellinger, floor->hellinger, least_floor),
                      excess(m->prediction_error, floor->prediction_error, DBL_MIN)};
}

static double weighted(excesses e)
{
    return e.dstsp + e.hellinger + ANT_PREDICTION_SHARE * e.prediction_error;
}

double ant_validation_score(const ant_validation_measures *measured, const ant_validation_measures *floor)
{
    return weighted(excesses_of(measured, floor));
}

double ant_validation_score_both(const ant_validation_measures *held_back,
                                 const ant_validation_measures *held_back_floor,
                                 const ant_validation_measures *whole,
                                 const ant_validation_measures *whole_floor)
{
    const excesses a = excesses_of(held_back, held_back_floor), b = excesses_of(whole, whole_floor);
    return weighted((excesses){fmax(a.dstsp, b.dstsp), fmax(a.hellinger, b.hellinger),
                               fmax(a.prediction_error, b.prediction_error)});
}
