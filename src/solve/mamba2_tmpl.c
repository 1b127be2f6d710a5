/*
 * mamba2_tmpl.c - training of the Mamba-2 baseline by blocks (linear.h): the chunked form of its recurrence.
 *
 * Within a block let E_t be the product of the decays up to t, D_tr that over r < k <= t, S_r that after r,
 * and w_r = Delta_r x_r.  A head that enters with state H gives (SSD, Dao and Gu 2024)
 *
 *     y_t   = E_t H C_t + sum_{r<=t} D_tr (C_t . B_r) w_r + D x_t
 *     H_out = E_last H + sum_r S_r w_r B_r^T
 *
 * which are products of small matrices.  Backwards, with G the adjoint of H_out:
 *
 *     dw_r  = sum_{t>=r} D_tr (C_t . B_r) dy_t + S_r G B_r
 *     dH    = E_last G + sum_t E_t dy_t C_t^T
 *     dC_t  = sum_r dK_tr B_r + E_t H^T dy_t         with dK_tr = D_tr (dy_t . w_r)
 *     dB_r  = sum_t dK_tr C_t + S_r G^T w_r
 *     dlog a_t = sum_{k>=t} [dy_k . (y_k - D x_k) - w_k . dw_k] + <G, H_out>
 *
 * The last one collects all that grows with the decay of step t.
 */
#include "solve/mamba2.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_item) item;
typedef ANT_FN(ant_block_kernels) kernels;

enum { STATE = ANT_MAMBA2_STATE, HEADS = ANT_MAMBA2_HEADS, PAST = ANT_MAMBA2_PAST, TAPS = ANT_MAMBA2_TAPS };

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

/* What an item keeps; each array has ANT_BLOCK columns. */
typedef struct kept {
    ant_mamba2 m;
    real *x;      /* (N): x_{t-1} */
    real *s;      /* (K) */
    real *u;      /* (D): on the way back du */
    real *hat;    /* (D): u without mean, at variance 1 */
    real *normed; /* (D) */
    real *rstd;   /* (1) */
    real *q;      /* (proj) */
    real *dq;     /* (proj) */
    real *conv;   /* (conv): before silu; on the way back its gradient */
    real *act;    /* (conv): after it */
    real *delta;  /* (HEADS) */
    real *decay;  /* (HEADS) */
    real *dy;     /* (inner) */
    real *along;  /* (HEADS): dy . (y - D x) */
} kept;

/* Rows of ANT_BLOCK reals that an item keeps. */
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
    return kept_rows(&m) * ANT_BLOCK;
}

/* Take `rows` off the front. */
static real *take(real **from, size_t rows)
{
    real *taken = *from;
    *from += rows * ANT_BLOCK;
    return taken;
}

