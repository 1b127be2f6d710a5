/* mamba2_method_tmpl.c - training of the Mamba-2 baseline by tiles (mamba2_items.h): features, and the map
 * of each tile. */
#include "solve/mamba2_items.h"

static size_t state(const ant_model_dims *d)
{
    return ANT_MAMBA2_EXPAND * d->M * STATE;
}

static size_t decays(const ant_model_dims *d)
{
    (void)d;
    return HEADS;
}

static size_t derived(const ant_model_layout *layout)
{
    (void)layout;
    return HEADS;
}

/* A = -exp(A_log). */
static void derive(const ant_model_layout *layout, const real *parameters, real *A)
{
    const ant_mamba2 m = ant_mamba2_of(layout);
    for (size_t h = 0; h < HEADS; h++)
        A[h] = -r_exp(parameters[m.A_log + h]);
}

/* Rows of ANT_TILE reals stored of an item between phases. */
static size_t kept_rows(const ant_mamba2 *m)
{
    return m->N + m->K + 3 * m->D + 1 + 2 * m->proj + 2 * m->conv + 3 * HEADS + m->inner;
}

static ant_mamba2 sizes(const ant_model_dims *d)
{
    ant_model_layout layout;
    return ant_model_layout_make(d, &layout) == ANTLER_OK ? ant_mamba2_of(&layout) : (ant_mamba2){0};
}

static size_t kept_count(const ant_model_dims *d)
{
    const ant_mamba2 m = sizes(d);
    return kept_rows(&m) * ANT_TILE;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The larger one of what `cross` and `leave` use. */
static size_t scratch_count(const ant_model_dims *d)
{
    const ant_mamba2 m = sizes(d);
    const size_t recurrence = 2 * ANT_TILE + m.inner + HEADS, readout = 2 * (m.L + m.N + m.D);
    const size_t crossing = 3 * m.inner + 2 * m.D + larger(recurrence, readout);
    const size_t leaving = 2 * (m.inner + m.conv + HEADS) + 3 * ANT_TILE + larger(m.inner, ANT_TILE);
    return larger(crossing, leaving) * ANT_TILE;
}

/* ---- before: features, and the map of the tile --------------------------------------------------- */

static void layer_norm(const linear *p, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const real each = 1 / (real)m->D;
    real mean[ANT_TILE] = {0}, variance[ANT_TILE] = {0};
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_TILE; t++)
            mean[t] += each * k->u[d * ANT_TILE + t];
    }
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_TILE; t++) {
            const real from = k->u[d * ANT_TILE + t] - mean[t];
            variance[t] += each * from * from;
        }
    }
    for (size_t t = 0; t < ANT_TILE; t++)
        k->rstd[t] = 1 / r_sqrt(variance[t] + (real)ANT_MAMBA2_EPSILON);
    for (size_t d = 0; d < m->D; d++) {
        const real w = p->parameters[m->ln_w + d], b = p->parameters[m->ln_b + d];
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = d * ANT_TILE + t;
            k->hat[j] = (k->u[j] - mean[t]) * k->rstd[t];
            k->normed[j] = k->hat[j] * w + b;
        }
    }
}

/* u, LayerNorm and q. */
static void project(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    const kernels *o = p->kernels;
    ANT_FN(ant_tile_load)(i->x, i->count, m->N, k.x);
    ANT_FN(ant_tile_fill)(p->parameters + m->in_b, m->D, k.u);
    o->multiply(p->parameters + m->in_W, m->D, m->N, k.x, k.u);
    if (m->K > 0) {
        ANT_FN(ant_tile_load)(i->s, i->count, m->K, k.s);
        o->multiply(p->parameters + m->C, m->D, m->K, k.s, k.u);
    }
    layer_norm(p, &k);
    memset(k.q, 0, m->proj * ANT_TILE * sizeof *k.q);
    o->multiply(p->parameters + m->proj_in, m->proj, m->D, k.normed, k.q);
}

/* conv and act. */
static void convolve(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const kept before = kept_before(p, i);
    real line[PAST + ANT_TILE];
    for (size_t c = 0; c < m->conv; c++) {
        const real *W = p->parameters + m->conv_W + c * TAPS, b = p->parameters[m->conv_b + c];
        real *out = k->conv + c * ANT_TILE;
        line_of(k, &before, c, line);
        for (size_t t = 0; t < ANT_TILE; t++)
            out[t] = b + W[0] * line[t] + W[1] * line[t + 1] + W[2] * line[t + 2] + W[3] * line[t + 3];
    }
    p->kernels->sigmoid(m->conv, k->conv, k->act);
    for (size_t j = 0; j < m->conv * ANT_TILE; j++)
        k->act[j] *= k->conv[j];
}

/* Delta and decay; past the end of the sequence the state stays as it is. */
static void discretise(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    for (size_t h = 0; h < HEADS; h++) {
        const real *dt = k->q + (m->inner + m->conv + h) * ANT_TILE, bias = p->parameters[m->dt_bias + h];
        for (size_t t = 0; t < ANT_TILE; t++) {
            const real raw = dt[t] + bias, size = r_fabs(raw);
            const real delta = (raw > 0 ? raw : 0) + (real)log1p(exp(-(double)size));
            k->delta[h * ANT_TILE + t] = t < i->count ? delta : 0;
            k->decay[h * ANT_TILE + t] = p->derived[h] * k->delta[h * ANT_TILE + t];
        }
    }
    p->kernels->exponential(HEADS, k->decay, k->decay);
}

/* Convolution, discretisation, and the map: decays E_last and offset sum_r S_r w_r B_r^T. */
static void enter(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->slot);
    real *later = take(&scratch, HEADS), *drive = take(&scratch, m->inner);
    convolve(p, i, &k);
    discretise(p, i, &k);
    for (size_t h = 0; h < HEADS; h++) {
        const real *decay = k.decay + h * ANT_TILE;
        real *after = later + h * ANT_TILE;
        decay_after(decay, after);
        p->decay[i->index * HEADS + h] = after[0] * decay[0];
    }
    weigh(m, k.delta, k.act, drive);
    weigh(m, later, drive, drive);
    p->kernels->dots(drive, m->inner, k.act + m->inner * ANT_TILE, STATE, p->offset + i->index * p->n);
}

const ANT_FN(ant_linear_model) ANT_FN(ant_linear_mamba2) = {
    .name = "mamba2",
    .state = state,
    .decays = decays,
    .kept = kept_count,
    .scratch = scratch_count,
    .derived = derived,
    .reference_work = ANT_FN(ant_mamba2_reference_work),
    .derive = derive,
    .before = {project, enter},
    .between = {ANT_FN(ant_mamba2_cross)},
    .after = {ANT_FN(ant_mamba2_leave), ANT_FN(ant_mamba2_project_back)},
    .reference = ANT_FN(ant_mamba2_reference),
};
