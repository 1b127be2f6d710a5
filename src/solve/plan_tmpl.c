/* plan_tmpl.c - making a plan for a cell: the choice of solver, memory; and its table of functions. */
#include "solve/plan.h"
#include "solve/scan.h"

#include <stdlib.h>
#include <string.h>

typedef ANT_FN(ant_cell_plan) cell_plan;

static size_t derived_count(const cell_plan *plan)
{
    const bool jacobian = ANT_FN(ant_plan_uses_newton)(plan);
    return plan->cell->derive == NULL ? 0 : plan->cell->derived_count(&plan->layout, jacobian);
}

/* Reals that the chosen kernels keep per pattern; at most one of both keeps any. */
static size_t turned_count(const cell_plan *plan)
{
    const ANT_FN(ant_kernels) *own = plan->shooting.kernels, *attempt = plan->attempt.kernels;
    const ANT_FN(ant_kernels) *turns = attempt != NULL ? attempt : own;
    return turns == NULL || turns->pattern_count == NULL ? 0 : turns->pattern_count(&plan->layout.dims);
}

static void carve(cell_plan *plan, ant_arena *arena)
{
    const ant_model_layout *layout = &plan->layout;
    const ant_model_dims *d = &layout->dims;
    const size_t rows = plan->T + 1, turned = turned_count(plan);
    ANT_FN(ant_forcing_carve)(&plan->forcing, arena, d->M, d->N);
    if (plan->options.patterns > 0)
        ANT_FN(ant_patterns_carve)
    (&plan->patterns, arena, d->M, d->N, rows, plan->batch, plan->options.patterns, turned);
    plan->derived = ant_arena_take(arena, derived_count(plan), sizeof *plan->derived);
    plan->sums = ant_arena_take(arena, 2 * ANT_FN(ant_sums_count)(layout), sizeof *plan->sums);
    plan->strength = ant_arena_take(arena, rows, sizeof *plan->strength);
    if (plan->narrow != NULL)
        ANT_FN(ant_reduction_carve)(&plan->reduction, arena);
    if (plan->narrow != NULL && plan->options.patterns == 0)
        return;
    if (ANT_FN(ant_plan_uses_kernels)(plan)) {
        ANT_FN(ant_shooting_carve)(&plan->shooting, arena);
        if (plan->attempt.kernels != NULL)
            ANT_FN(ant_shooting_carve)(&plan->attempt, arena);
        return;
    }
    plan->states = ant_arena_take(arena, plan->batch * rows * d->M, sizeof(real));
    if (ANT_FN(ant_plan_uses_newton)(plan))
        ANT_FN(ant_newton_carve)(&plan->newton, arena, plan->cell, layout, plan->T);
}

static void carve_plain(cell_plan *plan, ant_arena *arena)
{
    const ant_model_dims *d = &plan->layout.dims;
    const size_t rows = plan->T + 1;
    plan->own_z = ant_arena_take(arena, rows * d->M, sizeof(real));
    plan->one.forced = ant_arena_take(arena, plan->T * d->M, sizeof(real));
    plan->one.error = ant_arena_take(arena, rows * d->N, sizeof(real));
    plan->one.adjoint = ant_arena_take(arena, rows * d->M, sizeof(real));
    plan->one.scratch =
        ant_arena_take(arena, ANT_FN(ant_reference_scratch)(plan->cell, &plan->layout), sizeof(real));
}

/* Take what `carve_part` takes: counted first, then divided. */
static antler_status make_arena(cell_plan *plan, void (*carve_part)(cell_plan *, ant_arena *),
                                ant_arena *arena)
{
    ant_arena counter;
    ant_arena_count(&counter);
    carve_part(plan, &counter);
    if (counter.overflow)
        return ant_fail_memory(SIZE_MAX, "a solver plan of this size");
    ANT_TRY(ant_arena_create(arena, counter.used));
    carve_part(plan, arena);
    return ANTLER_OK;
}

antler_status ANT_FN(ant_plan_need_plain)(cell_plan *plan)
{
    return plan->plain.base != NULL ? ANTLER_OK : make_arena(plan, carve_plain, &plan->plain);
}

static void release(void *opaque)
{
    cell_plan *plan = opaque;
    if (plan == NULL)
        return;
    release(plan->narrow);
    if (!plan->reduced)
        ant_team_free(plan->team);
    ant_arena_destroy(&plan->arena);
    ant_arena_destroy(&plan->plain);
    free(plan);
}

static antler_status make(const cell_plan *wanted, cell_plan **result);

