/*
 * two_threads_tmpl.c - two threads on one sequence, also where the model has a long memory.
 *
 * Forward, the first thread starts at 0 and the second at a border before T/2.  When the first thread reaches
 * the border, the second is far ahead; the first continues until it merges with the stored trajectory of the
 * second, and both end at about the same time.  How soon they merge depends on the state at which the second
 * thread starts.  Its forced directions are known from the data.  The others come from a pass in long steps
 * over the time before the border,
 *     z_{t+k} = z~_t + k (F(z~_t) - z~_t),    with full forcing by the mean of the data over the k steps,
 * which is accurate for slow units, and these are the ones that have a long memory.  The last rows before the
 * border matter most, so the long steps become shorter towards it.  The start changes only the amount of
 * work: if the first thread never merges, it computes all steps to T.
 *
 * Backward, the second thread computes the adjoint from T to 0 without a border and repeats no step; the
 * first thread adds the parameter gradients of each tile after it.
 *
 * The threads synchronise by counters of steps.  What each computes depends on these counters and never on
 * timing.  Only the errors of some rows are computed by whichever thread is free; each row is independent, so
 * their bits are the same.  Equal calls therefore give equal bits, also when OpenMP grants only one thread,
 * which then does both parts.
 */
#include "base/difference.h"
#include "base/machine.h"
#include "solve/shooting.h"

#include <string.h>

enum {
    SHORTEST = 2048, /* steps of a sequence that two threads share */
    PAST = 6560,     /* steps that the long ones cover */
    TRIED = 1024,    /* steps after which a model has forgotten its start, or has a long memory */
    EXPECTED = 4400, /* steps that merging and errors cost the first thread with a long memory */
    AT_ONCE = 512,   /* steps between two reads of the counters of the other thread */
};

/* The long steps: `count` of `length` each. */
static const struct {
    size_t length, count;
} levels[] = {{16, 320}, {8, 96}, {4, 96}, {2, 96}, {1, 96}};
enum { LEVELS = sizeof levels / sizeof *levels };

bool ANT_FN(ant_two_threads_fit)(const shooting *sh)
{
    return sh->kernels->advance != NULL && sh->batch == 1 && sh->segments == 2 && sh->T >= SHORTEST &&
           sh->leg == 0;
}

/* Long steps of a level: all of them, or fewer where they would cover more than a quarter of the sequence. */
static size_t count_at(const shooting *sh, size_t level)
{
    return sh->T / 4 < PAST ? levels[level].count * (sh->T / 4) / PAST : levels[level].count;
}

/* Steps before the border that all levels cover, and long steps in them. */
static size_t covered(const shooting *sh)
{
    size_t steps = 0;
    for (size_t k = 0; k < LEVELS; k++)
        steps += levels[k].length * count_at(sh, k);
    return steps;
}

static size_t long_steps(const shooting *sh)
{
    size_t count = 0;
    for (size_t k = 0; k < LEVELS; k++)
        count += count_at(sh, k);
    return count;
}

void ANT_FN(ant_two_threads_carve)(shooting *sh, ant_arena *arena)
{
    const ant_model_dims *d = &sh->layout->dims;
    const size_t steps = count_at(sh, 0);                /* the most of any level */
    const size_t slack = ANT_ARENA_ALIGN / sizeof(real); /* kernels read whole vectors of a last row */
    ANT_FN(ant_two_threads) *r = &sh->two;
    r->whole = ANT_FN(ant_group_carve)(sh, arena, sh->T);
    r->coarse = ANT_FN(ant_group_carve)(sh, arena, steps);
    r->coarse.own_x = ant_arena_take(arena, (steps + 1) * d->N, sizeof(real));
    r->coarse.own_s = ant_arena_take(arena, (steps + 1) * d->K, sizeof(real));
    r->packed = ant_arena_take(arena, sh->kernels->packed_count(d), sizeof(real));
    r->full = ant_arena_take(arena, steps + 2, sizeof *r->full);
    r->start = ant_arena_take(arena, 2 * d->M, sizeof(real));
    r->whole.v = ant_arena_take(arena, sh->T * d->M + slack, sizeof(real));
    r->whole.w = ant_arena_take(arena, sh->T * d->M + slack, sizeof(real));
}

/* ---- forward ------------------------------------------------------------------------------------- */

typedef struct forward {
    shooting *sh;
    const solve_call *p;
    double tolerance;
    bool attempt;
    size_t early, late; /* where the second thread may start: with a long memory, with a short one */
    pass_result met;    /* of the first thread, where it has merged */
    ant_counter border; /* where the second thread starts; 0: not known yet */
    ant_counter front;  /* rows that the second thread has finished */
    ant_counter bare;   /* first row whose error is still to be computed; 0: not known yet */
    atomic_bool refused;
} forward;

