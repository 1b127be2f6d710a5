/* newton.h - DEER: Newton's method on all time steps at once (spec 3).  Internal; for templates only. */
#ifndef ANT_SOLVE_NEWTON_H
#define ANT_SOLVE_NEWTON_H

#include "solve/affine.h"
#include "solve/solve_call.h"

/* Work space for one sequence; the sequences of a batch are solved one after the other. */
typedef struct ANT_FN(ant_newton) {
    bool diagonal;         /* quasi-deer: diag(J) in the solve */
    bool adjoint_diagonal; /* and in the adjoint */
    size_t slots;          /* intervals of time with scratch and sums of their own, for whichever thread */
    real *jacobian;        /* (T, M, M): J_t, when either part is full */
    real *diagonals;       /* (T, M), when either part is diagonal */
    real *offset;          /* (T+1, M): -r_{t+1} in row t when solving, dloss/dz_t in row t for the adjoint */
    real *delta;           /* (T+1, M) */
    real *scratch;         /* (slots, scratch_count) */
    size_t scratch_count;
    double *sums;                 /* (slots, ant_sums_count) */
    ANT_FN(ant_affine_work) scan; /* its threads share the slots, too */
} ANT_FN(ant_newton);

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
