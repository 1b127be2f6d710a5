/* mamba2_cross_tmpl.c - the Mamba-2 baseline: from the states before each tile to the loss, and back to the
 * recurrence. */
#include "solve/mamba2_items.h"

/* y without the skip, from the state before the tile.  Uses 2 ANT_TILE + inner + HEADS rows of scratch. */
static void recur(const linear *p, const item *i, const kept *k, real *y, real *scratch)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_TILE, *C = B + STATE * ANT_TILE;
    real *pairs = take(&scratch, ANT_TILE), *decayed = take(&scratch, ANT_TILE),
         *drive = take(&scratch, m->inner), *until = take(&scratch, HEADS);
    memset(y, 0, m->inner * ANT_TILE * sizeof *y);
    o->multiply(p->entering + i->index * p->n, m->inner, STATE, C, y);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_TILE, until + h * ANT_TILE);
    weigh(m, until, y, y);
    weigh(m, k->delta, k->act, drive);
    memset(pairs, 0, ANT_TILE * ANT_TILE * sizeof *pairs);
    o->multiply_back(B, STATE, ANT_TILE, C, pairs); /* (C_t . B_r) at [r][t] */
    for (size_t h = 0; h < HEADS; h++) {
        const size_t row = h * m->head * ANT_TILE;
        memset(decayed, 0, ANT_TILE * ANT_TILE * sizeof *decayed);
        o->decay_earlier(k->decay + h * ANT_TILE, pairs, decayed);
        o->multiply(drive + row, m->head, ANT_TILE, decayed, y + row);
    }
}

/* The readout and its gradients; dv is set.  Uses 2 L + 2 N + 2 D rows of scratch. */
static void read_out(const linear *p, const item *i, const kept *k, const real *v, real *dv, real *scratch)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *theta = p->parameters;
    real *hidden = take(&scratch, m->L), *dhidden = take(&scratch, m->L), *r = take(&scratch, m->D),
         *dr = take(&scratch, m->D), *xhat = take(&scratch, m->N), *error = take(&scratch, m->N);
    ANT_FN(ant_tile_fill)(theta + m->b1, m->L, hidden);
    o->multiply(theta + m->W1, m->L, m->D, v, hidden);
    o->relu(m->L, hidden);
    ANT_FN(ant_tile_fill)(theta + m->b2, m->D, r);
    o->multiply(theta + m->W2, m->D, m->L, hidden, r);
    ANT_FN(ant_tile_fill)(theta + m->out_b, m->N, xhat);
    o->multiply(theta + m->out_W, m->N, m->D, r, xhat);
    ANT_FN(ant_linear_loss)(p, i, xhat, error);
    o->outer(error, m->N, r, m->D, sums_of(p, i, m->out_W));
    o->sum_rows(error, m->N, sums_of(p, i, m->out_b));
    memset(dr, 0, m->D * ANT_TILE * sizeof *dr);
    o->multiply_back(theta + m->out_W, m->N, m->D, error, dr);
    o->outer(dr, m->D, hidden, m->L, sums_of(p, i, m->W2));
    o->sum_rows(dr, m->D, sums_of(p, i, m->b2));
    memset(dhidden, 0, m->L * ANT_TILE * sizeof *dhidden);
    o->multiply_back(theta + m->W2, m->D, m->L, dr, dhidden);
    o->relu_back(m->L, hidden, dhidden);
    o->outer(dhidden, m->L, v, m->D, sums_of(p, i, m->W1));
    o->sum_rows(dhidden, m->L, sums_of(p, i, m->b1));
    o->multiply_back(theta + m->W1, m->L, m->D, dhidden, dv);
}

/* What the gate and its norm compute, (inner, ANT_TILE) each. */
typedef struct gating {
    real *y;              /* with the skip */
    real *opened;         /* sigmoid(gate) */
    real *normed;         /* norm_w o gated / rms, then its gradient */
    real scale[ANT_TILE]; /* 1 / rms */
} gating;