/*
 * Means of `length` rows each, over the values that are there; without any, the mean before.
 * from: (count * length, width), to: (count, width)
 */
static void average(const real *from, size_t count, size_t length, size_t width, real *to)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n < width; n++) {
            real sum = 0;
            size_t there = 0;
            for (size_t k = 0; k < length; k++) {
                const real value = from[(i * length + k) * width + n];
                sum += value == value ? value : 0; /* else NaN: missing */
                there += value == value;
            }
            const real before = i > 0 ? to[(i - 1) * width + n] : 0;
            to[i * width + n] = there > 0 ? sum / (real)there : before;
        }
    }
}

/* Data and inputs of one level, whose first step is from time `at`. */
static void load_coarse(shooting *sh, size_t level, size_t at)
{
    const ant_model_dims *d = &sh->layout->dims;
    const group *whole = &sh->two.whole;
    group *g = &sh->two.coarse;
    const size_t count = count_at(sh, level), length = levels[level].length;
    g->begin = 1; /* any time but 0, at which nothing is forced */
    g->length = count;
    g->x = g->own_x;
    g->s = g->own_s;
    average(whole->x + at * d->N, count, length, d->N, g->own_x);
    average(whole->x + (at + count * length) * d->N, 1, 1, d->N, g->own_x + count * d->N);
    average(whole->s + at * d->K, count, length, d->K, g->own_s);
}

/* z_bar at time t, in the kernel's coordinates. */
static void teacher_at(const shooting *sh, const solve_call *p, size_t t, real *spare, real *out)
{
    const group *whole = &sh->two.whole;
    if (whole->pattern != NULL && whole->pattern[t] != 0)
        ANT_FN(ant_patterns_make)(p->patterns, p->forcing, whole->pattern[t]);
    ANT_FN(ant_reference_teacher)(p, whole->pattern, t, whole->x + t * sh->layout->dims.N, spare);
    sh->kernels->enter(&sh->layout->dims, sh->packed, spare, out);
}

/* Long steps first .. last-1 of a level from `from`, which becomes the state after them. */
static void run_coarse(const shooting *sh, const solve_call *forced, size_t first, size_t last, real *from,
                       real *scratch)
{
    group g = sh->two.coarse;
    sh->kernels->advance(forced, sh->two.packed, &g, from, first, last, -1.0, false, scratch);
    memcpy(from, g.z + last * sh->layout->dims.M, sh->layout->dims.M * sizeof *from);
}

/*
 * The state at the early border by long steps, to two.start.  False as soon as the memory is known to be
 * short: passes from two starts end at the same state.
 */
static bool run_levels(forward *f, real *scratch)
{
    shooting *sh = f->sh;
    const ant_model_dims *d = &sh->layout->dims;
    real *start = sh->two.start, *other = start + d->M;
    solve_call forced = *f->p;
    for (size_t i = 0; i < count_at(sh, 0) + 2; i++)
        sh->two.full[i] = 1.0;
    forced.strength = sh->two.full;
    forced.warmup = sh->T; /* and no loss */
    size_t at = f->early - covered(sh);
    const size_t room = count_at(sh, 0), tried = TRIED / levels[0].length, some = tried < room ? tried : room;
    teacher_at(sh, f->p, at, other, start);
    for (size_t m = 0; m < d->M; m++)
        other[m] = start[m] + 1;
    memcpy(sh->two.packed, sh->packed, sh->kernels->packed_count(d) * sizeof *sh->packed);
    for (size_t k = 0; k < LEVELS; k++) {
        const double before = k == 0 ? 1.0 : (double)levels[k - 1].length;
        sh->kernels->lengthen(d, sh->two.packed, (double)levels[k].length / before);
        load_coarse(sh, k, at);
        if (k == 0) {
            run_coarse(sh, &forced, 0, some, other, scratch);
            run_coarse(sh, &forced, 0, some, start, scratch);
            ant_difference apart = {0};
            for (size_t m = 0; m < d->M; m++)
                ant_difference_add(&apart, (double)other[m], (double)start[m]);
            if (!(apart.largest > 1e-3 &&
                  apart.largest < 1e3)) /* above: the long steps are unstable, as the memory is short */
                return false;
        }
        run_coarse(sh, &forced, k == 0 ? some : 0, count_at(sh, k), start, scratch);
        at += count_at(sh, k) * levels[k].length;
    }
    return true;
}

