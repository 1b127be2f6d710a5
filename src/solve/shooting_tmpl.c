/*
 * shooting_tmpl.c - segments, groups, and how the segments of a sequence are joined.
 *
 * Forward: every segment starts from z_bar at its border and computes its exact steps.  Then each segment
 * starts again from the end of the one before it, until it merges with its stored trajectory.  A segment that
 * does not merge has a new end, and the next segment starts again from there.  After r iterations the first
 * r+1 segments are exact, so the number of segments bounds the iterations.
 *
 * Backward: the adjoint is linear.  Every segment first computes it with gradient 0 at its end.  Then the
 * gradient at each border is propagated through the segment before it as a correction, until it has vanished.
 */
#include "base/machine.h"
#include "solve/scan.h"
#include "solve/shooting.h"

#include <stdatomic.h>
#include <string.h>

enum { JOIN_PARTS = 16 }; /* into which the sums of a slot are divided when threads add them up */

/* One pass over groups or slots, which threads share. */
typedef struct pass {
    shooting *sh;
    const solve_call *p;
    const real *const *x, *const *s;
    double merge, floor;
    int passes; /* forward, before this one */
    bool attempt, loss;
    atomic_bool refused;
} pass;

static real *scratch_of(const shooting *sh, size_t worker)
{
    return sh->scratch + worker * sh->scratch_count;
}

static size_t segment_begin(const shooting *sh, size_t segment)
{
    return ant_scan_border(sh->T, sh->segments, segment);
}

/* One lane of a group: which segment of which sequence. */
typedef struct lane {
    group *group;
    size_t index; /* of the lane within the group */
    size_t sequence, segment;
    size_t begin, end; /* its steps: begin .. end-1 of the sequence */
    bool idle;         /* a lane without segment copies segment 0 with weight 0 */
    bool own;          /* this rank computes it */
} lane;

static lane lane_at(const shooting *sh, size_t g, size_t index)
{
    const size_t own = g * sh->kernels->lanes + index, id = own < sh->total ? own : 0;
    const size_t segment = id % sh->segments;
    return (lane){.group = &sh->group[g],
                  .index = index,
                  .sequence = id / sh->segments,
                  .segment = segment,
                  .begin = segment_begin(sh, segment),
                  .end = segment_begin(sh, segment + 1),
                  .idle = own >= sh->total,
                  .own = ANT_FN(ant_group_is_own)(sh, g)};
}

static lane lane_of(const shooting *sh, size_t id)
{
    return lane_at(sh, id / sh->kernels->lanes, id % sh->kernels->lanes);
}

group ANT_FN(ant_group_carve)(const shooting *sh, ant_arena *arena, size_t length)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t lanes = sh->kernels->lanes, rows = (length + 1) * lanes;
    const size_t copied = lanes > 1 ? rows : 0; /* a single lane reads the caller's arrays */
    const size_t timed = sh->kernels->finds_strength ? 0 : rows, gaps = sh->gaps ? copied : 0;
    const size_t words = sh->kernels->mask_words == NULL ? 0 : sh->kernels->mask_words(d);
    const size_t slack = ANT_ARENA_ALIGN / sizeof(real); /* line kernels read whole vectors of a last row */
    return (group){.length = length,
                   .z = ant_arena_take(arena, rows * d->M + slack, sizeof(real)),
                   .forced = ant_arena_take(arena, rows * d->M + slack, sizeof(real)),
                   .error = ant_arena_take(arena, rows * d->N, sizeof(real)),
                   .own_x = ant_arena_take(arena, copied * d->N, sizeof(real)),
                   .own_s = ant_arena_take(arena, copied * d->K, sizeof(real)),
                   .own_pattern = ant_arena_take(arena, gaps, sizeof(uint32_t)),
                   .gappy = ant_arena_take(arena, gaps / lanes, sizeof(bool)),
                   .masks = ant_arena_take(arena, words * length, sizeof(uint64_t)),
                   .strength = ant_arena_take(arena, timed, sizeof(real)),
                   .weight = ant_arena_take(arena, timed, sizeof(real)),
                   .pulled = sh->pulls ? ant_arena_take(arena, length * d->M * lanes, sizeof(real)) : NULL,
                   .inject = ant_arena_take(arena, d->M * lanes, sizeof(real)),
                   .inject_last = ant_arena_take(arena, d->M * lanes, sizeof(real)),
                   .border = ant_arena_take(arena, d->M * lanes, sizeof(real)),
                   .map = ant_arena_take(arena, sh->joined ? d->M * d->M : 0, sizeof(real))};
}

