/* linear_tmpl.c - tiles in parallel, joined by the affine scan: the gradient call of linear.h. */
#include "solve/linear.h"

#include "base/machine.h"
#include "solve/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_item) item;
typedef ANT_FN(ant_phase) phase;

/* The number of slots depends on the sizes alone, so that sums do not depend on the number of threads. */
enum { SLOTS_MAX = 32, TILES_PER_SCAN_SEGMENT = 64 };

/* ---- the plan ------------------------------------------------------------------------------------- */

static void carve(linear *p, ant_arena *arena)
{
    const ant_model_dims *d = &p->layout.dims;
    const bool scan = p->solver == ANT_SOLVER_SCAN;
    const size_t items = scan ? p->items : 0, slots = scan ? p->slots : 0, total = p->layout.total;
    p->kept = ant_arena_take(arena, items * p->kept_count, sizeof(real));
    p->decay = ant_arena_take(arena, items * p->decays, sizeof(real));
    p->offset = ant_arena_take(arena, items * p->n, sizeof(real));
    p->entering = ant_arena_take(arena, items * p->n, sizeof(real));
    p->leaving = ant_arena_take(arena, items * p->n, sizeof(real));
    p->lane_sums = ant_arena_take(arena, slots * total * p->kernels->lanes, sizeof(real));
    p->square = ant_arena_take(arena, slots, sizeof(double));
    p->scratch = ant_arena_take(arena, slots * p->scratch_count, sizeof(real));
    p->totals = ant_arena_take(arena, p->scan_segments * (p->decays + p->n), sizeof(real));
    p->borders = ant_arena_take(arena, p->scan_segments * p->n, sizeof(real));
    p->derived = ant_arena_take(arena, p->model->derived(&p->layout), sizeof(real));
    p->states = ant_arena_take(arena, p->batch * p->T * d->M, sizeof(real));
    p->one = ant_arena_take(arena, p->T * d->M, sizeof(real));
    p->reference_work = ant_arena_take(arena, p->workers * p->reference_count, sizeof(real));
    p->filled = ant_arena_take(arena, p->feedback ? p->workers * p->T * d->N : 0, sizeof(real));
    p->sums = ant_arena_take(arena, p->workers * total, sizeof(double));
    if (p->solver == ANT_SOLVER_DEER)
        ANT_FN(ant_linear_newton_carve)(p, arena);
}

/* Whether the solver that was requested can solve this. */
static antler_status check_solver(const linear *p, ant_solver asked)
{
    const bool newton = asked == ANT_SOLVER_DEER && p->model->linearise != NULL;
    ANT_CHECK(asked == ANT_SOLVER_AUTO || asked == ANT_SOLVER_SCAN || asked == ANT_SOLVER_REFERENCE ||
                  (newton && p->feedback),
              ANTLER_ERROR_ARGUMENT,
              "solver: %s solves the shplrnn; a %s is linear in its state, so take auto, scan or reference",
              ant_solver_name(asked), p->model->name);
    ANT_CHECK(asked != ANT_SOLVER_SCAN || !p->gaps, ANTLER_ERROR_ARGUMENT,
              "solver: scan needs complete data; a %s takes its own prediction for a missing value, so take "
              "auto or reference",
              p->model->name);
    ANT_CHECK(asked != ANT_SOLVER_SCAN || !p->feedback, ANTLER_ERROR_ARGUMENT,
              "solver: scan cannot do scheduled sampling, where a %s takes its own predictions in; take auto "
              "or reference",
              p->model->name);
    return ANTLER_OK;
}

static antler_status choose(linear *p, const ant_solve_options *options)
{
    const ant_solver asked = options->solver;
    const char *why = p->gaps ? "takes its own prediction for a missing value"
                              : "takes its own predictions in by scheduled sampling";
    ANT_TRY(check_solver(p, asked));
    p->solver = asked == ANT_SOLVER_DEER                       ? ANT_SOLVER_DEER
                : asked == ANT_SOLVER_REFERENCE || p->feedback ? ANT_SOLVER_REFERENCE
                                                               : ANT_SOLVER_SCAN;
    if (p->solver == ANT_SOLVER_DEER)
        snprintf(p->choice, sizeof p->choice,
                 "deer: Newton on all steps at once, because a %s %s; batch %zu, T %zu, %zu segment%s of the "
                 "scan",
                 p->model->name, why, p->batch, p->T, options->segments, options->segments == 1 ? "" : "s");
    else if (p->feedback && asked == ANT_SOLVER_AUTO)
        snprintf(p->choice, sizeof p->choice,
                 "auto chose reference: plain steps, because a %s %s; batch %zu, T %zu", p->model->name, why,
                 p->batch, p->T);
    else if (p->solver == ANT_SOLVER_REFERENCE)
        snprintf(p->choice, sizeof p->choice, "reference: plain steps");
    else
        snprintf(
            p->choice, sizeof p->choice,
            "%sscan: the %s is linear in its state; batch %zu, T %zu, %zu tiles of %d steps per sequence "
            "(%s)",
            asked == ANT_SOLVER_AUTO ? "auto chose " : "", p->model->name, p->batch, p->T, p->tiles, ANT_TILE,
            p->kernels->name);
    return ANTLER_OK;
}

