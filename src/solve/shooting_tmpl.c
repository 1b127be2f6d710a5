/*
 * shooting_tmpl.c - segments, groups, and how chunks of a sequence are joined.
 *
 * Forward: every chunk starts from z_bar at its border and runs its exact steps.  Then each chunk starts
 * again from the end of the one before and runs until it has merged with what is stored; chunks that did
 * not merge hand a new end on, and so forth.  After r rounds the first r+1 chunks are exact, so the
 * number of chunks bounds the rounds and the answer never depends on luck.
 *
 * Backward: the adjoint is linear.  Every chunk first runs with nothing behind it; then the gradient
 * at each border is run through the chunk before as a correction, until it has died out.
 */
#include "solve/scan.h"
#include "solve/shooting.h"

#include <string.h>

typedef ANT_FN(ant_engine) engine;
typedef ANT_FN(ant_group) group;
typedef ANT_FN(ant_problem) engine_problem;

static size_t segment_begin(const engine *e, size_t chunk)
{
    return ant_scan_border(e->T, e->chunks, chunk);
}

/* One lane of a group: which stretch of which sequence. */
typedef struct lane {
    group *group;
    size_t index; /* of the lane within the group */
    size_t sequence, chunk;
    size_t begin, end; /* steps begin .. end-1 of the sequence are its own */
    bool idle;         /* a lane without segment copies segment 0 with weight 0 */
} lane;

static lane lane_at(const engine *e, size_t g, size_t index)
{
    const size_t id = g * e->kernels->lanes + index;
    const size_t segment = id < e->segments ? id : 0, chunk = segment % e->chunks;
    return (lane){.group = &e->group[g],
                  .index = index,
                  .sequence = segment / e->chunks,
                  .chunk = chunk,
                  .begin = segment_begin(e, chunk),
                  .end = segment_begin(e, chunk + 1),
                  .idle = id >= e->segments};
}

static lane segment_lane(const engine *e, size_t segment)
{
    return lane_at(e, segment / e->kernels->lanes, segment % e->kernels->lanes);
}

group ANT_FN(ant_group_carve)(const engine *e, ant_arena *arena, size_t length)
{
    const ant_model_dims *d = &e->layout->dims;
    const size_t lanes = e->kernels->lanes, rows = (length + 1) * lanes;
    const size_t copied = lanes > 1 ? rows : 0; /* a single lane reads the caller's arrays */
    const size_t timed = e->kernels->knows_time ? 0 : rows;
    const size_t words = e->kernels->mask_words == NULL ? 0 : e->kernels->mask_words(d);
    const size_t slack = ANT_ARENA_ALIGN / sizeof(real); /* line kernels read whole vectors of a last row */
    return (group){.length = length,
                   .z = ant_arena_take(arena, rows * d->M + slack, sizeof(real)),
                   .forced = ant_arena_take(arena, rows * d->M + slack, sizeof(real)),
                   .error = ant_arena_take(arena, rows * d->N, sizeof(real)),
                   .own_x = ant_arena_take(arena, copied * d->N, sizeof(real)),
                   .own_s = ant_arena_take(arena, copied * d->K, sizeof(real)),
                   .masks = ant_arena_take(arena, words * length, sizeof(uint64_t)),
                   .strength = ant_arena_take(arena, timed, sizeof(real)),
                   .weight = ant_arena_take(arena, timed, sizeof(real)),
                   .inject = ant_arena_take(arena, d->M * lanes, sizeof(real)),
                   .inject_last = ant_arena_take(arena, d->M * lanes, sizeof(real)),
                   .border = ant_arena_take(arena, d->M * lanes, sizeof(real))};
}

/* A group of a relay: a stretch of its one memory, for the way back. */
static group stretch_of(const engine *e, size_t begin, group own)
{
    const ant_model_dims *d = &e->layout->dims;
    const group *whole = &e->relay.whole;
    own.z = whole->z + begin * d->M;
    own.forced = whole->forced + begin * d->M;
    own.error = whole->error + begin * d->N;
    own.masks = whole->masks + begin * e->kernels->mask_words(d);
    if (begin == 0)
        own.border = whole->border;
    return own;
}