/* A group where two threads share a sequence: its part of the memory of the whole, for the backward pass. */
static group part_of(const shooting *sh, size_t begin, group own)
{
    const ant_model_dims *d = &sh->layout->dims;
    const group *whole = &sh->two.whole;
    own.z = whole->z + begin * d->M;
    own.forced = whole->forced + begin * d->M;
    own.error = whole->error + begin * d->N;
    own.masks = whole->masks + begin * sh->kernels->mask_words(d);
    own.pulled = sh->pulls ? whole->pulled + begin * d->M : NULL;
    if (begin == 0)
        own.border = whole->border;
    return own;
}

/*
 * Groups of a slot, a power of 2: so many that the sums of a slot cost little beside its steps, but not so
 * many that few threads would have work.  At most SLOTS_FEW slots, or as many as segments of a sequence where
 * these are more, because each is meant for a worker of its own.  bytes: of scratch, which stays in the
 * cache.
 */
static size_t groups_in_slot(size_t groups, size_t length, size_t segments, size_t bytes)
{
    enum {
        STEPS_LEAST = 256,
        STEPS_LARGE = 2048,
        LARGE = 65536,
        SLOTS_LEAST = 4,
        SLOTS_FEW = 16,
        SLOTS_MOST = 1024
    };
    const size_t steps = bytes > LARGE ? STEPS_LARGE : STEPS_LEAST;
    const size_t most = segments < SLOTS_FEW ? SLOTS_FEW : segments < SLOTS_MOST ? segments : SLOTS_MOST;
    size_t count = 1;
    while (count * length < steps && 2 * count * SLOTS_LEAST <= groups)
        count *= 2;
    while (count * most < groups)
        count *= 2;
    return count;
}

/* Groups of other ranks have a start and a row beside it. */
static void carve_groups(shooting *sh, ant_arena *arena)
{
    const size_t length = segment_begin(sh, 1), kept = ANT_FN(ant_legs_of)(sh, length);
    const bool counting = sh->group == NULL;
    for (size_t g = 0; g < sh->groups; g++) {
        const bool far = !ANT_FN(ant_group_is_own)(sh, g);
        group own = ANT_FN(ant_group_carve)(sh, arena, sh->paired ? 0 : far ? 1 : kept);
        if (counting)
            continue;
        own.length = sh->paired ? 0 : length;
        sh->group[g] = sh->paired ? part_of(sh, segment_begin(sh, g), own) : own;
    }
}

void ANT_FN(ant_shooting_carve)(shooting *sh, ant_arena *arena)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t lanes = sh->kernels->lanes;
    sh->total = sh->batch * sh->segments;
    sh->groups = (sh->total + lanes - 1) / lanes;
    sh->scratch_count = (sh->kernels->scratch_count(d) + 63) / 64 * 64;
    const size_t sized = sh->kernels->slot_count == NULL ? sh->scratch_count : sh->kernels->slot_count(d);
    sh->in_slot = groups_in_slot(sh->groups, segment_begin(sh, 1), lanes > 1 ? 1 : sh->segments,
                                 (sized + 63) / 64 * 64 * sizeof *sh->scratch);
    sh->slots = (sh->groups + sh->in_slot - 1) / sh->in_slot;
    sh->paired = ANT_FN(ant_two_threads_fit)(sh);
    sh->joined = ANT_FN(ant_joins_fit)(sh);
    ANT_FN(ant_ranks_divide)(sh);
    const size_t workers = sh->groups < (size_t)sh->threads ? sh->groups : (size_t)sh->threads;
    const size_t kept = sh->kernels->join == NULL ? 1 : sh->slots; /* from pass to pass */
    const size_t scratches = workers > kept ? workers : kept;
    sh->group = ant_arena_take(arena, sh->groups, sizeof *sh->group);
    sh->result = ant_arena_take(arena, sh->groups, sizeof *sh->result);
    sh->dirty = ant_arena_take(arena, sh->groups, sizeof *sh->dirty);
    sh->square = ant_arena_take(arena, sh->groups, sizeof *sh->square);
    sh->leg_longest = segment_begin(sh, 1);
    sh->leg_square = ant_arena_take(
        arena, sh->leg == 0 ? 0 : sh->groups * ANT_FN(ant_legs_of)(sh, sh->leg_longest), sizeof *sh->square);
    sh->first = ant_arena_take(arena, sh->pulls ? sh->batch * d->M : 0, sizeof *sh->first);
    sh->turned = ant_arena_take(arena, 2 * d->M, sizeof *sh->turned);
    sh->packed = ant_arena_take(arena, sh->kernels->packed_count(d), sizeof *sh->packed);
    sh->scratch = ant_arena_take(arena, scratches * sh->scratch_count, sizeof *sh->scratch);
    sh->sums = ant_arena_take(arena, sh->slots * ANT_FN(ant_sums_count)(sh->layout), sizeof *sh->sums);
    if (sh->paired)
        ANT_FN(ant_two_threads_carve)(sh, arena);
    if (sh->joined)
        ANT_FN(ant_joins_carve)(sh, arena);
    if (sh->ranks.comm != NULL)
        ANT_FN(ant_ranks_carve)(sh, arena);
    if (sh->leg > 0)
        ANT_FN(ant_legs_carve)(sh, arena, workers);
    carve_groups(sh, arena);
}