static void release(void *opaque)
{
    linear *p = opaque;
    if (p == NULL)
        return;
    ant_team_free(p->team);
    ant_arena_destroy(&p->arena);
    free(p);
}

static antler_status create(const void *linear_model, const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, void **result)
{
    const ANT_FN(ant_linear_model) *model = linear_model;
    linear *p = calloc(1, sizeof *p);
    if (p == NULL)
        return ant_fail_memory(sizeof *p, "a solver plan");
    const ant_model_dims *d = &layout->dims;
    const size_t tiles = (T + ANT_TILE - 1) / ANT_TILE, scan_segments = tiles / TILES_PER_SCAN_SEGMENT + 1;
    *p = (linear){.model = model,
                  .kernels = ANT_FN(ant_tile_kernels_of)(ant_cpu_level_best()),
                  .layout = *layout,
                  .T = T,
                  .batch = batch,
                  .warmup = options->warmup,
                  .gaps = options->patterns > 0,
                  .feedback = options->patterns > 0 || options->sampling,
                  .team = ant_team_create(options->threads),
                  .reference_count = model->reference_work(d, T),
                  .tiles = tiles,
                  .items = batch * tiles,
                  .slots = batch * tiles < SLOTS_MAX ? batch * tiles : SLOTS_MAX,
                  .scan_segments = scan_segments < SLOTS_MAX ? scan_segments : SLOTS_MAX,
                  .n = model->state(d),
                  .decays = model->decays(d),
                  .kept_count = model->kept(d),
                  .scratch_count = model->scratch(d)};
    const bool side_by_side = p->feedback && options->solver != ANT_SOLVER_DEER;
    p->workers = !side_by_side ? 1 : batch < SLOTS_MAX ? batch : SLOTS_MAX;
    p->newton = (ANT_FN(ant_linear_newton)){.scan = {.segments = options->segments, .team = p->team},
                                            .slots = ant_scan_slots(T),
                                            .tolerance = ANT_FN(ant_newton_tolerance)(options->tolerance),
                                            .max_iterations = options->max_iterations,
                                            .fallback = options->fallback};
    ant_arena counter;
    ant_arena_count(&counter);
    antler_status status = choose(p, options);
    if (status == ANTLER_OK) {
        carve(p, &counter);
        status = counter.overflow ? ant_fail_memory(SIZE_MAX, "a solver plan of this size")
                                  : ant_arena_create(&p->arena, counter.used);
    }
    if (status != ANTLER_OK) {
        release(p);
        return status;
    }
    carve(p, &p->arena);
    *result = p;
    return ANTLER_OK;
}

static ant_solver solver(const void *plan)
{
    return ((const linear *)plan)->solver;
}

static const char *choice(const void *plan)
{
    return ((const linear *)plan)->choice;
}

static size_t bytes(const void *plan)
{
    return sizeof(linear) + ((const linear *)plan)->arena.capacity;
}

/* ---- phases --------------------------------------------------------------------------------------- */

static item item_at(const linear *p, size_t index, size_t slot)
{
    const ant_model_dims *d = &p->layout.dims;
    const size_t sequence = index / p->tiles, tile = index % p->tiles, first = tile * ANT_TILE;
    return (item){.index = index,
                  .sequence = sequence,
                  .tile = tile,
                  .first = first,
                  .count = p->T - first < ANT_TILE ? p->T - first : ANT_TILE,
                  .slot = slot,
                  .x = p->x[sequence] + first * d->N,
                  .s = d->K == 0 ? NULL : p->s[sequence] + first * d->K};
}

/* One phase of all tiles, which threads share slot by slot. */
typedef struct phase_pass {
    const linear *p;
    phase phase;
} phase_pass;