/* v = u + proj_out (norm_w o gated / rms(gated)), gated = y o silu(gate). */
static void gate(const linear *p, const kept *k, gating *g, real *v)
{
    const ant_mamba2 *m = &k->m;
    const real each = 1 / (real)m->inner;
    p->kernels->sigmoid(m->inner, k->q, g->opened);
    memset(g->scale, 0, sizeof g->scale);
    for (size_t c = 0; c < m->inner; c++) {
        const real skip = p->parameters[m->skip + c / m->head];
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = c * ANT_TILE + t;
            g->y[j] += skip * k->act[j];
            g->normed[j] = g->y[j] * k->q[j] * g->opened[j];
            g->scale[t] += each * g->normed[j] * g->normed[j];
        }
    }
    for (size_t t = 0; t < ANT_TILE; t++)
        g->scale[t] = 1 / r_sqrt(g->scale[t] + (real)ANT_MAMBA2_EPSILON);
    for (size_t c = 0; c < m->inner; c++) {
        for (size_t t = 0; t < ANT_TILE; t++)
            g->normed[c * ANT_TILE + t] *= g->scale[t] * p->parameters[m->norm_w + c];
    }
    memcpy(v, k->u, m->D * ANT_TILE * sizeof *v);
    p->kernels->multiply(p->parameters + m->proj_out, m->D, m->inner, g->normed, v);
}

/* From dv to dy and to the gate's rows of dq.  dnormed: (inner, ANT_TILE) scratch */
static void gate_back(const linear *p, const item *i, const kept *k, const gating *g, const real *dv,
                      real *dnormed)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real each = 1 / (real)m->inner;
    real along[ANT_TILE] = {0};
    o->outer(dv, m->D, g->normed, m->inner, sums_of(p, i, m->proj_out));
    memset(dnormed, 0, m->inner * ANT_TILE * sizeof *dnormed);
    o->multiply_back(p->parameters + m->proj_out, m->D, m->inner, dv, dnormed);
    for (size_t c = 0; c < m->inner; c++) {
        const real w = p->parameters[m->norm_w + c];
        real sum = 0;
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = c * ANT_TILE + t;
            const real gated = g->y[j] * k->q[j] * g->opened[j];
            sum += dnormed[j] * gated * g->scale[t];
            dnormed[j] *= w;
            along[t] += each * dnormed[j] * gated;
        }
        *sums_of(p, i, m->norm_w + c) += sum;
    }
    for (size_t c = 0; c < m->inner; c++) {
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = c * ANT_TILE + t;
            const real silu = k->q[j] * g->opened[j], scale = g->scale[t];
            const real dgated = scale * (dnormed[j] - g->y[j] * silu * scale * scale * along[t]);
            k->dy[j] = dgated * silu;
            k->dq[j] = dgated * g->y[j] * g->opened[j] * (1 + k->q[j] * (1 - g->opened[j]));
        }
    }
}

/* along = dy . (y - D x) per head, and the gradient of the skip.  y: with the skip */
static void skip_back(const linear *p, const item *i, const kept *k, const real *y)
{
    const ant_mamba2 *m = &k->m;
    memset(k->along, 0, HEADS * ANT_TILE * sizeof *k->along);
    for (size_t c = 0; c < m->inner; c++) {
        const size_t h = c / m->head;
        const real skip = p->parameters[m->skip + h];
        real sum = 0;
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = c * ANT_TILE + t;
            k->along[h * ANT_TILE + t] += k->dy[j] * (y[j] - skip * k->act[j]);
            sum += k->dy[j] * k->act[j];
        }
        *sums_of(p, i, m->skip + h) += sum;
    }
}

/* The tile's part of the adjoint of the state before it: sum_t E_t dy_t C_t^T. */
static void reverse_map(const linear *p, const item *i, const kept *k, real *scratch)
{
    const ant_mamba2 *m = &k->m;
    real *until = take(&scratch, HEADS), *decayed = take(&scratch, m->inner);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_TILE, until + h * ANT_TILE);
    weigh(m, until, k->dy, decayed);
    p->kernels->dots(decayed, m->inner, k->act + (m->inner + STATE) * ANT_TILE, STATE,
                     p->offset + i->index * p->n);
}

/* From the state before the tile to the loss, and back to dy, du and the reverse map. */
void ANT_FN(ant_mamba2_cross)(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->slot);
    gating g = {.y = take(&scratch, m->inner)};
    g.opened = take(&scratch, m->inner);
    g.normed = take(&scratch, m->inner);
    real *v = take(&scratch, m->D), *dv = take(&scratch, m->D);
    recur(p, i, &k, g.y, scratch);
    gate(p, &k, &g, v);
    ANT_FN(ant_tile_store)(v, i->count, m->D, p->states + (i->sequence * p->T + i->first) * m->D);
    memset(dv, 0, m->D * ANT_TILE * sizeof *dv);
    if (ANT_FN(ant_linear_counts)(p, i->first + i->count))
        read_out(p, i, &k, v, dv, scratch);
    gate_back(p, i, &k, &g, dv, scratch);
    skip_back(p, i, &k, g.y);
    memcpy(k.u, dv, m->D * ANT_TILE * sizeof *dv); /* from here on the gradient of u */
    reverse_map(p, i, &k, scratch);
}