/* A narrow plan that solves in place of this one (reduce.h). */
static antler_status reduce(cell_plan *plan)
{
    cell_plan inner = *plan;
    ant_model_dims dims = plan->layout.dims;
    dims.N = dims.M;
    inner.reduced = true;
    inner.options.patterns = plan->options.patterns > 0; /* of empty rows */
    inner.options.comm = NULL;                           /* the reduction takes the rows of all segments */
    ANT_TRY(ant_model_layout_make(&dims, &inner.layout));
    ANT_TRY(make(&inner, &plan->narrow));
    if (plan->options.patterns == 0) {
        plan->options.solver = plan->narrow->options.solver;
        memcpy(plan->choice, plan->narrow->choice, sizeof plan->choice);
    }
    plan->reduction = (ANT_FN(ant_reduction)){
        .kernels = ANT_FN(ant_reduce_kernels_of)(ant_cpu_level_best()),
        .layout = plan->layout,
        .narrow = inner.layout,
        .rows = plan->T + 1,
        .batch = plan->batch,
        .warmup = plan->options.warmup,
        .workers = (size_t)plan->options.threads,
    };
    if (plan->options.patterns > 0)
        plan->reduction.gaps.kernels = ANT_FN(ant_reduce_gap_kernels_of)(ant_cpu_level_best());
    return ANTLER_OK;
}

/* Solver, kernels and threads; for complete data a narrow plan has them. */
static antler_status choose(cell_plan *plan)
{
    if (!plan->reduced)
        plan->team = ant_team_create(plan->options.threads);
    if (!plan->reduced && plan->cell->kernels != NULL &&
        ANT_FN(ant_reduction_fits)(&plan->layout, &plan->options))
        ANT_TRY(reduce(plan));
    if (plan->narrow != NULL && plan->options.patterns == 0)
        return ANTLER_OK;
    ANT_FN(ant_plan_choose)(plan);
    plan->solved = &plan->shooting;
    ANT_FN(ant_newton) *newton = &plan->newton;
    newton->scan.team = plan->team;
    newton->scan.segments = plan->options.segments;
    newton->slots = ant_scan_slots(plan->T);
    newton->diagonal = plan->options.solver == ANT_SOLVER_QUASI_DEER;
    newton->adjoint_diagonal = newton->diagonal && plan->options.adjoint == ANT_ADJOINT_DIAGONAL;
    return ANTLER_OK;
}

static antler_status allocate(cell_plan *plan)
{
    ANT_TRY(make_arena(plan, carve, &plan->arena));
    return ANT_FN(ant_plan_uses_kernels)(plan) ? ANTLER_OK : ANT_FN(ant_plan_need_plain)(plan);
}

/* A plan with the cell, layout, sizes and options of `wanted`. */
static antler_status make(const cell_plan *wanted, cell_plan **result)
{
    cell_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return ant_fail_memory(sizeof *plan, "a solver plan");
    *plan = *wanted;
    antler_status status = choose(plan);
    if (status == ANTLER_OK)
        status = allocate(plan);
    if (status != ANTLER_OK) {
        release(plan);
        return status;
    }
    if (plan->narrow != NULL) {
        plan->narrow->forcing.exact = plan->reduction.r64;
        plan->narrow->forcing.variables = plan->layout.dims.N;
    }
    *result = plan;
    return ANTLER_OK;
}

static antler_status create(const void *model, const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, void **result)
{
    const ANT_FN(ant_cell) *cell = model;
    ANT_CHECK(options->solver != ANT_SOLVER_SCAN, ANTLER_ERROR_ARGUMENT,
              "solver: scan solves models that are linear in their state, and a %s is not; take auto",
              cell->name);
    ANT_CHECK(options->solver != ANT_SOLVER_SHOOTING || cell->kernels != NULL, ANTLER_ERROR_ARGUMENT,
              "solver: shooting is not offered for a %s; take auto", cell->name);
    cell_plan wanted = {.cell = cell, .layout = *layout, .options = *options, .T = T, .batch = batch};
    wanted.options.tolerance = ANT_FN(ant_newton_tolerance)(options->tolerance);
    cell_plan *plan = NULL;
    ANT_TRY(make(&wanted, &plan));
    *result = plan;
    return ANTLER_OK;
}

static ant_solver solver(const void *plan)
{
    return ((const cell_plan *)plan)->options.solver;
}

static const char *choice(const void *plan)
{
    return ((const cell_plan *)plan)->choice;
}

static size_t bytes(const void *plan)
{
    const cell_plan *own = plan;
    return sizeof *own + own->arena.capacity + own->plain.capacity +
           (own->narrow == NULL ? 0 : bytes(own->narrow));
}

const ANT_FN(ant_method) ANT_FN(ant_method_cell) = {
    .create = create,
    .free = release,
    .solver = solver,
    .choice = choice,
    .bytes = bytes,
    .gradient = ANT_FN(ant_cell_plan_gradient),
    .states = ANT_FN(ant_cell_plan_states),
    .reference = ANT_FN(ant_cell_plan_reference),
    .adjoint = ANT_FN(ant_cell_plan_adjoint),
};