/* Strengths, weights and the first guess of the start of one lane. */
static void lane_start(const shooting *sh, const solve_call *p, const real *x, const lane *a)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t lanes = sh->kernels->lanes;
    group *g = a->group;
    const bool timed = !sh->kernels->finds_strength && sh->leg == 0; /* a leg has its own times */
    for (size_t i = 0; i <= g->length && timed && a->own; i++) {
        const size_t t = a->begin + i;
        const bool counts = i > 0 && t <= a->end && t > sh->warmup && !a->idle;
        g->weight[i * lanes + a->index] = counts ? p->weight : 0;
        if (i < g->length)
            g->strength[i * lanes + a->index] = (real)p->strength[t];
    }
    const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, a->sequence);
    const bool whole = pattern == NULL || pattern[a->begin] == 0;
    const real *pinv = ANT_FN(ant_pinv_at)(p, pattern, a->begin), *row = x + a->begin * d->N;
    for (size_t m = 0; m < d->M; m++) {
        real sum = 0;
        for (size_t n = 0; n < d->N; n++)
            sum += whole || row[n] == row[n] ? pinv[m * d->N + n] * row[n] : 0;
        g->z[m * lanes + a->index] = sum;
    }
}

/* Copy the data of one lane into its column. */
static void lane_load(const shooting *sh, const real *x, const real *s, const lane *a)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t lanes = sh->kernels->lanes;
    group *g = a->group;
    for (size_t i = 0; i <= g->length; i++) {
        const size_t t = a->begin + i;
        const bool inside = t <= sh->T; /* a shorter segment at the end runs one idle step past T */
        for (size_t n = 0; n < d->N; n++)
            g->own_x[(i * d->N + n) * lanes + a->index] = inside ? x[t * d->N + n] : 0;
        for (size_t k = 0; k < d->K && i < g->length; k++)
            g->own_s[(i * d->K + k) * lanes + a->index] = t < sh->T ? s[t * d->K + k] : 0;
    }
    g->x = g->own_x;
    g->s = g->own_s;
}

/* Which rows of a group lack something.  Beyond T nothing is missing. */
static void load_patterns(const shooting *sh, const solve_call *p, size_t number)
{
    const size_t lanes = sh->kernels->lanes;
    group *g = &sh->group[number];
    g->pattern = NULL;
    for (size_t i = 0; i < lanes && lanes == 1; i++) {
        const lane a = lane_at(sh, number, i);
        const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, a.sequence);
        g->pattern = pattern == NULL ? NULL : pattern + a.begin;
    }
    if (lanes == 1)
        return;
    memset(g->gappy, 0, (g->length + 1) * sizeof *g->gappy);
    for (size_t i = 0; i < lanes; i++) {
        const lane a = lane_at(sh, number, i);
        const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, a.sequence);
        for (size_t k = 0; k <= g->length; k++) {
            const bool inside = pattern != NULL && a.begin + k <= sh->T;
            g->own_pattern[k * lanes + i] = inside ? pattern[a.begin + k] : 0;
            g->gappy[k] = g->gappy[k] || g->own_pattern[k * lanes + i] != 0;
        }
        g->pattern = pattern != NULL ? g->own_pattern : g->pattern;
    }
}