void ANT_FN(ant_engine_carve)(engine *e, ant_arena *arena)
{
    const ant_model_dims *d = &e->layout->dims;
    const size_t lanes = e->kernels->lanes;
    e->segments = e->batch * e->chunks;
    e->groups = (e->segments + lanes - 1) / lanes;
    e->slots = e->groups < (size_t)e->threads ? e->groups : (size_t)e->threads;
    e->scratch_count = (e->kernels->scratch_count(d) + 63) / 64 * 64;
    e->group = ant_arena_take(arena, e->groups, sizeof *e->group);
    e->run = ant_arena_take(arena, e->groups, sizeof *e->run);
    e->dirty = ant_arena_take(arena, e->groups, sizeof *e->dirty);
    e->packed = ant_arena_take(arena, e->kernels->packed_count(d), sizeof *e->packed);
    e->scratch = ant_arena_take(arena, e->slots * e->scratch_count, sizeof *e->scratch);
    e->sums = ant_arena_take(arena, e->slots * ANT_FN(ant_sums_count)(e->layout), sizeof *e->sums);
    e->relays = ANT_FN(ant_relay_fits)(e);
    if (e->relays)
        ANT_FN(ant_relay_carve)(e, arena);
    for (size_t g = 0; g < e->groups; g++) {
        const group own = ANT_FN(ant_group_carve)(e, arena, e->relays ? 0 : segment_begin(e, 1));
        if (e->group != NULL)
            e->group[g] = e->relays ? stretch_of(e, segment_begin(e, g), own) : own;
    }
}

/* Strengths, weights and the first guess of the start of one lane. */
static void lane_start(const engine *e, const engine_problem *p, const real *x, const lane *a)
{
    const ant_model_dims *d = &e->layout->dims;
    const size_t lanes = e->kernels->lanes;
    group *g = a->group;
    for (size_t i = 0; i <= g->length && !e->kernels->knows_time; i++) {
        const size_t t = a->begin + i;
        const bool counts = i > 0 && t <= a->end && t > e->warmup && !a->idle;
        g->weight[i * lanes + a->index] = counts ? p->weight : 0;
        if (i < g->length)
            g->strength[i * lanes + a->index] = (real)ant_forcing_strength(t, e->warmup, p->alpha);
    }
    for (size_t m = 0; m < d->M; m++) {
        real sum = 0;
        for (size_t n = 0; n < d->N; n++)
            sum += p->forcing->pinv[m * d->N + n] * x[a->begin * d->N + n];
        g->z[m * lanes + a->index] = sum;
    }
}

/* Copy the data of one lane into its column. */
static void lane_load(const engine *e, const real *x, const real *s, const lane *a)
{
    const ant_model_dims *d = &e->layout->dims;
    const size_t lanes = e->kernels->lanes;
    group *g = a->group;
    for (size_t i = 0; i <= g->length; i++) {
        const size_t t = a->begin + i;
        const bool inside = t <= e->T; /* a shorter segment at the end runs one idle step past T */
        for (size_t n = 0; n < d->N; n++)
            g->own_x[(i * d->N + n) * lanes + a->index] = inside ? x[t * d->N + n] : 0;
        for (size_t k = 0; k < d->K && i < g->length; k++)
            g->own_s[(i * d->K + k) * lanes + a->index] = t < e->T ? s[t * d->K + k] : 0;
    }
    g->x = g->own_x;
    g->s = g->own_s;
}

/* A single lane has its own length and reads the caller's arrays. */
static void line_load(const engine *e, const real *x, const real *s, const lane *a)
{
    const ant_model_dims *d = &e->layout->dims;
    group *g = a->group;
    g->begin = a->begin;
    g->length = a->end - a->begin;
    g->x = x + a->begin * d->N;
    g->s = s == NULL ? g->own_s : s + a->begin * d->K; /* without inputs: of no length */
}

