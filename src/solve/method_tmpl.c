/* method_tmpl.c - the functions of solve.h: the table of methods, and the comparison with the reference. */
#include "solve/method.h"

#include "base/arena.h"
#include "base/difference.h"
#include "base/machine.h"
#include "solve/cell.h"
#include "solve/linear.h"

#include <stdlib.h>
#include <string.h>

typedef ANT_FN(ant_solve_plan) solve_plan;

/* How each kind of model is trained. */
static const struct {
    const ANT_FN(ant_method) * method;
    const void *model; /* the cell or the linear model */
} kinds[] = {
    [ANT_MODEL_SHPLRNN] = {&ANT_FN(ant_method_cell), &ANT_FN(ant_cell_shplrnn)},
    [ANT_MODEL_LSSM] = {&ANT_FN(ant_method_linear), &ANT_FN(ant_linear_lssm)},
    [ANT_MODEL_MAMBA2] = {&ANT_FN(ant_method_linear), &ANT_FN(ant_linear_mamba2)},
};

struct ANT_FN(ant_solve_plan) {
    const ANT_FN(ant_method) * method;
    void *self; /* the method's plan */
    ant_model_layout layout;
    size_t T, batch;
    ant_comm *comm;     /* of the options */
    ant_arena arena;    /* for checks, made by the first one */
    real *own_states;   /* (T, M) */
    real *own_gradient; /* (total) */
    double *differ;     /* (ranks): how far the states of each are from the reference */
};

static antler_status check_options(const ant_model_dims *d, const ant_solve_options *o, size_t T,
                                   size_t batch)
{
    ANT_CHECK(T >= 1 && batch >= 1, ANTLER_ERROR_ARGUMENT,
              "a plan needs at least one step and one sequence, not T = %zu and batch = %zu", T, batch);
    /* No array of a plan is larger than this product; below the limit no size overflows. */
    const double largest =
        (double)T * (double)batch * ((double)d->M * (double)d->M + (double)(d->N + d->K + 64));
    if (largest > 1e15)
        return ant_fail_memory(SIZE_MAX, "a solver plan of this size");
    ANT_CHECK(o->warmup < T, ANTLER_ERROR_ARGUMENT, "the warm-up of %zu steps leaves nothing of T = %zu",
              o->warmup, T);
    ANT_CHECK(o->tolerance >= 0.0 && isfinite(o->tolerance), ANTLER_ERROR_ARGUMENT,
              "the solver's tolerance must be positive, not %g", o->tolerance);
    ANT_CHECK(o->max_iterations >= 1, ANTLER_ERROR_ARGUMENT, "max_iterations must be at least 1, not %d",
              o->max_iterations);
    return ANTLER_OK;
}

static antler_status create(const ANT_FN(ant_method) * method, const void *model,
                            const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, solve_plan **result)
{
    ANT_TRY(check_options(&layout->dims, options, T, batch));
    solve_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return ant_fail_memory(sizeof *plan, "a solver plan");
    *plan = (solve_plan){.method = method, .layout = *layout, .T = T, .batch = batch, .comm = options->comm};
    ant_solve_options resolved = *options;
    resolved.threads = ant_threads_resolve(options->threads);
    if (resolved.segments == 0)
        resolved.segments = ant_solve_segments(options->solver, T, batch, resolved.threads);
    resolved.segments = resolved.segments < T ? resolved.segments : T;
    const antler_status status = method->create(model, &plan->layout, T, batch, &resolved, &plan->self);
    if (status == ANTLER_OK)
        *result = plan;
    else
        ANT_FN(ant_solve_plan_free)(plan);
    return status;
}

antler_status ANT_FN(ant_solve_plan_create)(const ant_model_dims *dims, size_t T, size_t batch,
                                            const ant_solve_options *options, solve_plan **plan)
{
    ant_model_layout layout;
    ANT_TRY(ant_model_layout_make(dims, &layout));
    return create(kinds[dims->kind].method, kinds[dims->kind].model, &layout, T, batch, options, plan);
}

antler_status ANT_FN(ant_cell_plan_create)(const ANT_FN(ant_cell) * cell, const ant_model_layout *layout,
                                           size_t T, size_t batch, const ant_solve_options *options,
                                           solve_plan **plan)
{
    return create(&ANT_FN(ant_method_cell), cell, layout, T, batch, options, plan);
}

void ANT_FN(ant_solve_plan_free)(solve_plan *plan)
{
    if (plan == NULL)
        return;
    plan->method->free(plan->self);
    ant_arena_destroy(&plan->arena);
    free(plan);
}

ant_solver ANT_FN(ant_solve_plan_solver)(const solve_plan *plan)
{
    return plan->method->solver(plan->self);
}