static void run_slot(void *cookie, size_t slot, size_t worker)
{
    const phase_pass *a = cookie;
    const linear *p = a->p;
    const size_t last = ant_scan_border(p->items, p->slots, slot + 1);
    (void)worker;
    for (size_t i = ant_scan_border(p->items, p->slots, slot); i < last; i++) {
        const item now = item_at(p, i, slot);
        a->phase(p, &now);
    }
}

static void run_phases(const linear *p, const phase *phases)
{
    for (int k = 0; k < ANT_PHASES_MAX && phases[k] != NULL; k++) {
        phase_pass a = {.p = p, .phase = phases[k]};
        ant_team_run(p->team, p->slots, run_slot, &a);
    }
}

void ANT_FN(ant_linear_loss)(const linear *p, const item *i, const real *xhat, real *error)
{
    const size_t N = p->layout.dims.N;
    double square = 0.0;
    for (size_t n = 0; n < N; n++) {
        for (size_t t = 0; t < ANT_TILE; t++) {
            const bool counts = t < i->count && ANT_FN(ant_linear_counts)(p, i->first + 1 + t);
            const real off = counts ? xhat[n * ANT_TILE + t] - i->x[(t + 1) * N + n] : 0;
            square += (double)off * (double)off;
            error[n * ANT_TILE + t] = p->weight * off;
        }
    }
    p->square[i->slot] += square;
}

/* ---- the scan over the tiles of a sequence ------------------------------------------------------- */

/* Element i is tile i, or tile tiles-1-i in reverse; a total is decays, then offsets. */
typedef struct chain {
    const linear *plan;
    size_t sequence;
    bool reverse;
} chain;

static size_t chain_item(const chain *c, size_t i)
{
    return c->sequence * c->plan->tiles + (c->reverse ? c->plan->tiles - 1 - i : i);
}

/* out = decay o in + offset.  decay: (decays); in, offset, out: (n) */
static void apply(const linear *p, const real *decay, const real *offset, const real *in, real *out)
{
    const size_t each = p->n / p->decays;
    for (size_t k = 0; k < p->decays; k++) {
        for (size_t i = k * each; i < (k + 1) * each; i++)
            out[i] = decay[k] * in[i] + offset[i];
    }
}

static void chain_compose(void *context, size_t first, size_t last, void *total)
{
    const chain *c = context;
    const linear *p = c->plan;
    real *decay = total, *offset = decay + p->decays;
    for (size_t k = 0; k < p->decays; k++)
        decay[k] = 1;
    memset(offset, 0, p->n * sizeof *offset);
    for (size_t i = first; i < last; i++) {
        const size_t b = chain_item(c, i);
        apply(p, p->decay + b * p->decays, p->offset + b * p->n, offset, offset);
        for (size_t k = 0; k < p->decays; k++)
            decay[k] *= p->decay[b * p->decays + k];
    }
}

static void chain_act(void *context, const void *total, const void *from, void *to)
{
    const chain *c = context;
    const real *decay = total;
    apply(c->plan, decay, decay + c->plan->decays, from, to);
}

static void chain_sweep(void *context, size_t first, size_t last, const void *from)
{
    const chain *c = context;
    const linear *p = c->plan;
    const real *in = from;
    for (size_t i = first; i < last; i++) {
        const size_t b = chain_item(c, i), next = chain_item(c, i + 1);
        real *out = (c->reverse ? p->leaving : p->entering) + next * p->n;
        apply(p, p->decay + b * p->decays, p->offset + b * p->n, in, out);
        in = out;
    }
}

/* From the state 0 before the first tile, or the adjoint 0 after the last. */
static void join_tiles(const linear *p, bool reverse)
{
    for (size_t i = 0; i < p->batch; i++) {
        chain c = {p, i, reverse};
        memset((reverse ? p->leaving : p->entering) + chain_item(&c, 0) * p->n, 0, p->n * sizeof(real));
        memset(p->borders, 0, p->n * sizeof(real));
        ant_scan scan = {.count = p->tiles - 1,
                         .segments = p->scan_segments,
                         .context = &c,
                         .compose = chain_compose,
                         .act = chain_act,
                         .sweep = chain_sweep,
                         .totals = (unsigned char *)p->totals,
                         .total_bytes = (p->decays + p->n) * sizeof(real),
                         .borders = (unsigned char *)p->borders,
                         .state_bytes = p->n * sizeof(real)};
        ant_scan_run(&scan, p->team);
    }
}