static kept kept_of(const linear *p, size_t index)
{
    kept k = {.m = ant_mamba2_of(&p->layout)};
    real *from = ANT_FN(ant_linear_kept)(p, index);
    k.x = take(&from, k.m.N);
    k.s = take(&from, k.m.K);
    k.u = take(&from, k.m.D);
    k.hat = take(&from, k.m.D);
    k.normed = take(&from, k.m.D);
    k.rstd = take(&from, 1);
    k.q = take(&from, k.m.proj);
    k.dq = take(&from, k.m.proj);
    k.conv = take(&from, k.m.conv);
    k.act = take(&from, k.m.conv);
    k.delta = take(&from, HEADS);
    k.decay = take(&from, HEADS);
    k.dy = take(&from, k.m.inner);
    k.along = take(&from, HEADS);
    return k;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The largest need of a phase: `cross` or `leave`. */
static size_t scratch_count(const ant_model_dims *d)
{
    const ant_mamba2 m = sizes(d);
    const size_t recurrence = 2 * ANT_BLOCK + m.inner + HEADS, readout = 2 * (m.L + m.N + m.D);
    const size_t crossing = 3 * m.inner + 2 * m.D + larger(recurrence, readout);
    const size_t leaving = 2 * (m.inner + m.conv + HEADS) + 3 * ANT_BLOCK + larger(m.inner, ANT_BLOCK);
    return larger(crossing, leaving) * ANT_BLOCK;
}

/* Partial sums of the parameter at `offset`. */
static real *sums_of(const linear *p, const item *i, size_t offset)
{
    return ANT_FN(ant_linear_sums)(p, i->tile, offset);
}

/* ---- before: features, and the map of the block --------------------------------------------------- */

static void layer_norm(const linear *p, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const real each = 1 / (real)m->D;
    real mean[ANT_BLOCK] = {0}, variance[ANT_BLOCK] = {0};
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_BLOCK; t++)
            mean[t] += each * k->u[d * ANT_BLOCK + t];
    }
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const real from = k->u[d * ANT_BLOCK + t] - mean[t];
            variance[t] += each * from * from;
        }
    }
    for (size_t t = 0; t < ANT_BLOCK; t++)
        k->rstd[t] = 1 / r_sqrt(variance[t] + (real)ANT_MAMBA2_EPSILON);
    for (size_t d = 0; d < m->D; d++) {
        const real w = p->parameters[m->ln_w + d], b = p->parameters[m->ln_b + d];
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = d * ANT_BLOCK + t;
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
    ANT_FN(ant_block_load)(i->x, i->count, m->N, k.x);
    ANT_FN(ant_block_fill)(p->parameters + m->in_b, m->D, k.u);
    o->multiply(p->parameters + m->in_W, m->D, m->N, k.x, k.u);
    if (m->K > 0) {
        ANT_FN(ant_block_load)(i->s, i->count, m->K, k.s);
        o->multiply(p->parameters + m->C, m->D, m->K, k.s, k.u);
    }
    layer_norm(p, &k);
    memset(k.q, 0, m->proj * ANT_BLOCK * sizeof *k.q);
    o->multiply(p->parameters + m->proj_in, m->proj, m->D, k.normed, k.q);
}

/* What the blocks before and after keep; nothing at the ends of the sequence. */
static kept kept_before(const linear *p, const item *i)
{
    return i->block == 0 ? (kept){.q = NULL} : kept_of(p, i->index - 1);
}

static kept kept_after(const linear *p, const item *i)
{
    return i->block + 1 == p->blocks ? (kept){.conv = NULL} : kept_of(p, i->index + 1);
}

/* A channel's inputs of the convolution with those of the last steps before.  line: (PAST + ANT_BLOCK) */
static void line_of(const kept *k, const kept *before, size_t channel, real *line)
{
    const size_t row = (k->m.inner + channel) * ANT_BLOCK; /* behind the gate */
    for (size_t t = 0; t < PAST; t++)
        line[t] = before->q == NULL ? 0 : before->q[row + ANT_BLOCK - PAST + t];
    memcpy(line + PAST, k->q + row, ANT_BLOCK * sizeof *line);
}

/* conv and act. */
static void convolve(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const kept before = kept_before(p, i);
    real line[PAST + ANT_BLOCK];
    for (size_t c = 0; c < m->conv; c++) {
        const real *W = p->parameters + m->conv_W + c * TAPS, b = p->parameters[m->conv_b + c];
        real *out = k->conv + c * ANT_BLOCK;
        line_of(k, &before, c, line);
        for (size_t t = 0; t < ANT_BLOCK; t++)
            out[t] = b + W[0] * line[t] + W[1] * line[t + 1] + W[2] * line[t + 2] + W[3] * line[t + 3];
    }
    p->kernels->sigmoid(m->conv, k->conv, k->act);
    for (size_t j = 0; j < m->conv * ANT_BLOCK; j++)
        k->act[j] *= k->conv[j];
}

/* Delta and decay; past the end of the sequence the state stays as it is. */
static void discretise(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    for (size_t h = 0; h < HEADS; h++) {
        const real *dt = k->q + (m->inner + m->conv + h) * ANT_BLOCK, bias = p->parameters[m->dt_bias + h];
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const real raw = dt[t] + bias, size = r_fabs(raw);
            const real delta = (raw > 0 ? raw : 0) + (real)log1p(exp(-(double)size));
            k->delta[h * ANT_BLOCK + t] = t < i->count ? delta : 0;
            k->decay[h * ANT_BLOCK + t] = p->derived[h] * k->delta[h * ANT_BLOCK + t];
        }
    }
    p->kernels->exponential(HEADS, k->decay, k->decay);
}

