/*
 * newton_tmpl.c - DEER and quasi-DEER for any cell (spec 3).  Each iteration linearises every step at the
 * current guess, dz_{t+1} = J_t dz_t - r_{t+1},   J_t = J_F(z~_t) P_{a_t},   r_{t+1} = z_{t+1} - F(z~_t) and
 * solves for all dz by one affine scan (scan.h).  The adjoint is the reverse scan with J_t^T.  Memory is O(T
 * M^2) for full Jacobians.
 */
#include "solve/newton.h"
#include "solve/scan.h"

#include <string.h>

static size_t total_count(size_t M)
{
    return 2 * (M * M + M); /* a map and memory to build the next */
}

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
    n->totals = ant_arena_take(arena, n->segments * total_count(d->M), sizeof(real));
    n->borders = ant_arena_take(arena, n->segments * d->M, sizeof(real));
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

static void linearise(ANT_FN(ant_newton) * n, const solve_call *p, const real *x, const real *s,
                      ANT_FN(ant_trajectory) * y)
{
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M;
    pass a = {.n = n, .p = p, .x = x, .s = s, .y = y};
    ant_team_run(n->team, n->slots, linearise_slot, &a);
    real *forced = n->scratch;
    ANT_FN(ant_reference_force)
    (p, y->pattern, p->T, x + p->T * d->N, y->z + p->T * M, y->error + p->T * d->N, forced);
}

/* The maps of a scan: element i is step t = i, or t = T-1-i transposed when in reverse. */
typedef struct affine {
    size_t M, T;
    bool reverse, diagonal;
    const real *jacobian, *diagonals, *offset;
    real *state; /* (T+1, M): the states in time order */
} affine;

static size_t affine_time(const affine *a, size_t i)
{
    return a->reverse ? a->T - 1 - i : i;
}

/* out = J in, transposed in reverse, plus offset unless it is NULL.  in, out: (M, cols) */
static void affine_multiply(const affine *a, size_t t, const real *in, size_t cols, const real *offset,
                            real *out)
{
    const size_t M = a->M;
    for (size_t i = 0; i < M; i++) {
        real *row = out + i * cols;
        for (size_t c = 0; c < cols; c++)
            row[c] = offset != NULL ? offset[i] : 0;
        if (a->diagonal) {
            for (size_t c = 0; c < cols; c++)
                row[c] += a->diagonals[t * M + i] * in[i * cols + c];
            continue;
        }
        const real *J = a->jacobian + t * M * M;
        for (size_t j = 0; j < M; j++) {
            const real factor = a->reverse ? J[j * M + i] : J[i * M + j];
            for (size_t c = 0; c < cols; c++)
                row[c] += factor * in[j * cols + c];
        }
    }
}

/* A total is a matrix, a vector, and memory for the next of each.  A diagonal matrix is stored in one column.
 */
static void affine_compose(void *context, size_t first, size_t last, void *total)
{
    const affine *a = context;
    const size_t M = a->M, cols = a->diagonal ? 1 : M;
    real *matrix = total, *vector = matrix + M * M, *next_matrix = vector + M,
         *next_vector = next_matrix + M * M;
    memset(matrix, 0, (M * M + M) * sizeof *matrix);
    for (size_t m = 0; m < M; m++)
        matrix[a->diagonal ? m : m * M + m] = 1;
    for (size_t i = first; i < last; i++) {
        const size_t t = affine_time(a, i);
        affine_multiply(a, t, matrix, cols, NULL, next_matrix);
        affine_multiply(a, t, vector, 1, a->offset + t * M, next_vector);
        memcpy(matrix, next_matrix, M * cols * sizeof *matrix);
        memcpy(vector, next_vector, M * sizeof *vector);
    }
}

static void affine_act(void *context, const void *total, const void *from, void *to)
{
    const affine *a = context;
    const size_t M = a->M;
    const real *matrix = total, *vector = matrix + M * M, *in = from;
    real *out = to;
    for (size_t i = 0; i < M; i++) {
        out[i] = vector[i];
        for (size_t j = 0; j < M && !a->diagonal; j++)
            out[i] += matrix[i * M + j] * in[j];
        if (a->diagonal)
            out[i] += matrix[i] * in[i];
    }
}

static void affine_sweep(void *context, size_t first, size_t last, const void *from)
{
    const affine *a = context;
    const real *in = from;
    for (size_t i = first; i < last; i++) {
        const size_t t = affine_time(a, i);
        real *out = a->state + (a->reverse ? t : t + 1) * a->M;
        affine_multiply(a, t, in, 1, a->offset + t * a->M, out);
        in = out;
    }
}

/* Run the scan over `count` maps from the state `first` (M). */
static void affine_scan(const ANT_FN(ant_newton) * n, affine *a, size_t count, const real *first)
{
    memcpy(n->borders, first, a->M * sizeof *first);
    ant_scan scan = {.count = count,
                     .segments = n->segments,
                     .context = a,
                     .compose = affine_compose,
                     .act = affine_act,
                     .sweep = affine_sweep,
                     .totals = (unsigned char *)n->totals,
                     .total_bytes = total_count(a->M) * sizeof(real),
                     .borders = (unsigned char *)n->borders,
                     .state_bytes = a->M * sizeof(real)};
    ant_scan_run(&scan, n->team);
}

antler_status ANT_FN(ant_newton_solve)(ANT_FN(ant_newton) * n, const solve_call *p, const real *x,
                                       const real *s, double tolerance, int max_iterations,
                                       ANT_FN(ant_trajectory) * y, int *iterations, double *last_change)
{
    const size_t M = p->layout->dims.M;
    affine a = {M, p->T, false, n->diagonal, n->jacobian, n->diagonals, n->offset, n->delta};
    antler_status outcome = ANTLER_NOT_CONVERGED;
    memset(n->delta, 0, M * sizeof *n->delta);
    *iterations = 0;
    *last_change = 0.0;
    while (outcome == ANTLER_NOT_CONVERGED && *iterations < max_iterations) {
        linearise(n, p, x, s, y);
        affine_scan(n, &a, p->T, n->delta);
        double change = 0.0;
        for (size_t i = M; i < (p->T + 1) * M; i++) {
            y->z[i] += n->delta[i];
            const double size = fabs((double)n->delta[i]);
            change = size <= change ? change : size; /* lets NaN through */
        }
        (*iterations)++;
        *last_change = change;
        if (!isfinite(change))
            outcome = ANTLER_NON_FINITE;
        else if (change < tolerance)
            outcome = ANTLER_OK;
    }
    linearise(n, p, x, s, y);
    return outcome;
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
    affine a = {d->M, p->T, true, n->adjoint_diagonal, n->jacobian, n->diagonals, n->offset, y->adjoint};
    memcpy(y->adjoint + p->T * d->M, n->offset + p->T * d->M, d->M * sizeof(real));
    affine_scan(n, &a, p->T - 1, y->adjoint + p->T * d->M);
    memset(n->sums, 0, n->slots * count * sizeof *n->sums);
    pass all = {.n = n, .p = p, .x = x, .s = s, .y = y};
    ant_team_run(n->team, n->slots, accumulate_slot, &all);
    for (size_t k = 0; k < n->slots; k++) {
        for (size_t i = 0; i < count; i++)
            sums[i] += n->sums[k * count + i];
    }
}
