/*
 * two_threads_tmpl.c - two threads on one sequence, also where the model remembers for long.
 *
 * Forward, the first thread starts at 0 and the second at a border before T/2, at which the first arrives
 * when the second is far ahead; the first then goes on until it has merged with what the second has left,
 * and both are done at about the same time.  What the second starts from decides how long that takes: forced
 * directions are known from the data, the others are found by a run in long steps over the time before,
 *     z_{t+k} = z~_t + k (F(z~_t) - z~_t),    with full forcing by the mean of the data over the k steps,
 * which is right for what changes slowly, and that is what is remembered for long.  What happened last
 * matters most, so the steps become shorter towards the border.  The start changes nothing but the work: if
 * the first thread never merges, it runs to T.
 *
 * Backward, the second thread runs the adjoint from T without cuts and repeats nothing; the first takes the
 * parameter sums of each tile after it.
 *
 * Threads wait for each other by counters of steps, and what each does depends on these counts only, never on
 * time, but for errors, whose bits are the same whoever finds them: the same call gives the same bits, also
 * when OpenMP grants one thread, which then does both parts.
 */
#include "solve/shooting.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

typedef ANT_FN(ant_engine) engine;
typedef ANT_FN(ant_group) group;
typedef ANT_FN(ant_run) run;
typedef ANT_FN(ant_problem) relay_problem;

enum {
    SHORTEST = 2048, /* sequence that is shared */
    PAST = 6560,     /* steps that the long ones cover */
    TRIED = 1024,    /* after so many the model has forgotten where it started, or it remembers for long */
    EXPECTED = 4400, /* steps that merging and errors cost the first thread, where the memory is long */
    BLOCK = 512,     /* steps between two looks at what the other thread does */
};

/* The long steps: `count` of `length` each. */
static const struct {
    size_t length, count;
} levels[] = {{16, 320}, {8, 96}, {4, 96}, {2, 96}, {1, 96}};
enum { LEVELS = sizeof levels / sizeof *levels };

bool ANT_FN(ant_relay_fits)(const engine *e)
{
    return e->kernels->advance != NULL && e->batch == 1 && e->chunks == 2 && e->threads > 1 &&
           e->T >= SHORTEST;
}

/* Long steps of a level: all of them, or as many as a quarter of the sequence has room for. */
static size_t count_at(const engine *e, size_t level)
{
    return e->T / 4 < PAST ? levels[level].count * (e->T / 4) / PAST : levels[level].count;
}

/* Steps before the border that all levels cover, and long steps in them. */
static size_t covered(const engine *e)
{
    size_t steps = 0;
    for (size_t k = 0; k < LEVELS; k++)
        steps += levels[k].length * count_at(e, k);
    return steps;
}

static size_t long_steps(const engine *e)
{
    size_t count = 0;
    for (size_t k = 0; k < LEVELS; k++)
        count += count_at(e, k);
    return count;
}

void ANT_FN(ant_relay_carve)(engine *e, ant_arena *arena)
{
    const ant_model_dims *d = &e->layout->dims;
    const size_t steps = count_at(e, 0);                 /* the most of any level */
    const size_t slack = ANT_ARENA_ALIGN / sizeof(real); /* kernels read whole vectors of a last row */
    ANT_FN(ant_relay) *r = &e->relay;
    r->whole = ANT_FN(ant_group_carve)(e, arena, e->T);
    r->coarse = ANT_FN(ant_group_carve)(e, arena, steps);
    r->coarse.own_x = ant_arena_take(arena, (steps + 1) * d->N, sizeof(real));
    r->coarse.own_s = ant_arena_take(arena, (steps + 1) * d->K, sizeof(real));
    r->packed = ant_arena_take(arena, e->kernels->packed_count(d), sizeof(real));
    r->start = ant_arena_take(arena, 2 * d->M, sizeof(real));
    r->whole.v = ant_arena_take(arena, e->T * d->M + slack, sizeof(real));
    r->whole.w = ant_arena_take(arena, e->T * d->M + slack, sizeof(real));
}

