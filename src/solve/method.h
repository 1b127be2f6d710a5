/*
 * method.h - how models are trained: the functions behind solve.h.  There is one table for cells (cell.h),
 * which are forced, and one for models that are linear in their state (linear.h); method_tmpl.c has a row for
 * each kind of model.  Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_METHOD_H
#define ANT_SOLVE_METHOD_H

#include "base/real.h"
#include "solve/solve.h"

/* `plan` is what `create` made; the contracts are those of the functions of the same names in solve_real.h.
 */
typedef struct ANT_FN(ant_method) {
    /* model: a cell or a linear model.  The sizes have been checked; options->threads is resolved. */
    antler_status (*create)(const void *model, const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, void **plan);
    void (*free)(void *plan);
    ant_solver (*solver)(const void *plan);
    const char *(*choice)(const void *plan);
    size_t (*bytes)(const void *plan);
    antler_status (*gradient)(void *plan, const real *parameters, const real *const *x, const real *const *s,
                              double alpha, real *gradient, ant_solve_report *report);
    void (*states)(const void *plan, size_t sequence, real *z);
    /*
     * The same by the plain reference, sequence after sequence, for checks: it may be slow.  `seen` gets the
     * states z (T, M) of each; gradient: (total).
     */
    antler_status (*reference)(void *plan, const real *parameters, const real *const *x, const real *const *s,
                               double alpha, void (*seen)(void *cookie, size_t sequence, const real *z),
                               void *cookie, real *gradient, double *loss);
    /* One sequence by the reference: dloss/dz_t (T, M).  NULL: not offered for this kind. */
    antler_status (*adjoint)(void *plan, const real *parameters, const real *const *x, const real *const *s,
                             size_t sequence, double alpha, real *v);
    /* Scheduled sampling; NULL: not offered for this kind. */
    antler_status (*sample)(void *plan, const unsigned char *drawn);
} ANT_FN(ant_method);

extern const ANT_FN(ant_method) ANT_FN(ant_method_cell), ANT_FN(ant_method_linear);

#endif
