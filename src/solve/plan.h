/* plan.h - what a plan for a cell holds.  Internal to solve; for templates only. */
#ifndef ANT_SOLVE_PLAN_H
#define ANT_SOLVE_PLAN_H

#include "solve/method.h"
#include "solve/newton.h"
#include "solve/reduce.h"
#include "solve/shooting.h"

typedef struct ANT_FN(ant_cell_plan) {
    const ANT_FN(ant_cell) * cell;
    ant_model_layout layout;
    ant_solve_options options; /* with tolerance, threads and solver resolved */
    size_t T, batch;
    char choice[256];
    ant_arena arena;
    ant_team *team; /* the threads of this plan; NULL: one */

    struct ANT_FN(ant_cell_plan) * narrow; /* solves in place of this one, with M variables */
    ANT_FN(ant_reduction) reduction;       /* to these; both are empty where variables are few */
    bool reduced;                          /* this is such a plan, and the team is another's */
    bool narrowed;                         /* it holds the states of the last call */

    ANT_FN(ant_forcing) forcing;
    ANT_FN(ant_patterns) patterns; /* of missing values; empty without options.patterns */
    real *derived;                 /* (cell->derived_count) */
    double *sums;                  /* (ant_sums_count) */
    double *strength;              /* (T+1): of the last call */

    real *states;               /* (batch, T+1, M), where no kernels are used */
    ant_arena plain;            /* of the next two; where kernels solve, made by the first check */
    ANT_FN(ant_trajectory) one; /* of one sequence; z belongs to `states` or to `own_z` */
    real *own_z;                /* (T+1, M), for checks */
    ANT_FN(ant_newton) newton;
    ANT_FN(ant_shooting) shooting;       /* for sequential and shooting */
    ANT_FN(ant_shooting) attempt;        /* tried first; kernels NULL: none */
    const ANT_FN(ant_shooting) * solved; /* the one that holds the states of the last call */
} ANT_FN(ant_cell_plan);

static inline bool ANT_FN(ant_plan_uses_kernels)(const ANT_FN(ant_cell_plan) * plan)
{
    const ant_solver solver = plan->options.solver;
    return plan->cell->kernels != NULL && (solver == ANT_SOLVER_SEQUENTIAL || solver == ANT_SOLVER_SHOOTING);
}

static inline bool ANT_FN(ant_plan_uses_newton)(const ANT_FN(ant_cell_plan) * plan)
{
    return plan->options.solver == ANT_SOLVER_DEER || plan->options.solver == ANT_SOLVER_QUASI_DEER;
}

/* Choose solver, kernels and segments for the plan's sizes; the reasons go to plan->choice. */
void ANT_FN(ant_plan_choose)(ANT_FN(ant_cell_plan) * plan);

/* The memory of plain steps, unless it is there. */
antler_status ANT_FN(ant_plan_need_plain)(ANT_FN(ant_cell_plan) * plan);

/* Collect what one call needs; NON_FINITE when B is not finite.  x: (batch) pointers to (T+1, N) */
antler_status ANT_FN(ant_plan_call)(ANT_FN(ant_cell_plan) * plan, const real *parameters,
                                    const real *const *x, double alpha, solve_call *call);

/* The functions of its method (method.h). */
antler_status ANT_FN(ant_cell_plan_gradient)(void *plan, const real *parameters, const real *const *x,
                                             const real *const *s, double alpha, real *gradient,
                                             ant_solve_report *report);
void ANT_FN(ant_cell_plan_states)(const void *plan, size_t sequence, real *z);
antler_status ANT_FN(ant_cell_plan_reference)(void *plan, const real *parameters, const real *const *x,
                                              const real *const *s, double alpha,
                                              void (*seen)(void *cookie, size_t sequence, const real *z),
                                              void *cookie, real *gradient, double *loss);
antler_status ANT_FN(ant_cell_plan_adjoint)(void *plan, const real *parameters, const real *const *x,
                                            const real *const *s, size_t sequence, double alpha, real *v);

#endif