/* A single lane has its own length and reads the caller's arrays. */
static void line_load(const shooting *sh, const real *x, const real *s, const lane *a)
{
    const ant_model_dims *d = &sh->layout->dims;
    group *g = a->group;
    g->begin = a->begin;
    g->length = a->end - a->begin;
    g->x = x + a->begin * d->N;
    g->s = s == NULL ? g->own_s : s + a->begin * d->K; /* without inputs: of no length */
}

static void load_group(shooting *sh, const solve_call *p, const real *const *x, const real *const *s,
                       size_t g)
{
    for (size_t i = 0; i < sh->kernels->lanes; i++) {
        const lane a = lane_at(sh, g, i);
        const real *inputs = s == NULL ? NULL : s[a.sequence];
        if (sh->kernels->lanes > 1 && a.own)
            lane_load(sh, x[a.sequence], inputs, &a);
        else if (sh->kernels->lanes == 1)
            line_load(sh, x[a.sequence], inputs, &a);
        lane_start(sh, p, x[a.sequence], &a);
    }
    if (sh->gaps && ANT_FN(ant_group_is_own)(sh, g))
        load_patterns(sh, p, g);
    if (sh->kernels->enter != NULL) { /* in place: through a row that is not in use yet */
        real *z = sh->group[g].z, *other = z + sh->layout->dims.M;
        memcpy(other, z, sh->layout->dims.M * sizeof *z);
        sh->kernels->enter(&sh->layout->dims, sh->packed, other, z);
    }
    sh->dirty[g] = true;
}

/* Copy the ends of segments to the starts of the next; marks the groups that have to start again. */
static size_t pass_on_states(shooting *sh)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    size_t dirty = 0;
    memset(sh->dirty, 0, sh->groups * sizeof *sh->dirty);
    for (size_t id = sh->total; id-- > 1;) {
        const lane to = lane_of(sh, id);
        if (to.segment == 0)
            continue;
        const lane from = lane_of(sh, id - 1);
        const real *last = ANT_FN(ant_group_last)(sh, (id - 1) / lanes, from.end - from.begin) + from.index;
        real *first = to.group->z + to.index;
        for (size_t m = 0; m < M; m++) {
            if (memcmp(&first[m * lanes], &last[m * lanes], sizeof *first) != 0)
                sh->dirty[id / lanes] = true;
            first[m * lanes] = last[m * lanes];
        }
    }
    for (size_t g = 0; g < sh->groups; g++)
        dirty += sh->dirty[g];
    return dirty;
}

static void forward_group(void *cookie, size_t part, size_t worker)
{
    pass *a = cookie;
    shooting *sh = a->sh;
    const size_t g = sh->ranks.first + part;
    if (!sh->dirty[g] || atomic_load(&a->refused)) /* then no result of this pass is used */
        return;
    real *scratch = scratch_of(sh, worker);
    sh->result[g] =
        sh->leg > 0 ? ANT_FN(ant_legs_forward)(sh, a->p, g, a->merge, a->attempt, worker, scratch)
                    : sh->kernels->forward(a->p, sh->packed, &sh->group[g], a->merge, a->attempt, scratch);
    if (sh->result[g].refused)
        atomic_store(&a->refused, true);
    else if (sh->joined && !sh->result[g].merged) /* what has merged keeps the map of the rest */
        ANT_FN(ant_joins_derive)(sh, a->p, g, a->passes, scratch);
}

/* Forward pass of the marked groups; false when a kernel refused, on any rank. */
static bool run_forward(shooting *sh, const solve_call *p, double merge, int passes, bool attempt)
{
    pass a = {.sh = sh, .p = p, .merge = merge, .passes = passes, .attempt = attempt};
    ant_team_run(sh->team, sh->ranks.end - sh->ranks.first, forward_group, &a);
    bool refused = atomic_load(&a.refused);
    if (sh->ranks.comm == NULL)
        return !refused;
    ANT_FN(ant_ranks_share_forward)(sh);
    for (size_t g = 0; g < sh->groups; g++)
        refused = refused || (sh->dirty[g] && sh->result[g].refused);
    return !refused && ant_comm_check(sh->ranks.comm) == ANTLER_OK;
}

