/*
 * joins_tmpl.c - the borders of segments by Newton's method, also where the model has a long memory.
 *
 * After a pass a segment k that started at s_k has its end e_k and the derivative D_k of one by the other
 * (ant_kernels.derive).  One step of Newton's method gives all borders at once, from the first segment on:
 *     s_{k+1} <- e_k + D_k (s_k new - s_k old).
 * A segment that forgets its start has D = 0, and then this is the plain iteration of shooting_tmpl.c.  The
 * first segments are exact after as many passes as there are of them, whatever D is, so this cannot diverge.
 * Segments whose start changes by no more than the tolerance keep their states.
 *
 * Backward, the gradients at the borders are linear in each other.  With g_k what the loss of segment k
 * gives, v_k = g_k + D_k^T v_{k+1}, from the last segment on.  They enter at the ends of segments as
 * corrections.  What then really arrives at the starts is compared with what was assumed, and the difference
 * goes the same way.
 *
 * A group is one segment here: kernels with `derive` have one lane.
 */
#include "solve/shooting.h"

#include <string.h>

enum {
    FAR = 1000,   /* times the largest state: no start is moved so far */
    LEAST = 3,    /* segments: the map of the first and of the last one is not needed */
    PASSES = 8,   /* in which maps are made; Newton's method needs two to four where it works */
    ROUNDING = 16 /* a jump of so many epsilon of the largest value is rounding */
};

bool ANT_FN(ant_joins_fit)(const shooting *sh)
{
    return sh->kernels->derive != NULL && sh->layout->dims.M <= sh->kernels->derived_most &&
           sh->segments >= LEAST && !sh->paired && sh->leg == 0;
}

void ANT_FN(ant_joins_carve)(shooting *sh, ant_arena *arena)
{
    const size_t M = sh->layout->dims.M;
    sh->joins.mapped = ant_arena_take(arena, sh->total, sizeof *sh->joins.mapped);
    sh->joins.seen = ant_arena_take(arena, sh->total * M, sizeof *sh->joins.seen);
    sh->joins.assumed = ant_arena_take(arena, sh->total * M, sizeof *sh->joins.assumed);
    sh->joins.moved = ant_arena_take(arena, 2 * M, sizeof *sh->joins.moved);
    sh->joins.turned = ant_arena_take(arena, 2 * M, sizeof *sh->joins.turned);
}

void ANT_FN(ant_joins_derive)(shooting *sh, const solve_call *p, size_t g, int passes, real *scratch)
{
    const size_t segment = g % sh->segments;
    const bool between = segment > 0 && segment + 1 < sh->segments;
    sh->joins.mapped[g] =
        between && passes < PASSES && sh->kernels->derive(p, sh->packed, &sh->group[g], scratch);
}

double ANT_FN(ant_join_tolerance)(double size, double tolerance)
{
    return fmax(0.01 * tolerance, ROUNDING * (double)REAL_EPSILON * (isfinite(size) ? size : 1.0));
}

/* moved <- D moved, or 0 where that is farther than a valid map goes.  other: (M) scratch */
static void apply_map(size_t M, const real *map, double most, double *moved, double *other)
{
    bool sane = true;
    for (size_t m = 0; m < M; m++) {
        other[m] = 0.0;
        for (size_t j = 0; j < M; j++)
            other[m] += (double)map[m * M + j] * moved[j];
        sane = sane && fabs(other[m]) <= most;
    }
    for (size_t m = 0; m < M; m++)
        moved[m] = sane ? other[m] : 0.0;
}

/* A segment starts at `end` + moved, unless that is where it started before; moved becomes the difference. */
static bool move_start(size_t M, const real *end, double tolerance, double *moved, real *start, double *jump)
{
    double moves = 0.0;
    bool same = true, near = true;
    for (size_t m = 0; m < M; m++) {
        const real to = (real)((double)end[m] + moved[m]);
        const double own = fabs((double)to - (double)start[m]);
        moves = own > moves ? own : moves;
        near = near && own <= tolerance; /* NaN is not */
        same = same && memcmp(&to, &start[m], sizeof to) == 0;
    }
    const bool met = same || near;
    *jump = met && moves > *jump ? moves : *jump;
    for (size_t m = 0; m < M; m++) {
        const real to = (real)((double)end[m] + moved[m]), from = start[m];
        moved[m] = met ? 0.0 : (double)to - (double)from;
        start[m] = met ? from : to;
    }
    return !met;
}

