/*
 * affine.h - states along affine maps with full or diagonal matrices, state_{t+1} = J_t state_t + offset_t,
 * by scan.h: the linear part of Newton's method over all time steps, and its adjoint.  Internal; for
 * templates only.
 */
#ifndef ANT_SOLVE_AFFINE_H
#define ANT_SOLVE_AFFINE_H

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"
#include "base/team.h"

/* Memory of the scan. */
typedef struct ANT_FN(ant_affine_work) {
    size_t segments; /* of the scan */
    ant_team *team;  /* the threads that share them; NULL: the caller alone */
    real *totals, *borders;
} ANT_FN(ant_affine_work);

/* Element i of the scan is step t = i, or t = T-1-i with J_t^T when in reverse. */
typedef struct ANT_FN(ant_affine) {
    size_t M, T;
    bool reverse, diagonal;
    const real *jacobian;  /* (T, M, M), unless diagonal */
    const real *diagonals; /* (T, M), if diagonal */
    const real *offset;    /* (T, M) */
    real *state;           /* (T+1, M): the states in time order */
} ANT_FN(ant_affine);

/* Take the memory of work->segments segments. */
void ANT_FN(ant_affine_carve)(ANT_FN(ant_affine_work) * work, ant_arena *arena, size_t M);

/* Run the scan over `count` maps from the state `first` (M): fills the states after it. */
void ANT_FN(ant_affine_run)(const ANT_FN(ant_affine_work) * work, ANT_FN(ant_affine) * affine, size_t count,
                            const real *first);

/* The tolerance of Newton's method; 0: the default. */
double ANT_FN(ant_newton_tolerance)(double given);

/*
 * Newton's method on all steps at once: `linearise` fills J_t and offset_t = F(z_t) - z_{t+1} at the current
 * z (T+1, M), the scan gives the change of each state, and so on until no state changes by `tolerance` or
 * more; z_0 stays.  On return they belong to the final z.  affine->state receives changes.  OK, NOT_CONVERGED
 * or NON_FINITE.
 */
antler_status ANT_FN(ant_affine_newton)(const ANT_FN(ant_affine_work) * work, ANT_FN(ant_affine) * affine,
                                        void (*linearise)(void *cookie), void *cookie, double tolerance,
                                        int max_iterations, real *z, int *iterations, double *last_change);

#endif