/* Spin until the counter has come to `least`; its thread may have to be let onto the core first. */
static size_t wait_for(atomic_size_t *counter, size_t least)
{
    size_t value, spins = 0;
    while ((value = atomic_load_explicit(counter, memory_order_acquire)) < least) {
        if (++spins % 1024 == 0)
            sched_yield();
    }
    return value;
}

/* ---- forward ------------------------------------------------------------------------------------- */

typedef struct forward {
    engine *e;
    const relay_problem *p;
    double tolerance;
    bool trial;
    size_t early, late;   /* where the second thread may start: with a long memory, with a short one */
    run met;              /* of the first thread, where it has merged */
    atomic_size_t border; /* where it does start; 0: not known yet */
    atomic_size_t front;  /* rows up to which it has come */
    atomic_size_t bare;   /* first row whose error nobody has taken; 0: the first thread is not done yet */
    atomic_bool refused;
} forward;

/* Means of `length` rows each.  from: (count * length, width), to: (count, width) */
static void average(const real *from, size_t count, size_t length, size_t width, real *to)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n < width; n++) {
            real sum = 0;
            for (size_t k = 0; k < length; k++)
                sum += from[(i * length + k) * width + n];
            to[i * width + n] = sum / (real)length;
        }
    }
}

/* Data and inputs of one level, whose first step is from time `at`. */
static void load_coarse(engine *e, size_t level, size_t at)
{
    const ant_model_dims *d = &e->layout->dims;
    const group *whole = &e->relay.whole;
    group *g = &e->relay.coarse;
    const size_t count = count_at(e, level), length = levels[level].length;
    g->begin = 1; /* any time but 0, at which nothing is forced */
    g->length = count;
    g->x = g->own_x;
    g->s = g->own_s;
    average(whole->x + at * d->N, count, length, d->N, g->own_x);
    average(whole->x + (at + count * length) * d->N, 1, 1, d->N, g->own_x + count * d->N);
    average(whole->s + at * d->K, count, length, d->K, g->own_s);
}

/* z_bar at time t, in the kernel's coordinates. */
static void teacher_at(const engine *e, const relay_problem *p, size_t t, real *spare, real *out)
{
    ANT_FN(ant_reference_teacher)(p, e->relay.whole.x + t * e->layout->dims.N, spare);
    e->kernels->enter(&e->layout->dims, e->packed, spare, out);
}

static double largest_gap(const real *a, const real *b, size_t count)
{
    double top = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double gap = fabs((double)a[i] - (double)b[i]);
        top = gap <= top ? top : gap; /* NaN passes */
    }
    return top;
}

/* Long steps first .. last-1 of a level from `from`, which becomes the state after them. */
static void run_coarse(const engine *e, const relay_problem *forced, size_t first, size_t last, real *from,
                       real *scratch)
{
    group g = e->relay.coarse;
    e->kernels->advance(forced, e->relay.packed, &g, from, first, last, -1.0, false, scratch);
    memcpy(from, g.z + last * e->layout->dims.M, e->layout->dims.M * sizeof *from);
}

/*
 * The state at the early border by long steps, to relay.start; false as soon as it is clear that the model
 * does not remember for long: two starts end at the same state.
 */
static bool run_levels(forward *f, real *scratch)
{
    engine *e = f->e;
    const ant_model_dims *d = &e->layout->dims;
    real *start = e->relay.start, *other = start + d->M;
    relay_problem forced = *f->p;
    forced.warmup = e->T; /* full forcing throughout */
    size_t at = f->early - covered(e);
    const size_t room = count_at(e, 0), tried = TRIED / levels[0].length, some = tried < room ? tried : room;
    teacher_at(e, f->p, at, other, start);
    for (size_t m = 0; m < d->M; m++)
        other[m] = start[m] + 1;
    memcpy(e->relay.packed, e->packed, e->kernels->packed_count(d) * sizeof *e->packed);
    for (size_t k = 0; k < LEVELS; k++) {
        const double before = k == 0 ? 1.0 : (double)levels[k - 1].length;
        e->kernels->lengthen(d, e->relay.packed, (double)levels[k].length / before);
        load_coarse(e, k, at);
        if (k == 0) {
            run_coarse(e, &forced, 0, some, other, scratch);
            run_coarse(e, &forced, 0, some, start, scratch);
            const double gap = largest_gap(other, start, d->M);
            if (!(gap > 1e-3 && gap < 1e3)) /* above: unstable, as units forget within a few steps */
                return false;
        }
        run_coarse(e, &forced, k == 0 ? some : 0, count_at(e, k), start, scratch);
        at += count_at(e, k) * levels[k].length;
    }
    return true;
}