static void load_part(void *cookie, size_t g, size_t worker)
{
    const pass *a = cookie;
    (void)worker;
    load_group(a->sh, a->p, a->x, a->s, g);
}

/* B_o+ of the rows at which segments begin. */
static void make_first_pinvs(const shooting *sh, const solve_call *p)
{
    for (size_t id = 0; id < sh->total; id++) {
        const lane a = lane_of(sh, id);
        const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, a.sequence);
        if (pattern != NULL && pattern[a.begin] != 0)
            ANT_FN(ant_patterns_make)(p->patterns, p->forcing, pattern[a.begin]);
    }
}

/* Two threads on one sequence have little to load: the second one starts while the first already works. */
static void load(shooting *sh, const solve_call *p, const real *const *x, const real *const *s)
{
    pass a = {.sh = sh, .p = p, .x = x, .s = s};
    sh->kernels->pack(p, sh->packed);
    make_first_pinvs(sh, p);
    ant_team_run(sh->paired ? NULL : sh->team, sh->groups, load_part, &a);
}

/* The largest state or adjoint of the last iteration. */
static double largest_size(const shooting *sh)
{
    double size = 0.0;
    for (size_t g = 0; g < sh->groups; g++)
        size = fmax(size, sh->result[g].size);
    return size;
}

double ANT_FN(ant_merge_tolerance)(double size, double tolerance)
{
    const double rounding = 4.0 * (double)REAL_EPSILON * (isfinite(size) ? size : 1.0);
    return fmax(0.01 * tolerance, rounding);
}

/* Enter the last iteration into the report; false when a group did not merge. */
static bool note_iteration(const shooting *sh, ant_solve_report *report)
{
    size_t longest = 0;
    bool merged = true;
    for (size_t g = 0; g < sh->groups; g++) {
        if (!sh->dirty[g])
            continue;
        longest = sh->result[g].steps > longest ? sh->result[g].steps : longest;
        merged = merged && sh->result[g].merged;
        if (sh->result[g].merged)
            report->last_change = fmax(report->last_change, sh->result[g].difference);
    }
    report->iterations++;
    report->repeated_steps += longest;
    return merged;
}

bool ANT_FN(ant_shooting_forward)(shooting *sh, const solve_call *p, const real *const *x,
                                  const real *const *s, const ant_solve_options *options, bool attempt,
                                  ant_solve_report *report)
{
    load(sh, p, x, s);
    sh->call = *p;
    if (sh->paired)
        return ANT_FN(ant_two_threads_forward)(sh, p, x[0], s == NULL ? NULL : s[0], options->tolerance,
                                               attempt, report);
    if (!run_forward(sh, p, -1.0, 0, attempt))
        return false;
    if (sh->segments == 1)
        return true;
    const double size = largest_size(sh), merge = ANT_FN(ant_merge_tolerance)(size, options->tolerance);
    const double allowed = ANT_FN(ant_join_tolerance)(size, options->tolerance);
    double jump = 0.0;
    while ((sh->joined ? ANT_FN(ant_joins_states)(sh, size, allowed, &jump) : pass_on_states(sh)) > 0) {
        if (report->iterations == options->max_iterations && report->outcome == ANTLER_OK) {
            report->outcome = ANTLER_NOT_CONVERGED;
            if (!options->fallback)
                return true;
            report->fallbacks = sh->batch; /* the remaining iterations give the sequential solution */
        }
        if (!run_forward(sh, p, merge, report->iterations + 1, attempt))
            return false;
        if (!note_iteration(sh, report) && attempt && sh->kernels->lanes > 1)
            return false;
    }
    report->last_change = fmax(report->last_change, jump);
    return true;
}

static void square_group(void *cookie, size_t part, size_t worker)
{
    const pass *a = cookie;
    const size_t g = a->sh->ranks.first + part;
    (void)worker;
    a->sh->square[g] =
        a->sh->leg > 0 ? ANT_FN(ant_legs_square)(a->sh, g) : a->sh->kernels->square(a->p, &a->sh->group[g]);
}