/* S_r: the product of the decays after r.  decay, out: (ANT_BLOCK) */
static void decay_after(const real *decay, real *out)
{
    out[ANT_BLOCK - 1] = 1;
    for (size_t t = ANT_BLOCK - 1; t-- > 0;)
        out[t] = out[t + 1] * decay[t + 1];
}

/* E_t: the product of the decays up to t. */
static void decay_until(const real *decay, real *out)
{
    out[0] = decay[0];
    for (size_t t = 1; t < ANT_BLOCK; t++)
        out[t] = out[t - 1] * decay[t];
}

/* out_i = weight_head o in_i for every channel.  weight: (HEADS, ANT_BLOCK); in, out: (inner, ANT_BLOCK) */
static void weigh(const ant_mamba2 *m, const real *weight, const real *in, real *out)
{
    for (size_t c = 0; c < m->inner; c++) {
        const real *w = weight + c / m->head * ANT_BLOCK;
        for (size_t t = 0; t < ANT_BLOCK; t++)
            out[c * ANT_BLOCK + t] = w[t] * in[c * ANT_BLOCK + t];
    }
}

/* Convolution, discretisation, and the map: decays E_last and offset sum_r S_r w_r B_r^T. */
static void enter(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->tile);
    real *later = take(&scratch, HEADS), *drive = take(&scratch, m->inner);
    convolve(p, i, &k);
    discretise(p, i, &k);
    for (size_t h = 0; h < HEADS; h++) {
        const real *decay = k.decay + h * ANT_BLOCK;
        real *after = later + h * ANT_BLOCK;
        decay_after(decay, after);
        p->decay[i->index * HEADS + h] = after[0] * decay[0];
    }
    weigh(m, k.delta, k.act, drive);
    weigh(m, later, drive, drive);
    p->kernels->dots(drive, m->inner, k.act + m->inner * ANT_BLOCK, STATE, p->offset + i->index * p->n);
}

/* ---- between: outputs, loss, and back to the recurrence ------------------------------------------- */

/* y without the skip, from the state that enters.  Uses 2 ANT_BLOCK + inner + HEADS rows of scratch. */
static void recur(const linear *p, const item *i, const kept *k, real *y, real *scratch)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_BLOCK, *C = B + STATE * ANT_BLOCK;
    real *pairs = take(&scratch, ANT_BLOCK), *decayed = take(&scratch, ANT_BLOCK),
         *drive = take(&scratch, m->inner), *until = take(&scratch, HEADS);
    memset(y, 0, m->inner * ANT_BLOCK * sizeof *y);
    o->multiply(p->entering + i->index * p->n, m->inner, STATE, C, y);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_BLOCK, until + h * ANT_BLOCK);
    weigh(m, until, y, y);
    weigh(m, k->delta, k->act, drive);
    memset(pairs, 0, ANT_BLOCK * ANT_BLOCK * sizeof *pairs);
    o->multiply_back(B, STATE, ANT_BLOCK, C, pairs); /* (C_t . B_r) at [r][t] */
    for (size_t h = 0; h < HEADS; h++) {
        const size_t row = h * m->head * ANT_BLOCK;
        memset(decayed, 0, ANT_BLOCK * ANT_BLOCK * sizeof *decayed);
        o->decay_earlier(k->decay + h * ANT_BLOCK, pairs, decayed);
        o->multiply(drive + row, m->head, ANT_BLOCK, decayed, y + row);
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
    ANT_FN(ant_block_fill)(theta + m->b1, m->L, hidden);
    o->multiply(theta + m->W1, m->L, m->D, v, hidden);
    o->relu(m->L, hidden);
    ANT_FN(ant_block_fill)(theta + m->b2, m->D, r);
    o->multiply(theta + m->W2, m->D, m->L, hidden, r);
    ANT_FN(ant_block_fill)(theta + m->out_b, m->N, xhat);
    o->multiply(theta + m->out_W, m->N, m->D, r, xhat);
    ANT_FN(ant_linear_loss)(p, i, xhat, error);
    o->outer(error, m->N, r, m->D, sums_of(p, i, m->out_W));
    o->sum_rows(error, m->N, sums_of(p, i, m->out_b));
    memset(dr, 0, m->D * ANT_BLOCK * sizeof *dr);
    o->multiply_back(theta + m->out_W, m->N, m->D, error, dr);
    o->outer(dr, m->D, hidden, m->L, sums_of(p, i, m->W2));
    o->sum_rows(dr, m->D, sums_of(p, i, m->b2));
    memset(dhidden, 0, m->L * ANT_BLOCK * sizeof *dhidden);
    o->multiply_back(theta + m->W2, m->D, m->L, dr, dhidden);
    o->relu_back(m->L, hidden, dhidden);
    o->outer(dhidden, m->L, v, m->D, sums_of(p, i, m->W1));
    o->sum_rows(dhidden, m->L, sums_of(p, i, m->b1));
    o->multiply_back(theta + m->W1, m->L, m->D, dhidden, dv);
}