/* Choose the border and find the state from which the second thread starts, to relay.start. */
static size_t find_start(forward *f, real *scratch)
{
    const engine *e = f->e;
    const size_t M = e->layout->dims.M;
    real *start = e->relay.start, *other = start + M;
    const bool remembers = M > e->layout->dims.N && run_levels(f, scratch);
    bool sane = remembers;
    for (size_t m = 0; m < M; m++)
        sane = sane && fabs((double)start[m]) < 1e3; /* else the long steps were too long */
    const size_t border = remembers ? f->early : f->late;
    if (!sane)
        teacher_at(e, f->p, border, other, start);
    return border;
}

/* The second thread: from its start to T. */
static void run_late(forward *f)
{
    engine *e = f->e;
    const size_t M = e->layout->dims.M;
    real *scratch = e->scratch + e->scratch_count;
    const size_t border = find_start(f, scratch);
    atomic_store_explicit(&f->border, border, memory_order_release);
    const real *from = e->relay.start;
    group g = e->relay.whole;
    if (border == f->early)
        g.error = NULL; /* whoever is done first begins with them */
    for (size_t first = border; first < e->T && !atomic_load(&f->refused);) {
        const size_t last = first + BLOCK < e->T ? first + BLOCK : e->T;
        const run r = e->kernels->advance(f->p, e->packed, &g, from, first, last, -1.0, f->trial, scratch);
        if (r.refused)
            atomic_store(&f->refused, true);
        from = g.z + last * M;
        first = last;
        atomic_store_explicit(&f->front, last, memory_order_release);
    }
    atomic_store_explicit(&f->front, e->T,
                          memory_order_release); /* also when the first thread need not wait */
}

/* Steps first .. last-1 of the first thread; the largest state so far is kept. */
static void run_blocks(forward *f, size_t first, size_t last, double merge)
{
    engine *e = f->e;
    const size_t M = e->layout->dims.M;
    for (; first < last && !f->met.merged && !atomic_load(&f->refused); first += BLOCK) {
        const size_t end = first + BLOCK < last ? first + BLOCK : last;
        if (merge >= 0.0)
            wait_for(&f->front, end);
        const double size = f->met.size;
        f->met = e->kernels->advance(f->p, e->packed, &e->relay.whole, e->relay.whole.z + first * M, first,
                                     end, merge, f->trial, e->scratch);
        f->met.size = f->met.size <= size ? size : f->met.size;
        if (f->met.refused)
            atomic_store(&f->refused, true);
    }
}

/*
 * Errors of the rows from where the first thread has merged, as the second comes to them, by both threads:
 * every row stands for itself, so it does not matter which of them takes it.
 */
static void run_errors(forward *f)
{
    engine *e = f->e;
    wait_for(&f->bare, 1);
    for (size_t first; (first = atomic_fetch_add(&f->bare, BLOCK)) <= e->T;) {
        const size_t end = first + BLOCK <= e->T ? first + BLOCK : e->T + 1;
        wait_for(&f->front, end - 1);
        e->kernels->observe(f->p, e->packed, &e->relay.whole, first, end);
    }
}

/* The first thread: from 0 until it meets the second. */
static void run_early(forward *f)
{
    run_blocks(f, 0, f->early, -1.0);
    const size_t border = wait_for(&f->border, 1);
    run_blocks(f, f->early, border, -1.0);
    run_blocks(f, border, f->e->T, ANT_FN(ant_merge_tolerance)(f->met.size, f->tolerance));
    const bool left = border == f->early && f->met.merged;
    atomic_store_explicit(&f->bare, left ? f->met.steps : f->e->T + 1, memory_order_release);
}

