/*
 * cell.h - one recurrence z_t = F(z~_{t-1}, s_t): its step, derivatives and parameter gradients.
 *
 * A cell is a table of functions.  Forcing, the reference solver, Newton's method (deer, quasi-deer), the
 * adjoint and the parameter gradients use this table alone, so a new recurrence is one file.  The observation
 * x^_t = B z_t belongs to the solvers: a layout has a slice B (N, M), and no function of a cell touches it.
 * The fast kernels (kernel.h) are written for one cell each; a cell without them is solved by plain loops.
 *
 * The functions may read layout, parameters and derived of the call, and nothing else of it.  Internal to
 * solve; for templates only.
 */
#ifndef ANT_SOLVE_CELL_H
#define ANT_SOLVE_CELL_H

#include "base/real.h"
#include "solve/solve.h"

typedef struct ANT_FN(ant_solve_call) ANT_FN(ant_solve_call);
typedef struct ANT_FN(ant_cell_kernels) ANT_FN(ant_cell_kernels);

typedef struct ANT_FN(ant_cell) {
    const char *name; /* in messages: "shplrnn" */
    /*
     * Write numbers that follow from the parameters, once per gradient call; with `jacobian` also those that
     * `linearise` reads.  The first function counts them.  NULL, both: none.
     */
    size_t (*derived_count)(const ant_model_layout *layout, bool jacobian);
    void (*derive)(const ant_model_layout *layout, const real *parameters, bool jacobian, real *derived);
    /* Reals of scratch that each of the next three functions may use. */
    size_t (*scratch_count)(const ant_model_layout *layout);
    /* next = F(z, s).  z, next: (M); s: (K), NULL when K = 0. */
    void (*step)(const ANT_FN(ant_solve_call) * call, const real *z, const real *s, real *next,
                 real *scratch);
    /* The same, and jacobian = dF/dz (M, M). */
    void (*linearise)(const ANT_FN(ant_solve_call) * call, const real *z, const real *s, real *next,
                      real *jacobian, real *scratch);
    /*
     * w = (dF/dz)^T v, and unless sums is NULL the parameter gradients v^T dF/dtheta added to sums (total).
     * v, w: (M).
     */
    void (*pull_back)(const ANT_FN(ant_solve_call) * call, const real *z, const real *s, const real *v,
                      real *w, real *scratch, double *sums);
    /* Turn finished sums into derivatives by the parameters, in place; NULL: they are. */
    void (*finish)(const ant_model_layout *layout, const real *parameters, double *sums);
    const ANT_FN(ant_cell_kernels) * kernels; /* NULL: none */
} ANT_FN(ant_cell);

extern const ANT_FN(ant_cell) ANT_FN(ant_cell_shplrnn);

/*
 * A plan for a cell that no kind of model has; the layout has the slice B and dims M, N and K.  All functions
 * of solve.h take it.  The cell outlives the plan.
 */
antler_status ANT_FN(ant_cell_plan_create)(const ANT_FN(ant_cell) * cell, const ant_model_layout *layout,
                                           size_t T, size_t batch, const ant_solve_options *options,
                                           ANT_FN(ant_solve_plan) * *plan);

#endif
