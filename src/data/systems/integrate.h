/*
 * integrate.h - the time integrator: explicit Dormand-Prince 5(4), adaptive.
 *
 * The integrator stops exactly at each output time, so that no interpolation error enters.  It counts
 * time from the end of the transient, where row 0 lies: row k is at k * dt, a product and never a
 * running sum, however large t0 is.
 */
#ifndef ANT_DATA_SYSTEMS_INTEGRATE_H
#define ANT_DATA_SYSTEMS_INTEGRATE_H

#include "data/systems/systems.h"

typedef struct ant_integration {
    const ant_system *system;
    const double *parameters; /* (parameter_count) */
    const double *initial;    /* (dim), the state at t0 */
    double t0;                /* time before the transient */
    double transient;         /* >= 0 */
    double dt;                /* > 0 */
    size_t length;            /* >= 1 */
    double tolerance;         /* relative; the absolute one is this times the spread of the system */
    antler_progress progress;
} ant_integration;

/*
 * Rows 0 .. length-1 at t0 + transient + k dt.  x: (length, dim).
 * ANTLER_DIVERGED when a variable is not finite or a million times its typical size;
 * ANTLER_NOT_CONVERGED when no step is small enough for the tolerance.
 */
antler_status ant_integrate(const ant_integration *job, double *x);

#endif