static void load_group(engine *e, const engine_problem *p, const real *const *x, const real *const *s,
                       size_t g)
{
    for (size_t i = 0; i < e->kernels->lanes; i++) {
        const lane a = lane_at(e, g, i);
        const real *inputs = s == NULL ? NULL : s[a.sequence];
        if (e->kernels->lanes > 1)
            lane_load(e, x[a.sequence], inputs, &a);
        else
            line_load(e, x[a.sequence], inputs, &a);
        lane_start(e, p, x[a.sequence], &a);
    }
    if (e->kernels->enter != NULL) { /* from and to the same row, through a row that is not in use yet */
        real *z = e->group[g].z, *other = z + e->layout->dims.M;
        memcpy(other, z, e->layout->dims.M * sizeof *z);
        e->kernels->enter(&e->layout->dims, e->packed, other, z);
    }
    e->dirty[g] = true;
}

/* Hand the ends of chunks to the starts of the next; marks the groups that have to run again. */
static size_t hand_on_states(engine *e)
{
    const size_t M = e->layout->dims.M, lanes = e->kernels->lanes;
    size_t dirty = 0;
    memset(e->dirty, 0, e->groups * sizeof *e->dirty);
    for (size_t segment = e->segments; segment-- > 1;) {
        const lane to = segment_lane(e, segment);
        if (to.chunk == 0)
            continue;
        const lane from = segment_lane(e, segment - 1);
        const real *last = from.group->z + (from.end - from.begin) * M * lanes + from.index;
        real *first = to.group->z + to.index;
        for (size_t m = 0; m < M; m++) {
            if (memcmp(&first[m * lanes], &last[m * lanes], sizeof *first) != 0)
                e->dirty[segment / lanes] = true;
            first[m * lanes] = last[m * lanes];
        }
    }
    for (size_t g = 0; g < e->groups; g++)
        dirty += e->dirty[g];
    return dirty;
}

/* Run the groups that are marked; false when a kernel refused. */
static bool run_forward(engine *e, const engine_problem *p, double merge, bool trial)
{
    bool refused = false;
#pragma omp parallel for schedule(static, 1) num_threads(e->threads) if (e->slots > 1) reduction(|| : refused)
    for (size_t slot = 0; slot < e->slots; slot++) {
        for (size_t g = slot; g < e->groups && !refused; g += e->slots) {
            if (e->dirty[g])
                e->run[g] = e->kernels->forward(p, e->packed, &e->group[g], merge, trial,
                                                e->scratch + slot * e->scratch_count);
            refused = refused || e->run[g].refused;
        }
    }
    return !refused;
}

static void load(engine *e, const engine_problem *p, const real *const *x, const real *const *s)
{
    e->kernels->pack(p, e->packed);
/* A relay has next to nothing to load: its second thread wakes up while the first is at work already. */
#pragma omp parallel for schedule(static, 1) num_threads(e->threads) if (e->groups > 1 && !e->relays)
    for (size_t g = 0; g < e->groups; g++)
        load_group(e, p, x, s, g);
}

/* The largest state or adjoint of the round that was just run. */
static double largest_size(const engine *e)
{
    double size = 0.0;
    for (size_t g = 0; g < e->groups; g++)
        size = fmax(size, e->run[g].size);
    return size;
}

double ANT_FN(ant_merge_tolerance)(double size, double tolerance)
{
    const double rounding = 4.0 * (double)REAL_EPSILON * (isfinite(size) ? size : 1.0);
    return fmax(0.01 * tolerance, rounding);
}

/* Enter the round that was just run into the report; false when a group ran to its end unmerged. */
static bool note_round(const engine *e, ant_solve_report *report)
{
    size_t longest = 0;
    bool merged = true;
    for (size_t g = 0; g < e->groups; g++) {
        if (!e->dirty[g])
            continue;
        longest = e->run[g].steps > longest ? e->run[g].steps : longest;
        merged = merged && e->run[g].merged;
        if (e->run[g].merged)
            report->last_change = fmax(report->last_change, e->run[g].gap);
    }
    report->iterations++;
    report->repeated_steps += longest;
    return merged;
}