const char *ANT_FN(ant_solve_plan_choice)(const solve_plan *plan)
{
    return plan->method->choice(plan->self);
}

size_t ANT_FN(ant_solve_plan_bytes)(const solve_plan *plan)
{
    return sizeof *plan + plan->arena.capacity + plan->method->bytes(plan->self);
}

antler_status ANT_FN(ant_solve_gradient)(solve_plan *plan, const real *parameters, const real *const *x,
                                         const real *const *s, double alpha, real *gradient,
                                         ant_solve_report *report)
{
    return plan->method->gradient(plan->self, parameters, x, s, alpha, gradient, report);
}

void ANT_FN(ant_solve_states)(const solve_plan *plan, size_t sequence, real *z)
{
    plan->method->states(plan->self, sequence, z);
}

antler_status ANT_FN(ant_solve_adjoint)(solve_plan *plan, const real *parameters, const real *const *x,
                                        const real *const *s, size_t sequence, double alpha, real *v)
{
    ANT_CHECK(plan->method->adjoint != NULL, ANTLER_ERROR_ARGUMENT,
              "the adjoint states of this kind of model are not offered; those of the shplrnn are");
    return plan->method->adjoint(plan->self, parameters, x, s, sequence, alpha, v);
}

antler_status ANT_FN(ant_solve_sample)(solve_plan *plan, const unsigned char *drawn)
{
    ANT_CHECK(plan->method->sample != NULL, ANTLER_ERROR_ARGUMENT,
              "scheduled sampling is for models that take the data in: lssm and mamba2");
    return plan->method->sample(plan->self, drawn);
}

/* ---- comparison with the reference --------------------------------------------------------------- */

static void carve(solve_plan *plan, ant_arena *arena)
{
    plan->own_states = ant_arena_take(arena, plan->T * plan->layout.dims.M, sizeof(real));
    plan->own_gradient = ant_arena_take(arena, plan->layout.total, sizeof(real));
    plan->differ = ant_arena_take(arena, ant_comm_size(plan->comm), sizeof *plan->differ);
}

static antler_status need_memory(solve_plan *plan)
{
    ant_arena counter;
    if (plan->arena.base != NULL)
        return ANTLER_OK;
    ant_arena_count(&counter);
    carve(plan, &counter);
    if (counter.overflow)
        return ant_fail_memory(SIZE_MAX, "a check of this size");
    ANT_TRY(ant_arena_create(&plan->arena, counter.used));
    carve(plan, &plan->arena);
    return ANTLER_OK;
}

/* The plan whose states are compared, and the result. */
typedef struct comparison {
    const solve_plan *plan;
    ant_difference states;
} comparison;

static void compare_states(void *cookie, size_t sequence, const real *z)
{
    comparison *c = cookie;
    const solve_plan *plan = c->plan;
    if (plan->comm != NULL) /* rows of other ranks stay; these compare them */
        memcpy(plan->own_states, z, plan->T * plan->layout.dims.M * sizeof *z);
    ANT_FN(ant_solve_states)(plan, sequence, plan->own_states);
    for (size_t k = 0; k < plan->T * plan->layout.dims.M; k++)
        ant_difference_add(&c->states, (double)plan->own_states[k], (double)z[k]);
}

/* The largest difference of the states on any rank. */
static antler_status largest_difference(const solve_plan *plan, double *states)
{
    plan->differ[ant_comm_rank(plan->comm)] = *states;
    ANT_TRY(ant_comm_share_one(plan->comm, plan->differ, sizeof *plan->differ));
    for (size_t r = 0; r < ant_comm_size(plan->comm); r++)
        *states = plan->differ[r] <= *states ? *states : plan->differ[r]; /* NaN stays */
    return ANTLER_OK;
}

antler_status ANT_FN(ant_solve_check)(solve_plan *plan, const real *parameters, const real *const *x,
                                      const real *const *s, double alpha, real *gradient,
                                      ant_solve_report *report, ant_solve_agreement *agreement)
{
    comparison c = {.plan = plan};
    ant_difference slopes = {0};
    double loss;
    ANT_TRY(need_memory(plan));
    ANT_TRY(ANT_FN(ant_solve_gradient)(plan, parameters, x, s, alpha, gradient, report));
    ANT_TRY(plan->method->reference(plan->self, parameters, x, s, alpha, compare_states, &c,
                                    plan->own_gradient, &loss));
    for (size_t k = 0; k < plan->layout.total; k++)
        ant_difference_add(&slopes, (double)gradient[k], (double)plan->own_gradient[k]);
    *agreement = (ant_solve_agreement){.states = ant_difference_relative(&c.states),
                                       .gradient = ant_difference_relative(&slopes),
                                       .loss = fabs(report->loss - loss) / (loss > 0.0 ? loss : 1.0)};
    return largest_difference(plan, &agreement->states);
}