/* ---- the gradient call ---------------------------------------------------------------------------- */

/* Observed values after the warm-up. */
static double count_values(const linear *p, const real *const *x)
{
    const size_t N = p->layout.dims.N;
    size_t missing = 0;
    for (size_t i = 0; i < p->batch && p->gaps; i++) {
        for (size_t k = (p->warmup + 1) * N; k < (p->T + 1) * N; k++)
            missing += isnan(x[i][k]) != 0;
    }
    return (double)N * (double)(p->T - p->warmup) * (double)p->batch - (double)missing;
}

static antler_status begin(linear *p, const real *parameters, const real *const *x, const real *const *s)
{
    p->parameters = parameters;
    p->x = x;
    p->s = s;
    p->values = count_values(p, x);
    ANT_CHECK(p->values > 0.0, ANTLER_ERROR_ARGUMENT,
              "no value of the batch is observed after the warm-up, so there is no loss; give other windows");
    p->weight = (real)(2.0 / p->values);
    memset(p->sums, 0, p->workers * p->layout.total * sizeof *p->sums);
    p->model->derive(&p->layout, parameters, p->derived);
    return ANTLER_OK;
}

static double solve_by_scan(linear *p, bool with_gradient)
{
    const size_t lanes = p->kernels->lanes, total = p->layout.total;
    memset(p->square, 0, p->slots * sizeof *p->square);
    memset(p->lane_sums, 0, p->slots * total * lanes * sizeof *p->lane_sums);
    run_phases(p, p->model->before);
    join_tiles(p, false);
    run_phases(p, p->model->between);
    if (with_gradient) {
        join_tiles(p, true);
        run_phases(p, p->model->after);
        for (size_t slot = 0; slot < p->slots; slot++)
            p->kernels->collapse(p->lane_sums + slot * total * lanes, total, p->sums);
    }
    double square = 0.0;
    for (size_t slot = 0; slot < p->slots; slot++)
        square += p->square[slot];
    return square;
}

/* One sequence in plain steps; p is a copy of the plan with the memory of one worker. */
static double solve_plain(linear *p, size_t i, real *z, double *sums)
{
    p->own = p->drawn == NULL ? NULL : p->drawn + i * p->T;
    return p->model->reference(p, p->x[i], p->s == NULL ? NULL : p->s[i], z, sums);
}

/* The sequences of one worker in plain steps, with its own memory. */
static double solve_some(const linear *p, size_t worker, bool with_gradient)
{
    const size_t rows = p->T * p->layout.dims.M, last = ant_scan_border(p->batch, p->workers, worker + 1);
    linear own = *p;
    double square = 0.0;
    own.reference_work += worker * p->reference_count;
    own.filled += p->feedback ? worker * p->T * p->layout.dims.N : 0;
    own.sums += worker * p->layout.total;
    for (size_t i = ant_scan_border(p->batch, p->workers, worker); i < last; i++)
        square += solve_plain(&own, i, p->states + i * rows, with_gradient ? own.sums : NULL);
    return square;
}

/* Plain steps of all sequences, which threads share by workers. */
typedef struct reference_pass {
    linear *p;
    bool with_gradient;
    double squares[SLOTS_MAX]; /* (workers) */
} reference_pass;

static void run_worker(void *cookie, size_t part, size_t thread)
{
    reference_pass *a = cookie;
    (void)thread;
    a->squares[part] = solve_some(a->p, part, a->with_gradient);
}

static double solve_by_reference(linear *p, bool with_gradient)
{
    reference_pass a = {.p = p, .with_gradient = with_gradient};
    double square = 0.0;
    ant_team_run(p->team, p->workers, run_worker, &a);
    for (size_t worker = 0; worker < p->workers; worker++)
        square += a.squares[worker];
    for (size_t i = p->layout.total; i < p->workers * p->layout.total; i++)
        p->sums[i % p->layout.total] += p->sums[i];
    return square;
}