/* What the gate and its norm compute, (inner, ANT_BLOCK) each. */
typedef struct gating {
    real *y;               /* with the skip */
    real *opened;          /* sigmoid(gate) */
    real *normed;          /* norm_w o gated / rms, then its gradient */
    real scale[ANT_BLOCK]; /* 1 / rms */
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
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = c * ANT_BLOCK + t;
            g->y[j] += skip * k->act[j];
            g->normed[j] = g->y[j] * k->q[j] * g->opened[j];
            g->scale[t] += each * g->normed[j] * g->normed[j];
        }
    }
    for (size_t t = 0; t < ANT_BLOCK; t++)
        g->scale[t] = 1 / r_sqrt(g->scale[t] + (real)ANT_MAMBA2_EPSILON);
    for (size_t c = 0; c < m->inner; c++) {
        for (size_t t = 0; t < ANT_BLOCK; t++)
            g->normed[c * ANT_BLOCK + t] *= g->scale[t] * p->parameters[m->norm_w + c];
    }
    memcpy(v, k->u, m->D * ANT_BLOCK * sizeof *v);
    p->kernels->multiply(p->parameters + m->proj_out, m->D, m->inner, g->normed, v);
}

/* From dv to dy and to the gate's rows of dq.  dnormed: (inner, ANT_BLOCK) scratch */
static void gate_back(const linear *p, const item *i, const kept *k, const gating *g, const real *dv,
                      real *dnormed)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real each = 1 / (real)m->inner;
    real along[ANT_BLOCK] = {0};
    o->outer(dv, m->D, g->normed, m->inner, sums_of(p, i, m->proj_out));
    memset(dnormed, 0, m->inner * ANT_BLOCK * sizeof *dnormed);
    o->multiply_back(p->parameters + m->proj_out, m->D, m->inner, dv, dnormed);
    for (size_t c = 0; c < m->inner; c++) {
        const real w = p->parameters[m->norm_w + c];
        real sum = 0;
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = c * ANT_BLOCK + t;
            const real gated = g->y[j] * k->q[j] * g->opened[j];
            sum += dnormed[j] * gated * g->scale[t];
            dnormed[j] *= w;
            along[t] += each * dnormed[j] * gated;
        }
        *sums_of(p, i, m->norm_w + c) += sum;
    }
    for (size_t c = 0; c < m->inner; c++) {
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = c * ANT_BLOCK + t;
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
    memset(k->along, 0, HEADS * ANT_BLOCK * sizeof *k->along);
    for (size_t c = 0; c < m->inner; c++) {
        const size_t h = c / m->head;
        const real skip = p->parameters[m->skip + h];
        real sum = 0;
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = c * ANT_BLOCK + t;
            k->along[h * ANT_BLOCK + t] += k->dy[j] * (y[j] - skip * k->act[j]);
            sum += k->dy[j] * k->act[j];
        }
        *sums_of(p, i, m->skip + h) += sum;
    }
}

/* The block's part of the adjoint of the state that enters: sum_t E_t dy_t C_t^T. */
static void reverse_map(const linear *p, const item *i, const kept *k, real *scratch)
{
    const ant_mamba2 *m = &k->m;
    real *until = take(&scratch, HEADS), *decayed = take(&scratch, m->inner);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_BLOCK, until + h * ANT_BLOCK);
    weigh(m, until, k->dy, decayed);
    p->kernels->dots(decayed, m->inner, k->act + (m->inner + STATE) * ANT_BLOCK, STATE,
                     p->offset + i->index * p->n);
}

