/*
 * newton_tmpl.c - DEER and quasi-DEER for any cell (spec 3).  Each iteration linearises every step at the
 * current guess,
 *
 *     dz_{t+1} = J_t dz_t - r_{t+1}     J_t = J_F(z~_t) P_{a_t}     r_{t+1} = z_{t+1} - F(z~_t)
 *
 * and solves for all dz by one affine scan (affine.h).  The adjoint is the reverse scan with J_t^T.  Memory
 * is O(T M^2) for full Jacobians.
 */
#include "solve/newton.h"
#include "solve/scan.h"

#include <string.h>

void ANT_FN(ant_newton_carve)(ANT_FN(ant_newton) * n, ant_arena *arena, const ANT_FN(ant_cell) * cell,
                              const ant_model_layout *layout, size_t T)
{
    const ant_model_dims *d = &layout->dims;
    const bool full = !n->diagonal || !n->adjoint_diagonal, diagonal = n->diagonal || n->adjoint_diagonal;
    n->scratch_count = ANT_FN(ant_reference_scratch)(cell, layout) + d->M * d->M + d->M * d->N;
    n->jacobian = full ? ant_arena_take(arena, T * d->M * d->M, sizeof(real)) : NULL;
    n->diagonals = diagonal ? ant_arena_take(arena, T * d->M, sizeof(real)) : NULL;
    n->offset = ant_arena_take(arena, (T + 1) * d->M, sizeof(real));
    n->delta = ant_arena_take(arena, (T + 1) * d->M, sizeof(real));
    n->scratch = ant_arena_take(arena, n->slots * n->scratch_count, sizeof(real));
    n->sums = ant_arena_take(arena, n->slots * ANT_FN(ant_sums_count)(layout), sizeof(double));
    ANT_FN(ant_affine_carve)(&n->scan, arena, d->M);
}

/* One pass over the slots, which threads share. */
typedef struct pass {
    ANT_FN(ant_newton) * n;
    const solve_call *p;
    const real *x, *s;
    ANT_FN(ant_trajectory) * y;
} pass;

/* J_F -> J_F P_a = J_F - a (J_F B+) B, with the B+ of the row.  pinv: (M, N); product: (M, N) scratch */
static void force_jacobian(const solve_call *p, const real *pinv, real a, real *jacobian, real *product)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    for (size_t i = 0; i < M && a != 0; i++) {
        for (size_t n = 0; n < N; n++) {
            product[n] = 0;
            for (size_t j = 0; j < M; j++)
                product[n] += jacobian[i * M + j] * pinv[j * N + n];
        }
        for (size_t n = 0; n < N; n++) {
            for (size_t j = 0; j < M; j++)
                jacobian[i * M + j] -= a * product[n] * p->forcing->B[n * M + j];
        }
    }
}

/* Fill forced, error, J_t and the negative residuals for the steps of a slot. */
static void linearise_slot(void *cookie, size_t slot, size_t worker)
{
    const pass *a = cookie;
    ANT_FN(ant_newton) *n = a->n;
    const solve_call *p = a->p;
    ANT_FN(ant_trajectory) *y = a->y;
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M, last = ant_scan_border(p->T, n->slots, slot + 1);
    real *next = n->scratch + slot * n->scratch_count, *product = next + M, *own = product + M * d->N,
         *rest = own + M * M;
    (void)worker;
    for (size_t t = ant_scan_border(p->T, n->slots, slot); t < last; t++) {
        real *jacobian = n->jacobian != NULL ? n->jacobian + t * M * M : own;
        ANT_FN(ant_reference_force)
        (p, y->pattern, t, a->x + t * d->N, y->z + t * M, y->error + t * d->N, y->forced + t * M);
        p->cell->linearise(p, y->forced + t * M, a->s == NULL ? NULL : a->s + t * d->K, next, jacobian, rest);
        force_jacobian(p, ANT_FN(ant_pinv_at)(p, y->pattern, t), (real)p->strength[t], jacobian, product);
        for (size_t m = 0; m < M; m++) {
            n->offset[t * M + m] = next[m] - y->z[(t + 1) * M + m];
            if (n->diagonals != NULL)
                n->diagonals[t * M + m] = jacobian[m * M + m];
        }
    }
}

/* ant_affine_newton calls it; J_t, negative residuals, and the errors of all rows. */
static void linearise(void *cookie)
{
    const pass *a = cookie;
    const ant_model_dims *d = &a->p->layout->dims;
    const size_t T = a->p->T;
    ant_team_run(a->n->scan.team, a->n->slots, linearise_slot, cookie);
    real *forced = a->n->scratch;
    ANT_FN(ant_reference_force)
    (a->p, a->y->pattern, T, a->x + T * d->N, a->y->z + T * d->M, a->y->error + T * d->N, forced);
}

antler_status ANT_FN(ant_newton_solve)(ANT_FN(ant_newton) * n, const solve_call *p, const real *x,
                                       const real *s, double tolerance, int max_iterations,
                                       ANT_FN(ant_trajectory) * y, int *iterations, double *last_change)
{
    pass all = {.n = n, .p = p, .x = x, .s = s, .y = y};
    ANT_FN(ant_affine)
    a = {p->layout->dims.M, p->T, false, n->diagonal, n->jacobian, n->diagonals, n->offset, n->delta};
    return ANT_FN(ant_affine_newton)(&n->scan, &a, linearise, &all, tolerance, max_iterations, y->z,
                                     iterations, last_change);
}

static void accumulate_slot(void *cookie, size_t slot, size_t worker)
{
    const pass *a = cookie;
    const ANT_FN(ant_newton) *n = a->n;
    const size_t T = a->p->T, count = ANT_FN(ant_sums_count)(a->p->layout);
    (void)worker;
    ANT_FN(ant_reference_accumulate)
    (a->p, a->x, a->s, a->y, ant_scan_border(T, n->slots, slot), ant_scan_border(T, n->slots, slot + 1),
     n->scratch + slot * n->scratch_count, n->sums + slot * count);
}

void ANT_FN(ant_newton_gradient)(ANT_FN(ant_newton) * n, const solve_call *p, const real *x, const real *s,
                                 ANT_FN(ant_trajectory) * y, double *sums)
{
    const ant_model_dims *d = &p->layout->dims;
    const size_t count = ANT_FN(ant_sums_count)(p->layout);
    for (size_t t = 0; t <= p->T; t++) { /* dloss/dz_t = -c_t B^T e_t */
        const real c = t > p->warmup ? p->weight : 0;
        for (size_t m = 0; m < d->M; m++) {
            real sum = 0;
            for (size_t k = 0; k < d->N; k++)
                sum += p->forcing->B[k * d->M + m] * y->error[t * d->N + k];
            n->offset[t * d->M + m] = -c * sum;
        }
    }
    ANT_FN(ant_affine)
    a = {d->M, p->T, true, n->adjoint_diagonal, n->jacobian, n->diagonals, n->offset, y->adjoint};
    memcpy(y->adjoint + p->T * d->M, n->offset + p->T * d->M, d->M * sizeof(real));
    ANT_FN(ant_affine_run)(&n->scan, &a, p->T - 1, y->adjoint + p->T * d->M);
    memset(n->sums, 0, n->slots * count * sizeof *n->sums);
    pass all = {.n = n, .p = p, .x = x, .s = s, .y = y};
    ant_team_run(n->scan.team, n->slots, accumulate_slot, &all);
    for (size_t k = 0; k < n->slots; k++) {
        for (size_t i = 0; i < count; i++)
            sums[i] += n->sums[k * count + i];
    }
}