/* One sequence after the other by Newton's method, with what the report says of it. */
static double solve_by_newton(linear *p, bool with_gradient, ant_solve_report *report)
{
    const size_t rows = p->T * p->layout.dims.M;
    double square = 0.0, *sums = with_gradient ? p->sums : NULL;
    for (size_t i = 0; i < p->batch; i++) {
        p->own = p->drawn == NULL ? NULL : p->drawn + i * p->T;
        const ANT_FN(ant_linear_solved) solved = ANT_FN(ant_linear_newton_solve)(
            p, p->x[i], p->s == NULL ? NULL : p->s[i], p->states + i * rows, sums);
        report->iterations = solved.iterations > report->iterations ? solved.iterations : report->iterations;
        if (!(solved.last_change <= report->last_change))
            report->last_change = solved.last_change;
        if (solved.outcome > report->outcome)
            report->outcome = solved.outcome;
        const bool again = solved.outcome != ANTLER_OK && p->newton.fallback;
        report->fallbacks += again ? 1 : 0;
        square += again ? solve_plain(p, i, p->states + i * rows, sums) : solved.square;
    }
    return square;
}

static void finish(linear *p, real *gradient)
{
    if (p->model->finish != NULL)
        p->model->finish(&p->layout, p->parameters, p->sums);
    for (size_t i = 0; i < p->layout.total; i++)
        gradient[i] = (real)p->sums[i];
}

static double loss_of(const linear *p, double square)
{
    return square / p->values;
}

static double solve_all(linear *p, bool with_gradient, ant_solve_report *report)
{
    switch (p->solver) {
    case ANT_SOLVER_SCAN:
        report->kernels = p->kernels->name;
        report->segments = p->tiles;
        return solve_by_scan(p, with_gradient);
    case ANT_SOLVER_DEER:
        report->segments = p->newton.scan.segments;
        return solve_by_newton(p, with_gradient, report);
    default:
        return solve_by_reference(p, with_gradient);
    }
}

/* The status of the call; loss and gradient are known. */
static antler_status judge(const linear *p, const real *gradient, const ant_solve_report *report)
{
    bool finite = isfinite(report->loss);
    for (size_t i = 0; i < p->layout.total && gradient != NULL; i++)
        finite = finite && isfinite(gradient[i]);
    ANT_CHECK(finite, ANTLER_NON_FINITE,
              "the loss or its gradient is not finite: use a smaller learning rate");
    ANT_CHECK(report->outcome == ANTLER_OK || p->newton.fallback, report->outcome,
              "%s did not converge within %d iterations; the last change was %g", ant_solver_name(p->solver),
              report->iterations, report->last_change);
    return ANTLER_OK;
}

static antler_status gradient_of(void *opaque, const real *parameters, const real *const *x,
                                 const real *const *s, double alpha, real *gradient, ant_solve_report *report)
{
    linear *p = opaque;
    (void)alpha; /* nothing is forced: the data enter every step */
    *report = (ant_solve_report){.loss = NAN, .solver = p->solver, .kernels = "plain", .segments = 1};
    ANT_TRY(begin(p, parameters, x, s));
    if (gradient != NULL)
        ant_team_begin_call(p->team);
    const double square = solve_all(p, gradient != NULL, report);
    if (gradient != NULL)
        ant_team_end_call(p->team);
    report->loss = loss_of(p, square);
    if (gradient != NULL)
        finish(p, gradient);
    return judge(p, gradient, report);
}

static void copy_states(const void *opaque, size_t sequence, real *z)
{
    const linear *p = opaque;
    const size_t rows = p->T * p->layout.dims.M;
    memcpy(z, p->states + sequence * rows, rows * sizeof *z);
}

static antler_status reference(void *opaque, const real *parameters, const real *const *x,
                               const real *const *s, double alpha,
                               void (*seen)(void *cookie, size_t sequence, const real *z), void *cookie,
                               real *gradient, double *loss)
{
    linear *p = opaque;
    double square = 0.0;
    (void)alpha;
    ANT_TRY(begin(p, parameters, x, s));
    for (size_t i = 0; i < p->batch; i++) {
        square += solve_plain(p, i, p->one, p->sums);
        seen(cookie, i, p->one);
    }
    *loss = loss_of(p, square);
    finish(p, gradient);
    return ANTLER_OK;
}

static antler_status sample(void *opaque, const unsigned char *drawn)
{
    linear *p = opaque;
    ANT_CHECK(p->feedback || drawn == NULL, ANTLER_ERROR_ARGUMENT,
              "the plan was made without scheduled sampling");
    p->drawn = drawn;
    return ANTLER_OK;
}

const ANT_FN(ant_method) ANT_FN(ant_method_linear) = {
    .create = create,
    .free = release,
    .solver = solver,
    .choice = choice,
    .bytes = bytes,
    .gradient = gradient_of,
    .states = copy_states,
    .reference = reference,
    .sample = sample,
};