bool ANT_FN(ant_engine_forward)(engine *e, const engine_problem *p, const real *const *x,
                                const real *const *s, const ant_solve_options *options, bool trial,
                                ant_solve_report *report)
{
    load(e, p, x, s);
    if (e->relays)
        return ANT_FN(ant_relay_forward)(e, p, x[0], s == NULL ? NULL : s[0], options->tolerance, trial,
                                         report);
    if (!run_forward(e, p, -1.0, trial))
        return false;
    if (e->chunks == 1)
        return true;
    const double merge = ANT_FN(ant_merge_tolerance)(largest_size(e), options->tolerance);
    while (hand_on_states(e) > 0) {
        if (report->iterations == options->max_iterations && report->outcome == ANTLER_OK) {
            report->outcome = ANTLER_NOT_CONVERGED;
            if (!options->fallback)
                return true;
            report->fallbacks = e->batch; /* going on to the end is the sequential solution */
        }
        if (!run_forward(e, p, merge, trial))
            return false;
        if (!note_round(e, report) && trial && e->kernels->lanes > 1)
            return false;
    }
    return true;
}

double ANT_FN(ant_engine_square)(const engine *e, const engine_problem *p)
{
    double sum = 0.0;
    for (size_t g = 0; g < e->groups; g++)
        sum += e->kernels->square(p, &e->group[g]);
    return sum;
}

/* Run the marked groups of one slot backward; sums of a kernel are added to those in double now and then. */
static void run_slot_backward(engine *e, const engine_problem *p, bool loss, double floor, size_t slot)
{
    enum { MANY = 65536 }; /* steps */
    double *sums = e->sums + slot * ANT_FN(ant_sums_count)(e->layout);
    real *scratch = e->scratch + slot * e->scratch_count;
    size_t steps = 0;
    for (size_t g = slot; g < e->groups; g += e->slots) {
        if (!e->dirty[g])
            continue;
        e->run[g] = e->kernels->backward(p, e->packed, &e->group[g], loss, floor, scratch, sums);
        steps += e->run[g].steps;
        if (steps > MANY && e->kernels->close != NULL) {
            e->kernels->close(p, e->packed, scratch, sums);
            e->kernels->open(&e->layout->dims, scratch);
            steps = 0;
        }
    }
}

/* Run the marked groups backward; with `loss` all of them and from nothing. */
static void run_backward(engine *e, const engine_problem *p, bool loss, double floor)
{
#pragma omp parallel for schedule(static, 1) num_threads(e->threads) if (e->slots > 1)
    for (size_t slot = 0; slot < e->slots; slot++)
        run_slot_backward(e, p, loss, floor, slot);
}

/* Clear what is injected at the ends of all chunks. */
static void clear_injections(engine *e)
{
    const size_t bytes = e->layout->dims.M * e->kernels->lanes * sizeof(real);
    for (size_t g = 0; g < e->groups; g++) {
        memset(e->group[g].inject, 0, bytes);
        memset(e->group[g].inject_last, 0, bytes);
    }
}

/* Hand the gradients at chunk starts, if they were just run, to the ends of the chunks before. */
static size_t hand_on_gradients(engine *e)
{
    const size_t M = e->layout->dims.M, lanes = e->kernels->lanes;
    size_t handed = 0;
    clear_injections(e);
    for (size_t segment = 1; segment < e->segments; segment++) {
        const lane from = segment_lane(e, segment);
        if (from.chunk == 0 || !e->dirty[segment / lanes])
            continue;
        const lane to = segment_lane(e, segment - 1);
        const bool whole = to.end - to.begin == to.group->length;
        real *target = whole ? to.group->inject : to.group->inject_last;
        for (size_t m = 0; m < M; m++) {
            target[m * lanes + to.index] = from.group->border[m * lanes + from.index];
            handed += target[m * lanes + to.index] != 0;
        }
    }
    for (size_t g = 0; g < e->groups; g++) {
        e->dirty[g] = false;
        for (size_t i = 0; i < M * lanes; i++)
            e->dirty[g] |= e->group[g].inject[i] != 0 || e->group[g].inject_last[i] != 0;
    }
    return handed;
}