/* Choose the border and find the state from which the second thread starts, to two.start. */
static size_t find_start(forward *f, real *scratch)
{
    const shooting *sh = f->sh;
    const size_t M = sh->layout->dims.M;
    real *start = sh->two.start, *other = start + M;
    const bool remembers = M > sh->layout->dims.N && run_levels(f, scratch);
    bool sane = remembers;
    for (size_t m = 0; m < M; m++)
        sane = sane && fabs((double)start[m]) < 1e3; /* else the long steps were too long */
    const size_t border = remembers ? f->early : f->late;
    if (!sane)
        teacher_at(sh, f->p, border, other, start);
    return border;
}

/* The second thread: from its start to T. */
static void run_late(forward *f)
{
    shooting *sh = f->sh;
    const size_t M = sh->layout->dims.M;
    real *scratch = sh->scratch + sh->scratch_count;
    const size_t border = find_start(f, scratch);
    ant_counter_set(&f->border, border);
    const real *from = sh->two.start;
    group g = sh->two.whole;
    if (border == f->early)
        g.error = NULL; /* run_errors computes them */
    for (size_t first = border; first < sh->T && !atomic_load(&f->refused);) {
        const size_t last = first + AT_ONCE < sh->T ? first + AT_ONCE : sh->T;
        const pass_result r =
            sh->kernels->advance(f->p, sh->packed, &g, from, first, last, -1.0, f->attempt, scratch);
        if (r.refused)
            atomic_store(&f->refused, true);
        from = g.z + last * M;
        first = last;
        ant_counter_set(&f->front, last);
    }
    ant_counter_set(&f->front, sh->T); /* also after a kernel has refused */
}

/* Steps first .. last-1 of the first thread; met.size becomes the largest state so far. */
static void run_steps(forward *f, size_t first, size_t last, double merge)
{
    shooting *sh = f->sh;
    const size_t M = sh->layout->dims.M;
    for (; first < last && !f->met.merged && !atomic_load(&f->refused); first += AT_ONCE) {
        const size_t end = first + AT_ONCE < last ? first + AT_ONCE : last;
        if (merge >= 0.0) /* the second thread starts its next steps from row `end`: it must have made them */
            ant_counter_wait(&f->front, end < sh->T ? end + 1 : end);
        const double size = f->met.size;
        f->met = sh->kernels->advance(f->p, sh->packed, &sh->two.whole, sh->two.whole.z + first * M, first,
                                      end, merge, f->attempt, sh->scratch);
        f->met.size = f->met.size <= size ? size : f->met.size;
        if (f->met.refused)
            atomic_store(&f->refused, true);
    }
}

/*
 * Errors of the rows after the merge, as soon as the second thread has finished them, by both threads: each
 * row is independent, so the result does not depend on which thread computes it.
 */
static void run_errors(forward *f)
{
    shooting *sh = f->sh;
    ant_counter_wait(&f->bare, 1);
    for (size_t first; (first = atomic_fetch_add(&f->bare.value, AT_ONCE)) <= sh->T;) {
        const size_t end = first + AT_ONCE <= sh->T ? first + AT_ONCE : sh->T + 1;
        ant_counter_wait(&f->front, end - 1);
        sh->kernels->observe(f->p, sh->packed, &sh->two.whole, first, end);
    }
}

/* The first thread: from 0 until it meets the second. */
static void run_early(forward *f)
{
    run_steps(f, 0, f->early, -1.0);
    const size_t border = ant_counter_wait(&f->border, 1);
    run_steps(f, f->early, border, -1.0);
    run_steps(f, border, f->sh->T, ANT_FN(ant_merge_tolerance)(f->met.size, f->tolerance));
    const bool left = border == f->early && f->met.merged;
    ant_counter_set(&f->bare, left ? f->met.steps : f->sh->T + 1);
}

/* None waits for a later one (team.h): one thread alone does them in turn. */
enum { FORWARD_PARTS = 4 };

static void forward_part(void *cookie, size_t part, size_t worker)
{
    (void)worker;
    if (part == 0)
        run_late(cookie);
    else if (part == 1)
        run_early(cookie);
    else
        run_errors(cookie); /* for each of both threads */
}

bool ANT_FN(ant_two_threads_forward)(shooting *sh, const solve_call *p, const real *x, const real *s,
                                     double tolerance, bool attempt, ant_solve_report *report)
{
    const size_t tile = sh->kernels->tile_steps, expected = sh->T / 4 < EXPECTED ? sh->T / 4 : EXPECTED;
    forward f = {.sh = sh,
                 .p = p,
                 .tolerance = tolerance,
                 .attempt = attempt,
                 .border = ANT_COUNTER_ZERO,
                 .front = ANT_COUNTER_ZERO,
                 .bare = ANT_COUNTER_ZERO};
    f.late = sh->T / 2 / tile * tile;
    f.early = (sh->T - expected + long_steps(sh)) / 2 / tile * tile;
    sh->two.whole.x = x;
    sh->two.whole.pattern = ANT_FN(ant_patterns_of)(p->patterns, 0);
    sh->two.whole.s = s == NULL ? sh->two.whole.own_s : s; /* without inputs: of no length */
    ant_team_run(sh->team, FORWARD_PARTS, forward_part, &f);
    if (f.refused)
        return false;
    sh->two.again = f.met.steps - atomic_load(&f.border.value);
    report->iterations = 1;
    report->repeated_steps += sh->two.again;
    report->last_change = fmax(report->last_change, f.met.merged ? f.met.difference : 0.0);
    return true;
}