size_t ANT_FN(ant_joins_states)(shooting *sh, double size, double tolerance, double *jump)
{
    const size_t M = sh->layout->dims.M;
    double *moved = sh->joins.moved;
    size_t dirty = 0;
    *jump = 0.0;
    for (size_t id = 0; id < sh->total; id++) {
        sh->dirty[id] = false;
        if (id % sh->segments == 0) {
            memset(moved, 0, M * sizeof *moved);
            continue;
        }
        const group *from = &sh->group[id - 1];
        if (sh->joins.mapped[id - 1])
            apply_map(M, from->map, FAR * size, moved, moved + M);
        else
            memset(moved, 0, M * sizeof *moved);
        const real *end = ANT_FN(ant_group_last)(sh, id - 1, from->length);
        sh->dirty[id] = move_start(M, end, tolerance, moved, sh->group[id].z, jump);
        dirty += sh->dirty[id];
    }
    return dirty;
}

/* ---- backward ------------------------------------------------------------------------------------ */

void ANT_FN(ant_joins_open)(shooting *sh)
{
    const size_t bytes = sh->total * sh->layout->dims.M * sizeof(double);
    memset(sh->joins.seen, 0, bytes);
    memset(sh->joins.assumed, 0, bytes);
}

/* The largest difference between the gradients at the starts of segments and what was assumed for them. */
static double largest_rest(shooting *sh)
{
    const size_t M = sh->layout->dims.M;
    double largest = 0.0;
    for (size_t id = 0; id < sh->total; id++) {
        for (size_t m = 0; m < M && id % sh->segments != 0; m++) {
            double *seen = &sh->joins.seen[id * M + m];
            *seen += sh->dirty[id] ? (double)sh->group[id].border[m] : 0.0;
            const double rest = fabs(*seen - sh->joins.assumed[id * M + m]);
            largest = rest <= largest ? largest : rest;
        }
    }
    return largest;
}

/* moved <- D^T moved of a segment; gradients are in the coordinates of the model.  moved: (M) */
static void apply_transposed(const shooting *sh, const real *map, double *moved)
{
    const ant_model_dims *d = &sh->layout->dims;
    real *row = sh->joins.turned, *other = row + d->M;
    for (size_t m = 0; m < d->M; m++)
        other[m] = (real)moved[m];
    sh->kernels->enter(d, sh->packed, other, row);
    for (size_t j = 0; j < d->M; j++) {
        double sum = 0.0;
        for (size_t m = 0; m < d->M; m++)
            sum += (double)map[m * d->M + j] * (double)row[m];
        other[j] = (real)sum;
    }
    sh->kernels->leave(d, sh->packed, other, row);
    for (size_t m = 0; m < d->M; m++)
        moved[m] = (double)row[m];
}

bool ANT_FN(ant_joins_gradients)(shooting *sh, double size)
{
    const size_t M = sh->layout->dims.M;
    if (largest_rest(sh) <= ROUNDING * (double)REAL_EPSILON * size)
        return false;
    double *moved = sh->joins.moved;
    for (size_t id = sh->total; id-- > 0;) {
        group *before = &sh->group[id > 0 ? id - 1 : 0];
        sh->dirty[id] = id % sh->segments + 1 < sh->segments && sh->dirty[id];
        if (id % sh->segments + 1 == sh->segments)
            memset(moved, 0, M * sizeof *moved);
        if (id % sh->segments == 0)
            continue;
        if (sh->joins.mapped[id])
            apply_transposed(sh, sh->group[id].map, moved);
        else
            memset(moved, 0, M * sizeof *moved);
        bool any = false;
        for (size_t m = 0; m < M; m++) {
            double *assumed = &sh->joins.assumed[id * M + m];
            moved[m] += sh->joins.seen[id * M + m] - *assumed;
            before->inject[m] = (real)moved[m];
            moved[m] = (double)before->inject[m];
            *assumed += moved[m];
            any = any || before->inject[m] != 0;
        }
        sh->dirty[id - 1] = any;
    }
    return true;
}
