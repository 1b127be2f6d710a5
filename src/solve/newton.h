/* newton.h - DEER: Newton's method on all time steps at once (spec 3).  Internal; for templates only. */
#ifndef ANT_SOLVE_NEWTON_H
#define ANT_SOLVE_NEWTON_H

#include "base/team.h"
#include "solve/solve_call.h"

/* Work space for one sequence; the sequences of a batch are solved one after the other. */
typedef struct ANT_FN(ant_newton) {
    bool diagonal;         /* quasi-deer: diag(J) in the solve */
    bool adjoint_diagonal; /* and in the adjoint */
    size_t segments;       /* of the scan */
    size_t slots;          /* intervals of time with scratch and sums of their own, for whichever thread */
    ant_team *team;        /* the threads that share them; NULL: the caller alone */
    real *jacobian;        /* (T, M, M): J_t, when either part is full */
    real *diagonals;       /* (T, M), when either part is diagonal */
    real *offset;          /* (T+1, M): -r_{t+1} in row t when solving, dloss/dz_t in row t for the adjoint */
    real *delta;           /* (T+1, M) */
    real *scratch;         /* (slots, scratch_count) */
    size_t scratch_count;
    double *sums;           /* (slots, ant_sums_count) */
    real *totals, *borders; /* of the scan */
} ANT_FN(ant_newton);

/* Into how many slots time is divided: a function of T alone, so that sums do not depend on threads. */
static inline size_t ANT_FN(ant_newton_slots)(size_t T)
{
    enum { LEAST = 64, MOST = 16 }; /* steps of a slot; slots */
    const size_t slots = (T + LEAST - 1) / LEAST;
    return slots < MOST ? slots : MOST;
}

void ANT_FN(ant_newton_carve)(ANT_FN(ant_newton) * newton, ant_arena *arena, const ANT_FN(ant_cell) * cell,
                              const ant_model_layout *layout, size_t T);

/*
 * Iterate on y->z from its current content until max|dz| < tolerance; on return forced and error belong
 * to the final z.  OK, NOT_CONVERGED or NON_FINITE.
 */
antler_status ANT_FN(ant_newton_solve)(ANT_FN(ant_newton) * newton, const solve_call *p, const real *x,
                                       const real *s, double tolerance, int max_iterations,
                                       ANT_FN(ant_trajectory) * y, int *iterations, double *last_change);

/* The adjoint by reverse scan, then the parameter gradients: adds to sums (ant_sums_count). */
void ANT_FN(ant_newton_gradient)(ANT_FN(ant_newton) * newton, const solve_call *p, const real *x,
                                 const real *s, ANT_FN(ant_trajectory) * y, double *sums);

#endif
