/*
 * dormand_prince.h - Dormand and Prince's explicit Runge-Kutta method of order 5(4) with adaptive steps.
 *
 * Step control is that of ARKODE's ERKStep (SUNDIALS 6.4) with its default settings, operation by operation,
 * so orbits have the same bits as those that earlier releases integrated with it.
 */
#ifndef ANT_DATA_SYSTEMS_DORMAND_PRINCE_H
#define ANT_DATA_SYSTEMS_DORMAND_PRINCE_H

#include "base/arena.h"

enum { ANT_DP_STAGES = 7 };

/* The rate of change at time t; false when it is not finite.  y, rate: (dim) */
typedef bool (*ant_dp_rate)(const void *cookie, double t, const double *y, double *rate);

typedef enum ant_dp_outcome {
    ANT_DP_STEPPED,
    ANT_DP_NOT_FINITE, /* the rate of change is not finite */
    ANT_DP_TOO_SMALL,  /* no step is small enough for the tolerance */
} ant_dp_outcome;

typedef struct ant_dp {
    ant_dp_rate rate;
    const void *cookie;
    size_t dim;
    double relative;                     /* tolerance */
    const double *absolute;              /* (dim), tolerance */
    double *y;                           /* (dim): the state at time t */
    double t;                            /* after a failure: the time of the stage that failed */
    double *stages[ANT_DP_STAGES];       /* (dim) each: rates of change; the first one is at t */
    double *next, *weights, *error_each; /* (dim) */
    double step, ratio, next_step;       /* the last step, and next_step = ratio * step before it is cut */
    double growth, error;                /* largest ratio of the next step; biased error of the last one */
    bool begun;
} ant_dp;

/* Take the arrays, except `absolute`, from the arena. */
void ant_dp_carve(ant_dp *dp, ant_arena *arena, size_t dim);

/* From y and t, which the caller has set beside rate, cookie and tolerances. */
void ant_dp_begin(ant_dp *dp);

/* One step towards `stop`, which lies ahead and is never passed. */
ant_dp_outcome ant_dp_step(ant_dp *dp, double stop);

#endif