double ANT_FN(ant_shooting_square)(shooting *sh, const solve_call *p)
{
    pass a = {.sh = sh, .p = p};
    double sum = 0.0;
    ant_team_run(sh->team, sh->ranks.end - sh->ranks.first, square_group, &a);
    ANT_FN(ant_ranks_share_squares)(sh);
    for (size_t g = 0; g < sh->groups; g++)
        sum += sh->square[g];
    return sum;
}

/* Backward pass of the marked groups of one slot; after MANY steps the sums of a kernel are added in double.
 */
static void backward_slot(void *cookie, size_t part, size_t worker)
{
    enum { MANY = 65536 }; /* steps */
    const pass *a = cookie;
    shooting *sh = a->sh;
    const size_t slot = sh->ranks.first_slot + part;
    const ANT_FN(ant_kernels) *k = sh->kernels;
    const size_t first = slot * sh->in_slot, end = first + sh->in_slot;
    double *sums = sh->sums + slot * ANT_FN(ant_sums_count)(sh->layout);
    real *scratch = scratch_of(sh, k->join == NULL ? worker : slot);
    size_t steps = 0;
    if (a->loss) /* the first pass */
        memset(sums, 0, ANT_FN(ant_sums_count)(sh->layout) * sizeof *sums);
    if (k->open != NULL && a->loss)
        k->open(&sh->layout->dims, scratch);
    for (size_t g = first; g < end && g < sh->groups; g++) {
        if (!sh->dirty[g])
            continue;
        sh->result[g] = sh->leg > 0
                            ? ANT_FN(ant_legs_backward)(sh, a->p, g, a->loss, a->floor, worker, scratch, sums)
                            : k->backward(a->p, sh->packed, &sh->group[g], a->loss, a->floor, scratch, sums);
        steps += sh->result[g].steps;
        if (steps > MANY && k->close != NULL) {
            k->close(a->p, sh->packed, scratch, sums);
            k->open(&sh->layout->dims, scratch);
            steps = 0;
        }
    }
}

/* Backward pass of the marked groups; with `loss` of all groups, from gradient 0 at their ends. */
static void run_backward(shooting *sh, const solve_call *p, bool loss, double floor)
{
    pass a = {.sh = sh, .p = p, .loss = loss, .floor = floor};
    ant_team_run(sh->team, sh->ranks.slots, backward_slot, &a);
    ANT_FN(ant_ranks_share_backward)(sh);
}

/* Clear what is injected at the ends of all segments. */
static void clear_injections(shooting *sh)
{
    const size_t bytes = sh->layout->dims.M * sh->kernels->lanes * sizeof(real);
    for (size_t g = 0; g < sh->groups; g++) {
        memset(sh->group[g].inject, 0, bytes);
        memset(sh->group[g].inject_last, 0, bytes);
    }
}

/* Copy the gradients at the starts of segments of the last pass to the ends of the segments before them. */
static size_t pass_on_gradients(shooting *sh)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    size_t handed = 0;
    clear_injections(sh);
    for (size_t id = 1; id < sh->total; id++) {
        const lane from = lane_of(sh, id);
        if (from.segment == 0 || !sh->dirty[id / lanes])
            continue;
        const lane to = lane_of(sh, id - 1);
        const bool whole = to.end - to.begin == to.group->length;
        real *target = whole ? to.group->inject : to.group->inject_last;
        for (size_t m = 0; m < M; m++) {
            target[m * lanes + to.index] = from.group->border[m * lanes + from.index];
            handed += target[m * lanes + to.index] != 0;
        }
    }
    for (size_t g = 0; g < sh->groups; g++) {
        sh->dirty[g] = false;
        for (size_t i = 0; i < M * lanes; i++)
            sh->dirty[g] |= sh->group[g].inject[i] != 0 || sh->group[g].inject_last[i] != 0;
    }
    return handed;
}

/* What z_0 = B_o+ x_o of an incomplete row 0 gives to dB.  x: (N) */
static void add_incomplete_state(const shooting *sh, const solve_call *p, const lane *a, uint32_t pattern,
                                 const real *x, double *sums)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    real *w = p->patterns->terms, *rest = w + M;
    for (size_t m = 0; m < M; m++)
        w[m] = a->group->border[m * lanes + a->index];
    ANT_FN(ant_pattern_add)(p->patterns, pattern, p->forcing->B, w, x, 1.0, rest, sums + sh->layout->B);
}