/* ---- backward ------------------------------------------------------------------------------------ */

typedef struct backward {
    shooting *sh;
    const solve_call *p;
    pass_result adjoint;     /* steps from T to 0, or to where v has vanished */
    ant_counter made;        /* steps whose tiles are ready; SIZE_MAX after the last */
    atomic_bool joined;      /* another thread adds up the sums */
    pthread_mutex_t summing; /* held by the thread that does, with what follows */
    size_t end, since;       /* rows from `end` on are summed; steps since the last addition in double */
} backward;

/* The parameter gradients of the next finished tiles, several at a time; false: there are none yet. */
static bool sum_tiles(backward *b, size_t made)
{
    enum { MANY = 65536 }; /* steps between two additions of the sums in double */
    shooting *sh = b->sh;
    const size_t span = 2 * sh->kernels->tile_steps;
    size_t first = b->end == 0 ? 0 : (b->end - 1) / span * span;
    if (made < sh->T - first)
        return false;
    if (made == SIZE_MAX && first < sh->T - b->adjoint.steps)
        first = sh->T - b->adjoint.steps;
    if (first == b->end)
        return false;
    sh->kernels->gather(b->p, sh->packed, &sh->two.whole, first, b->end, sh->scratch);
    b->since += b->end - first;
    b->end = first;
    if (b->since > MANY) {
        sh->kernels->close(b->p, sh->packed, sh->scratch, sh->sums);
        sh->kernels->open(&sh->layout->dims, sh->scratch);
        b->since = 0;
    }
    return true;
}

/* The second thread: the adjoint, tile by tile.  As long as it is alone it adds up the sums as well, while
   the tiles are in the cache. */
static void run_adjoint(backward *b)
{
    shooting *sh = b->sh;
    const size_t tile = sh->kernels->tile_steps;
    real *scratch = sh->scratch + sh->scratch_count;
    sh->kernels->open(&sh->layout->dims, scratch);
    while (b->adjoint.steps < sh->T && !b->adjoint.merged) {
        const size_t end = sh->T - b->adjoint.steps, first = (end - 1) / tile * tile;
        sh->kernels->adjoint(b->p, sh->packed, &sh->two.whole, first, end, scratch, &b->adjoint);
        ant_counter_set(&b->made, b->adjoint.steps);
        if (!atomic_load(&b->joined) && pthread_mutex_trylock(&b->summing) == 0) {
            while (sum_tiles(b, b->adjoint.steps))
                ;
            pthread_mutex_unlock(&b->summing);
        }
    }
    ant_counter_set(&b->made, SIZE_MAX);
    sh->kernels->close(b->p, sh->packed, scratch, sh->sums + ANT_FN(ant_sums_count)(sh->layout));
}

/* The first thread: the sums of tiles as they become ready. */
static void run_sums(backward *b)
{
    const size_t T = b->sh->T, span = 2 * b->sh->kernels->tile_steps;
    atomic_store(&b->joined, true);
    pthread_mutex_lock(&b->summing);
    while (b->end > 0 && sum_tiles(b, ant_counter_wait(&b->made, T - (b->end - 1) / span * span)))
        ;
    b->sh->kernels->close(b->p, b->sh->packed, b->sh->scratch, b->sh->sums);
    pthread_mutex_unlock(&b->summing);
}

enum { BACKWARD_PARTS = 2 };

static void backward_part(void *cookie, size_t part, size_t worker)
{
    (void)worker;
    if (part == 0)
        run_adjoint(cookie);
    else
        run_sums(cookie);
}

void ANT_FN(ant_two_threads_gradient)(shooting *sh, const solve_call *p)
{
    const size_t bytes = sh->layout->dims.M * sizeof(real);
    memset(sh->two.whole.inject, 0, bytes);
    memset(sh->two.whole.inject_last, 0, bytes);
    backward b = {
        .sh = sh, .p = p, .made = ANT_COUNTER_ZERO, .summing = PTHREAD_MUTEX_INITIALIZER, .end = sh->T};
    sh->kernels->open(&sh->layout->dims, sh->scratch);
    ant_team_run(sh->team, BACKWARD_PARTS, backward_part, &b);
}