/* From the state that enters to the loss, and back to dy, du and the reverse map. */
static void cross(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->tile);
    gating g = {.y = take(&scratch, m->inner)};
    g.opened = take(&scratch, m->inner);
    g.normed = take(&scratch, m->inner);
    real *v = take(&scratch, m->D), *dv = take(&scratch, m->D);
    recur(p, i, &k, g.y, scratch);
    gate(p, &k, &g, v);
    ANT_FN(ant_block_store)(v, i->count, m->D, p->states + (i->sequence * p->T + i->first) * m->D);
    memset(dv, 0, m->D * ANT_BLOCK * sizeof *dv);
    if (ANT_FN(ant_linear_counts)(p, i->first + i->count))
        read_out(p, i, &k, v, dv, scratch);
    gate_back(p, i, &k, &g, dv, scratch);
    skip_back(p, i, &k, g.y);
    memcpy(k.u, dv, m->D * ANT_BLOCK * sizeof *dv); /* from here on the gradient of u */
    reverse_map(p, i, &k, scratch);
}

/* ---- after: back through the recurrence, the convolution and the projections ---------------------- */

/* Everything that the way back through the recurrence shares. */
typedef struct back {
    real *drive;                             /* (inner): w = Delta x */
    real *ddrive;                            /* (inner): dw */
    real *dact;                              /* (conv) */
    real *later;                             /* (HEADS): S */
    real *dlog;                              /* (HEADS): dlog a */
    real *pairs, *decayed, *slopes, *turned; /* (ANT_BLOCK) */
} back;

/* dw = sum_{t>=r} D_tr (C_t . B_r) dy_t + S_r G B_r. */
static void drive_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_BLOCK, *C = B + STATE * ANT_BLOCK;
    memset(b->ddrive, 0, m->inner * ANT_BLOCK * sizeof *b->ddrive);
    o->multiply(p->leaving + i->index * p->n, m->inner, STATE, B, b->ddrive);
    weigh(m, b->later, b->ddrive, b->ddrive);
    memset(b->pairs, 0, ANT_BLOCK * ANT_BLOCK * sizeof *b->pairs);
    o->multiply_back(C, STATE, ANT_BLOCK, B, b->pairs); /* (C_t . B_r) at [t][r] */
    for (size_t h = 0; h < HEADS; h++) {
        const size_t row = h * m->head * ANT_BLOCK;
        memset(b->decayed, 0, ANT_BLOCK * ANT_BLOCK * sizeof *b->decayed);
        o->decay_later(k->decay + h * ANT_BLOCK, b->pairs, b->decayed);
        o->multiply(k->dy + row, m->head, ANT_BLOCK, b->decayed, b->ddrive + row);
    }
}

/* dB and dC, which all heads share. */
static void pairs_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_BLOCK, *C = B + STATE * ANT_BLOCK;
    real *dB = b->dact + m->inner * ANT_BLOCK, *dC = dB + STATE * ANT_BLOCK;
    memset(dB, 0, 2 * STATE * ANT_BLOCK * sizeof *dB);
    memset(b->slopes, 0, ANT_BLOCK * ANT_BLOCK * sizeof *b->slopes);
    for (size_t h = 0; h < HEADS; h++) { /* dK_tr = sum over heads of D_tr (dy_t . w_r) */
        const size_t row = h * m->head * ANT_BLOCK;
        memset(b->pairs, 0, ANT_BLOCK * ANT_BLOCK * sizeof *b->pairs);
        o->multiply_back(k->dy + row, m->head, ANT_BLOCK, b->drive + row, b->pairs);
        o->decay_later(k->decay + h * ANT_BLOCK, b->pairs, b->slopes);
    }
    ANT_FN(ant_block_load)(b->slopes, ANT_BLOCK, ANT_BLOCK, b->turned); /* its transpose */
    o->multiply(C, STATE, ANT_BLOCK, b->slopes, dB);
    o->multiply(B, STATE, ANT_BLOCK, b->turned, dC);
    weigh(m, b->later, b->drive, b->decayed);
    o->multiply_back(p->leaving + i->index * p->n, m->inner, STATE, b->decayed, dB);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_BLOCK, b->dlog + h * ANT_BLOCK);
    weigh(m, b->dlog, k->dy, b->decayed);
    o->multiply_back(p->entering + i->index * p->n, m->inner, STATE, b->decayed, dC);
}