/* G gains w_0 x_0^T from every sequence whose first chunk was just run: z_0 = B+ x_0. */
static void add_first_states(const engine *e, const engine_problem *p, const real *const *x, double *sums)
{
    const size_t M = e->layout->dims.M, N = e->layout->dims.N, lanes = e->kernels->lanes;
    for (size_t segment = 0; segment < e->segments && p->teacher == ANT_TEACHER_FLOW; segment += e->chunks) {
        const lane a = segment_lane(e, segment);
        if (!e->dirty[segment / lanes])
            continue;
        for (size_t m = 0; m < M; m++) {
            for (size_t n = 0; n < N; n++)
                sums[e->layout->total + m * N + n] +=
                    (double)a.group->border[m * lanes + a.index] * (double)x[a.sequence][n];
        }
    }
}

/* All chunks side by side, then rounds of corrections. */
static void gradient_by_chunks(engine *e, const engine_problem *p, const real *const *x, double *sums,
                               ant_solve_report *report)
{
    clear_injections(e);
    for (size_t g = 0; g < e->groups; g++)
        e->dirty[g] = true;
    run_backward(e, p, true, 0.0);
    const double size = largest_size(e);
    for (;;) {
        add_first_states(e, p, x, sums);
        if (e->chunks == 1 || hand_on_gradients(e) == 0)
            break;
        run_backward(e, p, false, (double)REAL_EPSILON * size);
        size_t longest = 0;
        for (size_t g = 0; g < e->groups; g++)
            longest = e->dirty[g] && e->run[g].steps > longest ? e->run[g].steps : longest;
        report->repeated_steps += longest;
    }
}

void ANT_FN(ant_engine_gradient)(engine *e, const engine_problem *p, const real *const *x, double *sums,
                                 ant_solve_report *report)
{
    enum { SHORT = 32 }; /* a memory below T / SHORT: chunks cost less than one adjoint apart from its sums */
    const size_t count = ANT_FN(ant_sums_count)(e->layout);
    memset(e->sums, 0, e->slots * count * sizeof *e->sums);
    memset(sums, 0, count * sizeof *sums);
    const bool relay = e->relays && e->relay.again > e->T / SHORT;
    for (size_t slot = 0; slot < e->slots && e->kernels->open != NULL && !relay; slot++)
        e->kernels->open(&e->layout->dims, e->scratch + slot * e->scratch_count);
    if (relay) {
        ANT_FN(ant_relay_gradient)(e, p);
        e->dirty[0] = true;
        add_first_states(e, p, x, sums);
    } else {
        gradient_by_chunks(e, p, x, sums, report);
    }
#pragma omp parallel for schedule(static, 1) num_threads(e->threads) if (e->slots > 1)
    for (size_t slot = 0; slot < (e->kernels->close == NULL ? 0 : e->slots); slot++)
        e->kernels->close(p, e->packed, e->scratch + slot * e->scratch_count, e->sums + slot * count);
    for (size_t slot = 0; slot < e->slots; slot++) {
        for (size_t i = 0; i < count; i++)
            sums[i] += e->sums[slot * count + i];
    }
}

void ANT_FN(ant_engine_states)(const engine *e, size_t sequence, real *z)
{
    const size_t M = e->layout->dims.M, lanes = e->kernels->lanes;
    for (size_t chunk = 0; chunk < e->chunks; chunk++) {
        const lane a = segment_lane(e, sequence * e->chunks + chunk);
        for (size_t t = a.begin + 1; t <= a.end; t++) {
            const real *row = a.group->z + (t - a.begin) * M * lanes + a.index;
            if (e->kernels->leave != NULL)
                e->kernels->leave(&e->layout->dims, e->packed, row, z + (t - 1) * M);
            for (size_t m = 0; m < M && e->kernels->leave == NULL; m++)
                z[(t - 1) * M + m] = row[m * lanes];
        }
    }
}
