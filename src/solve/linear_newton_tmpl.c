/*
 * linear_newton_tmpl.c - a linear model that takes its own predictions in, by Newton's method on all steps at
 * once (spec 15): each iteration linearises every step at the current states and solves for all changes by
 * one affine scan (affine.h).  The adjoint is the reverse scan with J_t^T.  Memory is O(T M^2).
 *
 * The first guess is the trajectory along the data, where no drawn row is taken in: one iteration from zeros,
 * which is exact, because all J_t are diagonal then.  Where values are missing, it is near.
 */
#include "solve/linear.h"

#include "solve/scan.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_linear_newton) newton;

void ANT_FN(ant_linear_newton_carve)(linear *p, ant_arena *arena)
{
    newton *n = &p->newton;
    const size_t M = p->layout.dims.M, row = (p->T + 1) * M;
    n->work_count = p->model->step_work(&p->layout.dims) + M;
    n->jacobian = ant_arena_take(arena, p->T * M * M, sizeof(real));
    n->offset = ant_arena_take(arena, row, sizeof(real));
    n->delta = ant_arena_take(arena, row, sizeof(real));
    n->z = ant_arena_take(arena, row, sizeof(real));
    n->adjoint = ant_arena_take(arena, row, sizeof(real));
    n->work = ant_arena_take(arena, n->slots * n->work_count, sizeof(real));
    n->sums = ant_arena_take(arena, n->slots * p->layout.total, sizeof(double));
    n->square = ant_arena_take(arena, n->slots, sizeof(double));
    ANT_FN(ant_affine_carve)(&n->scan, arena, M);
}

/* One pass over the slots, which threads share. */
typedef struct pass {
    linear plan; /* a copy, whose `own` is NULL for the guess */
    const real *x, *s;
} pass;

static real *work_of(const linear *p, size_t slot)
{
    return p->newton.work + slot * p->newton.work_count;
}

static void linearise_slot(void *cookie, size_t slot, size_t worker)
{
    const pass *a = cookie;
    const linear *p = &a->plan;
    const newton *n = &p->newton;
    const size_t M = p->layout.dims.M, last = ant_scan_border(p->T, n->slots, slot + 1);
    real *next = work_of(p, slot), *work = next + M;
    (void)worker;
    for (size_t t = ant_scan_border(p->T, n->slots, slot); t < last; t++) {
        p->model->linearise(p, a->x, a->s, t, n->z + t * M, work, next, n->jacobian + t * M * M);
        for (size_t m = 0; m < M; m++)
            n->offset[t * M + m] = next[m] - n->z[(t + 1) * M + m];
    }
}

static void linearise(void *cookie)
{
    const pass *a = cookie;
    ant_team_run(a->plan.newton.scan.team, a->plan.newton.slots, linearise_slot, cookie);
}

static void guess(const linear *p, pass *a, ANT_FN(ant_affine) * forward)
{
    const newton *n = &p->newton;
    const size_t count = (p->T + 1) * p->layout.dims.M;
    memset(n->z, 0, count * sizeof *n->z);
    memset(n->delta, 0, p->layout.dims.M * sizeof *n->delta);
    a->plan.own = NULL;
    linearise(a);
    ANT_FN(ant_affine_run)(&n->scan, forward, p->T, n->delta);
    for (size_t i = 0; i < count; i++)
        n->z[i] += n->delta[i];
    a->plan.own = p->own;
}

static void read_out_slot(void *cookie, size_t slot, size_t worker)
{
    const pass *a = cookie;
    const linear *p = &a->plan;
    const newton *n = &p->newton;
    const size_t M = p->layout.dims.M, last = ant_scan_border(p->T, n->slots, slot + 1);
    (void)worker;
    n->square[slot] = 0.0;
    for (size_t t = ant_scan_border(p->T, n->slots, slot) + 1; t <= last; t++)
        n->square[slot] += p->model->read_out(p, a->x, t, n->z + t * M, work_of(p, slot), n->offset + t * M);
}

static void accumulate_slot(void *cookie, size_t slot, size_t worker)
{
    const pass *a = cookie;
    const linear *p = &a->plan;
    const newton *n = &p->newton;
    const size_t M = p->layout.dims.M, last = ant_scan_border(p->T + 1, n->slots, slot + 1);
    double *sums = n->sums + slot * p->layout.total;
    (void)worker;
    for (size_t t = ant_scan_border(p->T + 1, n->slots, slot); t < last; t++)
        p->model->accumulate(p, a->x, a->s, t, n->z + t * M, t < p->T ? n->adjoint + (t + 1) * M : n->delta,
                             work_of(p, slot), sums);
}

/* v_T .. v_1 by the reverse scan, from the jacobian and the read_outs in `offset`; then the sums. */
static void add_gradient(pass *a, double *sums)
{
    const linear *p = &a->plan;
    const newton *n = &p->newton;
    const size_t M = p->layout.dims.M, total = p->layout.total;
    ANT_FN(ant_affine)
    reverse = {M, p->T, true, false, n->jacobian, NULL, n->offset, n->adjoint};
    memcpy(n->adjoint + p->T * M, n->offset + p->T * M, M * sizeof(real));
    ANT_FN(ant_affine_run)(&n->scan, &reverse, p->T - 1, n->adjoint + p->T * M);
    memset(n->sums, 0, n->slots * total * sizeof *n->sums);
    memset(n->delta, 0, M * sizeof *n->delta); /* v_{T+1} */
    ant_team_run(n->scan.team, n->slots, accumulate_slot, a);
    for (size_t k = 0; k < n->slots; k++) {
        for (size_t i = 0; i < total; i++)
            sums[i] += n->sums[k * total + i];
    }
}

ANT_FN(ant_linear_solved)
ANT_FN(ant_linear_newton_solve)(const linear *p, const real *x, const real *s, real *z, double *sums)
{
    const newton *n = &p->newton;
    const size_t M = p->layout.dims.M;
    pass a = {.plan = *p, .x = x, .s = s};
    ANT_FN(ant_affine) forward = {M, p->T, false, false, n->jacobian, NULL, n->offset, n->delta};
    ANT_FN(ant_linear_solved) solved = {.outcome = ANTLER_OK};
    guess(p, &a, &forward);
    solved.outcome =
        ANT_FN(ant_affine_newton)(&n->scan, &forward, linearise, &a, n->tolerance, n->max_iterations, n->z,
                                  &solved.iterations, &solved.last_change);
    if (solved.outcome != ANTLER_OK && n->fallback)
        return solved;
    memcpy(z, n->z + M, p->T * M * sizeof *z);
    ant_team_run(n->scan.team, n->slots, read_out_slot, &a);
    for (size_t k = 0; k < n->slots; k++)
        solved.square += n->square[k];
    if (sums != NULL)
        add_gradient(&a, sums);
    return solved;
}
