/*
 * lssm_method_tmpl.c - training of the LSSM: z_0 = 0, z_t = A z_{t-1} + U x_{t-1} + C s_t + h (spec 1), by
 * tiles (linear.h).
 *
 * With e_t = weight (xhat_t - x_t), a_t = phi(V z_t + b) and d_t = phi' o B^T e_t, the adjoint is
 *     v_t = V^T d_t + A v_{t+1}
 * and dB = sum e_t a_t^T, dV = sum d_t z_t^T, db = sum d_t, dA = sum v_t o z_{t-1}, dU = sum v_t x_{t-1}^T,
 * dC = sum v_t s_t^T, dh = sum v_t.
 */
#include "model/decay.h"
#include "solve/linear.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_item) item;

static size_t state(const ant_model_dims *d)
{
    return d->M;
}

static size_t derived(const ant_model_layout *layout)
{
    return layout->dims.M;
}

/* A in the precision of training. */
static void derive(const ant_model_layout *layout, const real *parameters, real *A)
{
    for (size_t m = 0; m < layout->dims.M; m++)
        A[m] =
            layout->dims.free_diagonal ? parameters[layout->Abar + m] : r_tanh(parameters[layout->Abar + m]);
}

/* What is stored of an item between phases; each array has ANT_TILE columns. */
typedef struct kept {
    real *z; /* (M): first the states from 0, then the states */
    real *v; /* (M): first the adjoint from 0 after the tile, then the adjoint */
    real *x; /* (N): x_{t-1} */
    real *s; /* (K): s_t */
} kept;

static size_t kept_count(const ant_model_dims *d)
{
    return (2 * d->M + d->N + d->K) * ANT_TILE;
}

static kept kept_of(const linear *p, size_t index)
{
    const ant_model_dims *d = &p->layout.dims;
    real *z = ANT_FN(ant_linear_kept)(p, index), *v = z + d->M * ANT_TILE, *x = v + d->M * ANT_TILE;
    return (kept){z, v, x, x + d->N * ANT_TILE};
}

/* hidden and its gradient (L), prediction and error (N), in columns of ANT_TILE; or two vectors (M). */
static size_t scratch_count(const ant_model_dims *d)
{
    return 2 * (d->L + d->N + d->M) * ANT_TILE;
}

/* ---- phases --------------------------------------------------------------------------------------- */

/* z from 0 before the tile, and the tile's map: decay A^count, offset the last z. */
static void enter(const linear *p, const item *i)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const kept k = kept_of(p, i->index);
    ANT_FN(ant_tile_load)(i->x, i->count, d->N, k.x);
    ANT_FN(ant_tile_fill)(p->parameters + at->h, d->M, k.z);
    p->kernels->multiply(p->parameters + at->U, d->M, d->N, k.x, k.z);
    if (d->K > 0) {
        ANT_FN(ant_tile_load)(i->s, i->count, d->K, k.s);
        p->kernels->multiply(p->parameters + at->C, d->M, d->K, k.s, k.z);
    }
    real *decay = p->decay + i->index * d->M, *offset = p->offset + i->index * d->M;
    memcpy(decay, p->derived, d->M * sizeof *decay);
    for (size_t t = 1; t < i->count;
         t++) { /* units in the inner loop: the steps of one depend on each other */
        for (size_t m = 0; m < d->M; m++) {
            k.z[m * ANT_TILE + t] += p->derived[m] * k.z[m * ANT_TILE + t - 1];
            decay[m] *= p->derived[m];
        }
    }
    for (size_t m = 0; m < d->M; m++) {
        offset[m] = k.z[m * ANT_TILE + i->count - 1];
        for (size_t t = i->count; t < ANT_TILE; t++)
            k.z[m * ANT_TILE + t] = 0;
    }
}

/* z_t += A^(t+1) z_entering: the states. */
static void complete_states(const linear *p, const item *i, const kept *k)
{
    const size_t M = p->layout.dims.M;
    real *from = ANT_FN(ant_linear_scratch)(p, i->slot); /* (M) */
    memcpy(from, p->entering + i->index * M, M * sizeof *from);
    for (size_t t = 0; t < i->count; t++) {
        for (size_t m = 0; m < M; m++) {
            from[m] *= p->derived[m];
            k->z[m * ANT_TILE + t] += from[m];
        }
    }
    ANT_FN(ant_tile_store)(k->z, i->count, M, p->states + (i->sequence * p->T + i->first) * M);
}