/* Add w_0 x_0^T to G for every sequence whose first segment was in the last pass: z_0 = B+ x_0. */
static void add_first_states(const shooting *sh, const solve_call *p, const real *const *x, double *sums)
{
    const size_t M = sh->layout->dims.M, N = sh->layout->dims.N, lanes = sh->kernels->lanes;
    for (size_t id = 0; id < sh->total && p->teacher == ANT_TEACHER_FLOW; id += sh->segments) {
        const lane a = lane_of(sh, id);
        if (!sh->dirty[id / lanes])
            continue;
        const uint32_t *pattern = ANT_FN(ant_patterns_of)(p->patterns, a.sequence);
        if (pattern != NULL && pattern[0] != 0) {
            add_incomplete_state(sh, p, &a, pattern[0], x[a.sequence], sums);
            continue;
        }
        for (size_t m = 0; m < M; m++) {
            const real border = a.group->border[m * lanes + a.index];
            for (size_t n = 0; n < N; n++)
                sums[sh->layout->total + m * N + n] += (double)border * (double)x[a.sequence][n];
            if (sh->pulls)
                sh->first[a.sequence * M + m] += border;
        }
    }
}

/* All segments in parallel, then iterations of corrections. */
static void gradient_by_segments(shooting *sh, const solve_call *p, const real *const *x, double *sums,
                                 ant_solve_report *report)
{
    clear_injections(sh);
    for (size_t g = 0; g < sh->groups; g++)
        sh->dirty[g] = true;
    run_backward(sh, p, true, 0.0);
    const double size = largest_size(sh);
    if (sh->joined)
        ANT_FN(ant_joins_open)(sh);
    for (size_t passes = 0;; passes++) {
        add_first_states(sh, p, x, sums);
        if (sh->segments == 1 || passes == sh->segments)
            break;
        if (sh->joined ? !ANT_FN(ant_joins_gradients)(sh, size) : pass_on_gradients(sh) == 0)
            break;
        run_backward(sh, p, false, (double)REAL_EPSILON * size);
        size_t longest = 0;
        for (size_t g = 0; g < sh->groups; g++)
            longest = sh->dirty[g] && sh->result[g].steps > longest ? sh->result[g].steps : longest;
        report->repeated_steps += longest;
    }
}

/* One part of what kernels have summed in the scratch of slots, to the first: slot after slot. */
static void join_part(void *cookie, size_t part, size_t worker)
{
    const pass *a = cookie;
    const shooting *sh = a->sh;
    (void)worker;
    for (size_t slot = 1; slot < sh->slots; slot++)
        sh->kernels->join(&sh->layout->dims, sh->scratch, scratch_of(sh, slot), part, JOIN_PARTS);
}

/* What kernels have summed in the scratch of slots, to the sums of the first. */
static void close_slots(shooting *sh, const solve_call *p)
{
    const ANT_FN(ant_kernels) *k = sh->kernels;
    pass a = {.sh = sh, .p = p};
    if (k->join != NULL && sh->slots > 1)
        ant_team_run(sh->team, JOIN_PARTS, join_part, &a);
    if (k->close != NULL)
        k->close(p, sh->packed, sh->scratch, sh->sums);
}

/* Clear the rows of a w. */
static void clear_pulled(const shooting *sh)
{
    const size_t row = sh->layout->dims.M * sh->kernels->lanes;
    memset(sh->first, 0, sh->batch * sh->layout->dims.M * sizeof *sh->first);
    for (size_t g = 0; g < sh->groups; g++)
        memset(sh->group[g].pulled, 0, sh->group[g].length * row * sizeof *sh->group[g].pulled);
}