bool ANT_FN(ant_relay_forward)(engine *e, const relay_problem *p, const real *x, const real *s,
                               double tolerance, bool trial, ant_solve_report *report)
{
    const size_t stretch = e->kernels->stretch, expected = e->T / 4 < EXPECTED ? e->T / 4 : EXPECTED;
    forward f = {.e = e, .p = p, .tolerance = tolerance, .trial = trial};
    f.late = e->T / 2 / stretch * stretch;
    f.early = (e->T - expected + long_steps(e)) / 2 / stretch * stretch;
    e->relay.whole.x = x;
    e->relay.whole.s = s == NULL ? e->relay.whole.own_s : s; /* without inputs: of no length */
#pragma omp parallel num_threads(2)
    {
        const bool alone = omp_get_num_threads() == 1;
        if (alone || omp_get_thread_num() == 1)
            run_late(&f);
        if (omp_get_thread_num() == 0)
            run_early(&f);
        run_errors(&f);
    }
    if (f.refused)
        return false;
    e->relay.again = f.met.steps - f.border;
    report->iterations = 1;
    report->repeated_steps += e->relay.again;
    report->last_change = fmax(report->last_change, f.met.merged ? f.met.gap : 0.0);
    return true;
}

/* ---- backward ------------------------------------------------------------------------------------ */

typedef struct backward {
    engine *e;
    const relay_problem *p;
    run adjoint;        /* of the second thread: its steps go from T to 0, or to where the adjoint has died */
    atomic_size_t made; /* steps whose tiles are ready; SIZE_MAX after the last */
} backward;

/* The second thread: the adjoint, tile by tile. */
static void run_adjoint(backward *b)
{
    engine *e = b->e;
    const size_t stretch = e->kernels->stretch;
    real *scratch = e->scratch + e->scratch_count;
    e->kernels->open(&e->layout->dims, scratch);
    while (b->adjoint.steps < e->T && !b->adjoint.merged) {
        const size_t end = e->T - b->adjoint.steps, first = (end - 1) / stretch * stretch;
        e->kernels->adjoint(b->p, e->packed, &e->relay.whole, first, end, scratch, &b->adjoint);
        atomic_store_explicit(&b->made, b->adjoint.steps, memory_order_release);
    }
    atomic_store_explicit(&b->made, SIZE_MAX, memory_order_release);
}

/* The first thread: the sums of what the adjoint has left behind, several tiles at a time. */
static void run_sums(backward *b)
{
    enum { MANY = 65536 }; /* steps between two additions of the sums in double */
    engine *e = b->e;
    const size_t span = 2 * e->kernels->stretch;
    size_t since = 0;
    e->kernels->open(&e->layout->dims, e->scratch);
    for (size_t end = e->T, first; end > 0; end = first) {
        first = (end - 1) / span * span;
        const bool last = wait_for(&b->made, e->T - first) == SIZE_MAX;
        if (last && first < e->T - b->adjoint.steps)
            first = e->T - b->adjoint.steps;
        if (first == end)
            break;
        e->kernels->gather(b->p, e->packed, &e->relay.whole, first, end, e->scratch);
        since += end - first;
        if (since > MANY) {
            e->kernels->close(b->p, e->packed, e->scratch, e->sums);
            e->kernels->open(&e->layout->dims, e->scratch);
            since = 0;
        }
    }
}

void ANT_FN(ant_relay_gradient)(engine *e, const relay_problem *p)
{
    const size_t bytes = e->layout->dims.M * sizeof(real);
    memset(e->relay.whole.inject, 0, bytes);
    memset(e->relay.whole.inject_last, 0, bytes);
    backward b = {.e = e, .p = p};
#pragma omp parallel num_threads(2)
    {
        const bool alone = omp_get_num_threads() == 1;
        if (alone || omp_get_thread_num() == 1)
            run_adjoint(&b);
        if (omp_get_thread_num() == 0)
            run_sums(&b);
    }
}