/* From states to predictions, loss, the gradients of B, V and b, and V^T d in k->v. */
static void read_out(const linear *p, const item *i, const kept *k)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const ANT_FN(ant_tile_kernels) *q = p->kernels;
    real *hidden = ANT_FN(ant_linear_scratch)(p, i->slot), *slope = hidden + d->L * ANT_TILE,
         *xhat = slope + d->L * ANT_TILE, *error = xhat + d->N * ANT_TILE;
    ANT_FN(ant_tile_fill)(p->parameters + at->b, d->L, hidden);
    q->multiply(p->parameters + at->V, d->L, d->M, k->z, hidden);
    q->relu(d->L, hidden);
    memset(xhat, 0, d->N * ANT_TILE * sizeof *xhat);
    q->multiply(p->parameters + at->B, d->N, d->L, hidden, xhat);
    ANT_FN(ant_linear_loss)(p, i, xhat, error);
    q->outer(error, d->N, hidden, d->L, ANT_FN(ant_linear_sums)(p, i->slot, at->B));
    memset(slope, 0, d->L * ANT_TILE * sizeof *slope);
    q->multiply_back(p->parameters + at->B, d->N, d->L, error, slope);
    q->relu_back(d->L, hidden, slope);
    q->outer(slope, d->L, k->z, d->M, ANT_FN(ant_linear_sums)(p, i->slot, at->V));
    q->sum_rows(slope, d->L, ANT_FN(ant_linear_sums)(p, i->slot, at->b));
    q->multiply_back(p->parameters + at->V, d->L, d->M, slope, k->v);
}

/* States, loss, and the adjoint from 0 after the tile; its map has the same decay, and offset A v_first. */
static void cross(const linear *p, const item *i)
{
    const size_t M = p->layout.dims.M;
    const kept k = kept_of(p, i->index);
    complete_states(p, i, &k);
    memset(k.v, 0, M * ANT_TILE * sizeof *k.v);
    if (ANT_FN(ant_linear_counts)(p, i->first + i->count))
        read_out(p, i, &k);
    for (size_t t = i->count - 1; t-- > 0;) {
        for (size_t m = 0; m < M; m++)
            k.v[m * ANT_TILE + t] += p->derived[m] * k.v[m * ANT_TILE + t + 1];
    }
    for (size_t m = 0; m < M; m++)
        p->offset[i->index * M + m] = p->derived[m] * k.v[m * ANT_TILE];
}

/* v_t += A^(last-t) v_leaving, then the gradients of A, h, U and C. */
static void leave(const linear *p, const item *i)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const ANT_FN(ant_tile_kernels) *q = p->kernels;
    const kept k = kept_of(p, i->index);
    real *from = ANT_FN(ant_linear_scratch)(p, i->slot), *sum = from + d->M; /* (M) */
    memcpy(from, p->leaving + i->index * d->M, d->M * sizeof *from);
    memset(sum, 0, d->M * sizeof *sum);
    for (size_t t = i->count; t-- > 0;) {
        for (size_t m = 0; m < d->M; m++) {
            const size_t j = m * ANT_TILE + t;
            k.v[j] += from[m];
            from[m] *= p->derived[m];
            sum[m] += k.v[j] * (t > 0 ? k.z[j - 1] : p->entering[i->index * d->M + m]);
        }
    }
    for (size_t m = 0; m < d->M; m++)
        *ANT_FN(ant_linear_sums)(p, i->slot, at->Abar + m) += sum[m];
    q->sum_rows(k.v, d->M, ANT_FN(ant_linear_sums)(p, i->slot, at->h));
    q->outer(k.v, d->M, k.x, d->N, ANT_FN(ant_linear_sums)(p, i->slot, at->U));
    if (d->K > 0)
        q->outer(k.v, d->M, k.s, d->K, ANT_FN(ant_linear_sums)(p, i->slot, at->C));
}

/* From dloss/dA to the parameter behind A. */
static void finish(const ant_model_layout *layout, const real *parameters, double *sums)
{
    const bool is_free = layout->dims.free_diagonal;
    for (size_t m = 0; m < layout->dims.M; m++) {
        const double a = ant_decay(is_free, (double)parameters[layout->Abar + m]);
        sums[layout->Abar + m] *= ant_decay_slope(is_free, a);
    }
}

/* The adjoint (M), then what single steps need. */
static size_t reference_work(const ant_model_dims *d, size_t T)
{
    (void)T;
    return d->M + ANT_FN(ant_lssm_step_work)(d);
}

const ANT_FN(ant_linear_model) ANT_FN(ant_linear_lssm) = {
    .name = "lssm",
    .state = state,
    .decays = state,
    .kept = kept_count,
    .scratch = scratch_count,
    .derived = derived,
    .reference_work = reference_work,
    .derive = derive,
    .before = {enter},
    .between = {cross},
    .after = {leave},
    .reference = ANT_FN(ant_lssm_reference),
    .step_work = ANT_FN(ant_lssm_step_work),
    .linearise = ANT_FN(ant_lssm_linearise),
    .read_out = ANT_FN(ant_lssm_read_out),
    .accumulate = ANT_FN(ant_lssm_accumulate),
    .finish = finish,
};