/* <G, H_out> of a head: H_out enters the next block, and after the last one G is 0. */
static real leaving_product(const linear *p, const item *i, size_t head)
{
    const size_t each = p->n / HEADS, from = i->index * p->n + head * each;
    real sum = 0;
    for (size_t j = from; j < from + each && i->block + 1 < p->blocks; j++)
        sum += p->leaving[j] * p->entering[p->n + j];
    return sum;
}

/* dlog a, and with it the gradients of Delta (the rows dt of dq), A_log and dt_bias. */
static void decay_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    real *raw = b->dlog; /* (HEADS): dt + dt_bias, then its sigmoid */
    real *ddt = k->dq + (m->inner + m->conv) * ANT_BLOCK;
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t t = 0; t < ANT_BLOCK; t++)
            raw[h * ANT_BLOCK + t] =
                k->q[(m->inner + m->conv + h) * ANT_BLOCK + t] + p->parameters[m->dt_bias + h];
    }
    p->kernels->sigmoid(HEADS, raw, raw);
    for (size_t h = 0; h < HEADS; h++) {
        const real A = p->derived[h];
        real dA = 0, dbias = 0, along[ANT_BLOCK], direct[ANT_BLOCK] = {0}, dlog = leaving_product(p, i, h);
        memcpy(along, k->along + h * ANT_BLOCK, sizeof along);
        for (size_t c = h * m->head; c < (h + 1) * m->head; c++) {
            for (size_t t = 0; t < ANT_BLOCK; t++) {
                along[t] -= b->drive[c * ANT_BLOCK + t] * b->ddrive[c * ANT_BLOCK + t];
                direct[t] += k->act[c * ANT_BLOCK + t] * b->ddrive[c * ANT_BLOCK + t];
            }
        }
        for (size_t t = ANT_BLOCK; t-- > 0;) {
            const size_t j = h * ANT_BLOCK + t;
            dlog += along[t];
            dA += k->delta[j] * dlog;
            ddt[j] = t < i->count ? (direct[t] + A * dlog) * raw[j] : 0;
            dbias += ddt[j];
        }
        *sums_of(p, i, m->A_log + h) += dA * A;
        *sums_of(p, i, m->dt_bias + h) += dbias;
    }
}

/* From dact to the gradient before silu, in k->conv. */
static void silu_back(const linear *p, const kept *k, const real *dact, real *opened)
{
    const size_t count = k->m.conv * ANT_BLOCK;
    p->kernels->sigmoid(k->m.conv, k->conv, opened);
    for (size_t j = 0; j < count; j++)
        k->conv[j] = dact[j] * opened[j] * (1 + k->conv[j] * (1 - opened[j]));
}

static void leave(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->tile);
    back b = {.drive = take(&scratch, m->inner), .ddrive = take(&scratch, m->inner)};
    b.dact = take(&scratch, m->conv);
    b.later = take(&scratch, HEADS);
    b.dlog = take(&scratch, HEADS);
    b.pairs = take(&scratch, ANT_BLOCK);
    b.decayed = take(&scratch, m->inner > ANT_BLOCK ? m->inner : ANT_BLOCK);
    b.slopes = take(&scratch, ANT_BLOCK);
    b.turned = take(&scratch, ANT_BLOCK);
    for (size_t h = 0; h < HEADS; h++)
        decay_after(k.decay + h * ANT_BLOCK, b.later + h * ANT_BLOCK);
    weigh(m, k.delta, k.act, b.drive);
    drive_back(p, i, &k, &b);
    pairs_back(p, i, &k, &b);
    decay_back(p, i, &k, &b);
    weigh(m, k.delta, b.ddrive, b.dact);
    for (size_t c = 0; c < m->inner; c++) {
        const real skip = p->parameters[m->skip + c / m->head];
        for (size_t t = 0; t < ANT_BLOCK; t++)
            b.dact[c * ANT_BLOCK + t] += skip * k.dy[c * ANT_BLOCK + t];
    }
    silu_back(p, &k, b.dact, scratch);
}

