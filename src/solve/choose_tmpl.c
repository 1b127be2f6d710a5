/*
 * choose_tmpl.c - the choice of solver, kernels and segments of a plan.
 *
 * The cost of a step is estimated in vector operations from the measurements in docs/notebook/cpu-kernels.md;
 * only the ratios matter.  The choice depends on the sizes and on `segments`, never on the number of threads:
 * these share whatever was chosen.
 */
#include "solve/plan.h"

#include <math.h>
#include <stdio.h>

typedef ANT_FN(ant_cell_plan) cell_plan;
typedef ANT_FN(ant_kernels) kernels;

static size_t ceiling(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Vector operations of one step of one group, forward and backward. */
static double step_cost(const cell_plan *plan, const kernels *k)
{
    const ant_model_dims *d = &plan->layout.dims;
    const size_t widest = plan->cell->kernels->lane(ant_cpu_level_best())->lanes;
    const double M = (double)d->M, L = (double)d->L, N = (double)d->N;
    if (k->mask_words != NULL) /* when few units switch */
        return 10.0 * M * (double)ceiling(d->L, 4 * widest) + 80.0;
    if (k->lanes > 1) { /* the cost of a group is nearly proportional to its lanes */
        const double share = (double)k->lanes / (double)widest;
        const double narrow = k->lanes == widest ? 1.0 : k->rows == 4 ? 1.38 * share : 1.15 * share;
        return (7.5 * M * L + 8.0 * M * N + 100.0) * narrow;
    }
    return 7.0 * M * (double)ceiling(d->L, widest) + 2.0 * L * (double)ceiling(d->M, widest) + 6.0 * M +
           300.0;
}

/* Time of a whole gradient call with `segments` per sequence on `workers` threads, without repeated steps. */
static double cost_on(const cell_plan *plan, const kernels *k, size_t segments, size_t workers)
{
    const size_t groups = ceiling(plan->batch * segments, k->lanes);
    return step_cost(plan, k) * (double)ceiling(groups, workers) * (double)ceiling(plan->T, segments);
}

/*
 * The same where the threads are not known.  Time that is cut has a worker for every segment; whole sequences
 * have one or two: the mean of both ratios, so that neither is served at the other's expense.
 */
static double call_cost(const cell_plan *plan, const kernels *k, size_t segments)
{
    if (plan->options.segments > 1)
        return cost_on(plan, k, segments, plan->options.segments * plan->batch);
    return sqrt(cost_on(plan, k, segments, 1) * cost_on(plan, k, segments, 2));
}

/* Less work than this, in vector operations of about a third of a nanosecond, is done before others wake. */
#define SHARED_LEAST 150e3

static ANT_FN(ant_shooting) shooting_for(const cell_plan *plan, const kernels *k, size_t segments)
{
    const bool shared = cost_on(plan, k, segments, 1) >= SHARED_LEAST;
    ANT_FN(ant_shooting)
    sh = {.kernels = k,
          .layout = &plan->layout,
          .T = plan->T,
          .batch = plan->batch,
          .warmup = plan->options.warmup,
          .gaps = plan->options.patterns > 0,
          .pulls = plan->reduced && plan->options.teacher == ANT_TEACHER_FLOW,
          .segments = segments,
          .threads = shared ? plan->options.threads : 1,
          .team = shared ? plan->team : NULL,
          .ranks = {.comm = plan->options.comm}};
    sh.leg = plan->reduced ? 0 : ANT_FN(ant_legs_choose)(&sh, plan->options.leg); /* else all rows are read */
    return sh;
}

/* Whether one segment at a time is solved in legs: then segments are not put into lanes. */
static bool has_legs(const cell_plan *plan)
{
    return shooting_for(plan, plan->cell->kernels->line(ant_cpu_level_best()), 1).leg > 0;
}

/*
 * With AVX-512 and so many latent units, of which the piece kernels have several vectors, lane kernels do
 * more in the time that is estimated, and four rows may share a vector.
 */
enum { MANY_LATENT = 16 };

static bool has_many_latent(const cell_plan *plan)
{
    return plan->layout.dims.M >= MANY_LATENT &&
           plan->cell->kernels->lane_rows(ant_cpu_level_best(), 4) != NULL;
}

/* Whether lanes lack different variables: each pattern of a row is multiplied by itself.  Of a reduced row,
 * all is missing or nothing. */
static bool lanes_differ(const cell_plan *plan)
{
    return plan->options.patterns > 0 && !plan->reduced;
}

/* The cheaper of both; a later one must be better.  line: what multiplies the estimate of line kernels */
static const kernels *cheaper(const cell_plan *plan, double line, const kernels *best, const kernels *other)
{
    return call_cost(plan, other, 1) < (best->lanes == 1 ? line : 1.0) * call_cost(plan, best, 1) ? other
                                                                                                  : best;
}

/* The fastest kernels for whole sequences. */
static const kernels *for_sequences(const cell_plan *plan)
{
    const ANT_FN(ant_cell_kernels) *all = plan->cell->kernels;
    const ant_cpu_level top = ant_cpu_level_best();
    const kernels *best = all->line(top);
    if (has_legs(plan))
        return best;
    const bool rows = has_many_latent(plan) && !lanes_differ(plan);
    const double line = rows ? 1.3 : 1.0; /* their weights are used once, and come from farther away */
    /* The base level has no FMA and is slower.  Two rows in a vector have the lanes of AVX2, and its bits. */
    const kernels *low = all->lane(top > ANT_CPU_AVX2 ? ANT_CPU_AVX2 : top), *pairs = all->lane_rows(top, 2);
    best = cheaper(plan, line, best, pairs != NULL ? pairs : low);
    best = cheaper(plan, line, best, all->lane(top));
    const kernels *quads = all->lane_rows(top, 4);
    if (!rows || 4 * plan->batch <= 5 * quads->lanes) /* or the second of two threads has little to do */
        return best;
    return cheaper(plan, line, best, quads);
}

/* What the estimate of the piece kernels is multiplied with, to compare it with that of `other`. */
static double pieces_slower(const cell_plan *plan, const ANT_FN(ant_shooting) * other)
{
    if (!has_many_latent(plan) || other->kernels->lanes == 1 || other == &plan->attempt || lanes_differ(plan))
        return 1.0;
    return (sizeof(real) == sizeof(float) ? 2.0 : 1.5) *
           (double)ceiling(plan->layout.dims.M + 1, MANY_LATENT);
}

/* Segments for threads; and an attempt that cuts each of them further, into one per lane. */
static void choose_shooting(cell_plan *plan)
{
    const ant_solve_options *o = &plan->options;
    const kernels *lane = plan->cell->kernels->lane(ant_cpu_level_best());
    const kernels *line = plan->cell->kernels->line(ant_cpu_level_best());
    const bool cut = o->segments > 1;
    if (o->lanes) {
        plan->shooting = shooting_for(plan, lane, o->segments);
        return;
    }
    plan->shooting = cut ? shooting_for(plan, line, o->segments) : shooting_for(plan, for_sequences(plan), 1);
    const size_t many = cut ? lane->lanes * o->segments : ceiling(lane->lanes, plan->batch);
    const double gain =
        call_cost(plan, plan->shooting.kernels, plan->shooting.segments) / call_cost(plan, lane, many);
    if (many > 1 && plan->T / many >= ANT_SHORTEST_SEGMENT && gain >= 2.5 && !has_legs(plan))
        plan->attempt = shooting_for(plan, lane, many);
}

/* Whether what the piece kernels keep per pattern of missing values is worth its memory. */
static bool patterns_fit(const cell_plan *plan, const kernels *piece)
{
    const size_t most = (size_t)64 << 20; /* bytes */
    const ant_model_dims *d = &plan->layout.dims;
    const size_t rows = (plan->T + 1) * plan->batch;
    const size_t count =
        plan->options.patterns == 0 ? 0 : ANT_FN(ant_patterns_capacity)(d->N, rows, plan->options.patterns);
    return count <= most / (piece->pattern_count(d) * sizeof(real));
}

/* Scratch of the piece kernels that is used throughout: a tile, and the sums of every unit (mask bit). */
static size_t cached_reals(const ant_model_dims *d, const kernels *piece, size_t widest)
{
    const size_t units = 64 * piece->mask_words(d), row = ceiling(d->M + 1, widest) * widest;
    const size_t rows = units * d->M + 3 * piece->tile_steps + 4 * d->M + 2 * d->N + d->K + 4;
    return rows * row + units;
}

/* Whether the piece kernels fit this model, with its sums in the cache. */
static bool pieces_fit(const cell_plan *plan, const kernels *piece)
{
    const ant_model_dims *d = &plan->layout.dims;
    const size_t widest = plan->cell->kernels->lane(ant_cpu_level_best())->lanes;
    return plan->options.pieces != ANT_PIECES_NEVER && piece->mask_words(d) <= ANT_MASK_WORDS &&
           ceiling(d->L, widest) >= 2 * ceiling(d->M + 1, widest) &&
           cached_reals(d, piece, widest) * sizeof(real) <= (size_t)1 << 20 && patterns_fit(plan, piece);
}

/* Try the piece kernels first where their estimate is better; with ANT_PIECES_ALWAYS use nothing else. */
static void choose_pieces(cell_plan *plan)
{
    const kernels *piece = plan->cell->kernels->piece(ant_cpu_level_best());
    const ant_solve_options *o = &plan->options;
    const size_t segments = o->solver == ANT_SOLVER_SEQUENTIAL ? 1 : o->segments;
    const ANT_FN(ant_shooting) pieces = shooting_for(plan, piece, segments);
    if (o->pieces == ANT_PIECES_ALWAYS) {
        plan->shooting = pieces;
        plan->attempt = (ANT_FN(ant_shooting)){0};
        return;
    }
    const ANT_FN(ant_shooting) *now = plan->attempt.kernels != NULL ? &plan->attempt : &plan->shooting;
    const double merging = now == &plan->attempt ? 1.3 : 1.0; /* segments in lanes repeat many steps */
    const double gaps = lanes_differ(plan) && now->kernels->lanes > 1 ? 1.4 : 1.0;
    if (pieces_fit(plan, piece) && pieces_slower(plan, now) * call_cost(plan, piece, segments) <
                                       merging * gaps * call_cost(plan, now->kernels, now->segments))
        plan->attempt = pieces;
}

/* Say in plan->choice what was chosen. */
static void describe(cell_plan *plan, bool automatic)
{
    const ant_solve_options *o = &plan->options;
    const char *chosen = automatic ? "auto chose " : "";
    const ANT_FN(ant_shooting) *e = &plan->shooting, *t = &plan->attempt;
    const char *legs = e->leg > 0 ? "; states made again backward" : "";
    if (!ANT_FN(ant_plan_uses_kernels)(plan))
        snprintf(plan->choice, sizeof plan->choice, "%s%s", chosen, ant_solver_name(o->solver));
    else if (t->kernels != NULL)
        snprintf(plan->choice, sizeof plan->choice,
                 "%s%s: batch %zu, T %zu, M %zu, L %zu; %zu segment%s per sequence (%s), "
                 "or %zu (%s) where that does not pay%s",
                 chosen, ant_solver_name(o->solver), plan->batch, plan->T, plan->layout.dims.M,
                 plan->layout.dims.L, t->segments, t->segments > 1 ? "s" : "", t->kernels->name, e->segments,
                 e->kernels->name, legs);
    else
        snprintf(plan->choice, sizeof plan->choice,
                 "%s%s: batch %zu, T %zu, M %zu, L %zu; %zu segment%s per sequence (%s)%s", chosen,
                 ant_solver_name(o->solver), plan->batch, plan->T, plan->layout.dims.M, plan->layout.dims.L,
                 e->segments, e->segments > 1 ? "s" : "", e->kernels->name, legs);
}

/* A solver for `auto`, then its kernels and segments. */
static void choose_kernels(cell_plan *plan, bool automatic)
{
    ant_solve_options *o = &plan->options;
    if (automatic || o->solver == ANT_SOLVER_SHOOTING) {
        choose_shooting(plan);
        const bool cut = plan->attempt.kernels != NULL || plan->shooting.segments > 1;
        if (automatic)
            o->solver = cut ? ANT_SOLVER_SHOOTING : ANT_SOLVER_SEQUENTIAL;
    }
    if (o->solver == ANT_SOLVER_SEQUENTIAL)
        plan->shooting = shooting_for(plan, for_sequences(plan), 1);
    if (ANT_FN(ant_plan_uses_kernels)(plan) && !o->lanes)
        choose_pieces(plan);
}

void ANT_FN(ant_plan_choose)(cell_plan *plan)
{
    const bool automatic = plan->options.solver == ANT_SOLVER_AUTO;
    if (plan->cell->kernels != NULL)
        choose_kernels(plan, automatic);
    else if (automatic)
        plan->options.solver = ANT_SOLVER_SEQUENTIAL;
    describe(plan, automatic);
}