void ANT_FN(ant_shooting_gradient)(shooting *sh, const solve_call *p, const real *const *x, double *sums,
                                   ant_solve_report *report)
{
    enum { SHORT = 32 }; /* with fewer than T / SHORT repeated steps, segments are cheaper than one adjoint */
    const size_t count = ANT_FN(ant_sums_count)(sh->layout);
    memset(sums, 0, count * sizeof *sums);
    if (sh->pulls)
        clear_pulled(sh);
    if (sh->paired && sh->two.again > sh->T / SHORT) {
        memset(sh->sums, 0, sh->slots * count * sizeof *sh->sums);
        ANT_FN(ant_two_threads_gradient)(sh, p);
        sh->dirty[0] = true;
        add_first_states(sh, p, x, sums);
    } else {
        gradient_by_segments(sh, p, x, sums, report);
        ANT_FN(ant_ranks_share_sums)(sh);
        close_slots(sh, p);
    }
    for (size_t slot = 0; slot < sh->slots; slot++) {
        for (size_t i = 0; i < count; i++)
            sums[i] += sh->sums[slot * count + i];
    }
}

void ANT_FN(ant_shooting_states)(const shooting *sh, size_t sequence, real *z)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    for (size_t segment = 0; segment < sh->segments; segment++) {
        const lane a = lane_of(sh, sequence * sh->segments + segment);
        if (sh->leg > 0 && a.own)
            ANT_FN(ant_legs_states)(sh, &sh->call, sequence * sh->segments + segment, z + a.begin * M);
        for (size_t t = a.begin + 1; t <= a.end && a.own && sh->leg == 0; t++) {
            const real *row = a.group->z + (t - a.begin) * M * lanes + a.index;
            if (sh->kernels->leave != NULL)
                sh->kernels->leave(&sh->layout->dims, sh->packed, row, z + (t - 1) * M);
            for (size_t m = 0; m < M && sh->kernels->leave == NULL; m++)
                z[(t - 1) * M + m] = row[m * lanes];
        }
    }
}

/* One row of M reals out of its lane. */
static void take_row(size_t M, size_t lanes, const real *row, real *out)
{
    for (size_t m = 0; m < M; m++)
        out[m] = row[m * lanes];
}

void ANT_FN(ant_shooting_rows)(const shooting *sh, size_t sequence, real *z, real *pulled)
{
    const size_t M = sh->layout->dims.M, lanes = sh->kernels->lanes;
    for (size_t segment = 0; segment < sh->segments; segment++) {
        const lane a = lane_of(sh, sequence * sh->segments + segment);
        for (size_t t = a.begin; t < a.end; t++) {
            const size_t row = (t - a.begin) * M * lanes + a.index;
            take_row(M, lanes, a.group->z + row + M * lanes, z + t * M);
            if (pulled != NULL)
                take_row(M, lanes, a.group->pulled + row, pulled + t * M);
        }
    }
}

void ANT_FN(ant_shooting_errors)(const shooting *sh, size_t sequence, real *errors)
{
    const size_t N = sh->layout->dims.N, lanes = sh->kernels->lanes;
    for (size_t segment = 0; segment < sh->segments; segment++) {
        const lane a = lane_of(sh, sequence * sh->segments + segment);
        for (size_t t = a.begin + 1; t <= a.end; t++)
            take_row(N, lanes, a.group->error + (t - a.begin) * N * lanes + a.index, errors + t * N);
    }
}

void ANT_FN(ant_shooting_set_errors)(shooting *sh, size_t sequence, const real *errors)
{
    const size_t N = sh->layout->dims.N, lanes = sh->kernels->lanes;
    for (size_t segment = 0; segment < sh->segments; segment++) {
        const lane a = lane_of(sh, sequence * sh->segments + segment);
        for (size_t t = a.begin + 1; t <= a.end; t++) {
            real *row = a.group->error + (t - a.begin) * N * lanes + a.index;
            for (size_t n = 0; n < N; n++)
                row[n * lanes] = errors[t * N + n];
        }
    }
}

void ANT_FN(ant_shooting_turn)(const shooting *sh, real *turn)
{
    const size_t M = sh->layout->dims.M;
    for (size_t k = 0; k < M; k++) {
        real *unit = sh->turned, *column = unit + M;
        for (size_t m = 0; m < M; m++)
            unit[m] = column[m] = m == k;
        if (sh->kernels->leave != NULL)
            sh->kernels->leave(&sh->layout->dims, sh->packed, unit, column);
        for (size_t m = 0; m < M; m++)
            turn[m * M + k] = column[m];
    }
}