/* The convolution's rows of dq, and the gradients of its weights; k->conv holds its gradient. */
static void convolution_back(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const kept before = kept_before(p, i), after = kept_after(p, i);
    real line[PAST + ANT_BLOCK], slope[ANT_BLOCK + PAST];
    p->kernels->sum_rows(k->conv, m->conv, sums_of(p, i, m->conv_b));
    for (size_t c = 0; c < m->conv; c++) {
        const real *W = p->parameters + m->conv_W + c * TAPS;
        real *out = k->dq + (m->inner + c) * ANT_BLOCK;
        line_of(k, &before, c, line);
        memcpy(slope, k->conv + c * ANT_BLOCK, ANT_BLOCK * sizeof *slope);
        for (size_t t = 0; t < PAST; t++)
            slope[ANT_BLOCK + t] = after.conv == NULL ? 0 : after.conv[c * ANT_BLOCK + t];
        for (size_t t = 0; t < ANT_BLOCK; t++)
            out[t] = W[3] * slope[t] + W[2] * slope[t + 1] + W[1] * slope[t + 2] + W[0] * slope[t + 3];
        for (size_t tap = 0; tap < TAPS; tap++) {
            real sum = 0;
            for (size_t t = 0; t < ANT_BLOCK; t++)
                sum += slope[t] * line[t + tap];
            *sums_of(p, i, m->conv_W + c * TAPS + tap) += sum;
        }
    }
}

/* dnormed, from proj_in, through the LayerNorm: adds to du. */
static void layer_norm_back(const linear *p, const item *i, const kept *k, real *dnormed)
{
    const ant_mamba2 *m = &k->m;
    const real each = 1 / (real)m->D;
    real mean[ANT_BLOCK] = {0}, along[ANT_BLOCK] = {0};
    p->kernels->sum_rows(dnormed, m->D, sums_of(p, i, m->ln_b));
    for (size_t d = 0; d < m->D; d++) {
        real sum = 0;
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = d * ANT_BLOCK + t;
            sum += dnormed[j] * k->hat[j];
            dnormed[j] *= p->parameters[m->ln_w + d];
            mean[t] += each * dnormed[j];
            along[t] += each * dnormed[j] * k->hat[j];
        }
        *sums_of(p, i, m->ln_w + d) += sum;
    }
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_BLOCK; t++) {
            const size_t j = d * ANT_BLOCK + t;
            k->u[j] += k->rstd[t] * (dnormed[j] - mean[t] - k->hat[j] * along[t]);
        }
    }
}

static void project_back(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    const kernels *o = p->kernels;
    real *dnormed = ANT_FN(ant_linear_scratch)(p, i->tile);
    convolution_back(p, i, &k);
    o->outer(k.dq, m->proj, k.normed, m->D, sums_of(p, i, m->proj_in));
    memset(dnormed, 0, m->D * ANT_BLOCK * sizeof *dnormed);
    o->multiply_back(p->parameters + m->proj_in, m->proj, m->D, k.dq, dnormed);
    layer_norm_back(p, i, &k, dnormed);
    o->outer(k.u, m->D, k.x, m->N, sums_of(p, i, m->in_W));
    o->sum_rows(k.u, m->D, sums_of(p, i, m->in_b));
    if (m->K > 0)
        o->outer(k.u, m->D, k.s, m->K, sums_of(p, i, m->C));
}

static const ANT_FN(ant_linear_model) mamba2 = {
    .name = "mamba2",
    .state = state,
    .decays = decays,
    .kept = kept_count,
    .scratch = scratch_count,
    .derived = derived,
    .reference_work = ANT_FN(ant_mamba2_reference_work),
    .derive = derive,
    .before = {project, enter},
    .between = {cross},
    .after = {leave, project_back},
    .reference = ANT_FN(ant_mamba2_reference),
};

static antler_status create(const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, void **plan)
{
    return ANT_FN(ant_linear_create)(&mamba2, layout, T, batch, options, plan);
}

const ANT_FN(ant_method) ANT_FN(ant_method_mamba2) = ANT_LINEAR_METHOD(create);
