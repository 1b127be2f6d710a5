/* plan_tmpl.c - making a plan: checks, the choice of solver, memory. */
#include "solve/plan.h"

#include "base/machine.h"

#include <stdlib.h>

typedef ANT_FN(ant_solve_plan) solve_plan;

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

static void carve(solve_plan *plan, ant_arena *arena)
{
    const ant_model_layout *layout = &plan->layout;
    const ant_model_dims *d = &layout->dims;
    const size_t rows = plan->T + 1;
    ANT_FN(ant_forcing_carve)(&plan->forcing, arena, d->M, d->N);
    plan->A = ant_arena_take(arena, d->M, sizeof *plan->A);
    plan->sums = ant_arena_take(arena, 2 * ANT_FN(ant_sums_count)(layout), sizeof *plan->sums);
    plan->own_z = ant_arena_take(arena, rows * d->M, sizeof(real));
    plan->own_states = ant_arena_take(arena, rows * d->M, sizeof(real));
    plan->own_gradient = ant_arena_take(arena, layout->total, sizeof(real));
    plan->one.forced = ant_arena_take(arena, plan->T * d->M, sizeof(real));
    plan->one.error = ant_arena_take(arena, rows * d->N, sizeof(real));
    plan->one.adjoint = ant_arena_take(arena, rows * d->M, sizeof(real));
    plan->one.scratch = ant_arena_take(arena, ANT_FN(ant_reference_scratch)(d), sizeof(real));
    if (ANT_FN(ant_plan_uses_engine)(plan)) {
        ANT_FN(ant_engine_carve)(&plan->engine, arena);
        if (plan->trial.kernels != NULL)
            ANT_FN(ant_engine_carve)(&plan->trial, arena);
        return;
    }
    plan->states = ant_arena_take(arena, plan->batch * rows * d->M, sizeof(real));
    if (plan->options.solver != ANT_SOLVER_REFERENCE)
        ANT_FN(ant_newton_carve)(&plan->newton, arena, layout, plan->T);
}

antler_status ANT_FN(ant_solve_plan_create)(const ant_model_dims *dims, size_t T, size_t batch,
                                            const ant_solve_options *options, solve_plan **result)
{
    ant_model_layout layout;
    ANT_TRY(ant_model_layout_make(dims, &layout));
    ANT_TRY(check_options(dims, options, T, batch));
    solve_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return ant_fail_memory(sizeof *plan, "a solver plan");
    plan->layout = layout;
    plan->options = *options;
    plan->T = T;
    plan->batch = batch;
    plan->options.threads = ant_threads_resolve(options->threads);
    if (plan->options.tolerance == 0.0)
        plan->options.tolerance = sizeof(real) == sizeof(float) ? 1e-4 : 1e-10;
    ANT_FN(ant_plan_choose)(plan);
    plan->solved = &plan->engine;
    ANT_FN(ant_newton) *newton = &plan->newton;
    newton->threads = plan->options.threads;
    newton->tiles = (size_t)newton->threads < T ? (size_t)newton->threads : T;
    newton->diagonal = plan->options.solver == ANT_SOLVER_QUASI_DEER;
    newton->adjoint_diagonal = newton->diagonal && plan->options.adjoint == ANT_ADJOINT_DIAGONAL;

    ant_arena counter;
    ant_arena_count(&counter);
    carve(plan, &counter);
    antler_status status = ANTLER_OK;
    if (counter.overflow)
        status = ant_fail_memory(SIZE_MAX, "a solver plan of this size");
    else
        status = ant_arena_create(&plan->arena, counter.used);
    if (status != ANTLER_OK) {
        free(plan);
        return status;
    }
    carve(plan, &plan->arena);
    *result = plan;
    return ANTLER_OK;
}

void ANT_FN(ant_solve_plan_free)(solve_plan *plan)
{
    if (plan == NULL)
        return;
    ant_arena_destroy(&plan->arena);
    free(plan);
}

ant_solver ANT_FN(ant_solve_plan_solver)(const solve_plan *plan)
{
    return plan->options.solver;
}

const char *ANT_FN(ant_solve_plan_choice)(const solve_plan *plan)
{
    return plan->choice;
}

size_t ANT_FN(ant_solve_plan_bytes)(const solve_plan *plan)
{
    return sizeof *plan + plan->arena.capacity;
}
