/* mamba2_leave_tmpl.c - the Mamba-2 baseline back through recurrence, convolution and projections. */
#include "solve/mamba2_items.h"

/* Scratch of the backward pass through the recurrence. */
typedef struct back {
    real *drive;                             /* (inner): w = Delta x */
    real *ddrive;                            /* (inner): dw */
    real *dact;                              /* (conv) */
    real *later;                             /* (HEADS): S */
    real *dlog;                              /* (HEADS): dlog a */
    real *pairs, *decayed, *slopes, *turned; /* (ANT_TILE) */
} back;

/* dw = sum_{t>=r} D_tr (C_t . B_r) dy_t + S_r G B_r. */
static void drive_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_TILE, *C = B + STATE * ANT_TILE;
    memset(b->ddrive, 0, m->inner * ANT_TILE * sizeof *b->ddrive);
    o->multiply(p->leaving + i->index * p->n, m->inner, STATE, B, b->ddrive);
    weigh(m, b->later, b->ddrive, b->ddrive);
    memset(b->pairs, 0, ANT_TILE * ANT_TILE * sizeof *b->pairs);
    o->multiply_back(C, STATE, ANT_TILE, B, b->pairs); /* (C_t . B_r) at [t][r] */
    for (size_t h = 0; h < HEADS; h++) {
        const size_t row = h * m->head * ANT_TILE;
        memset(b->decayed, 0, ANT_TILE * ANT_TILE * sizeof *b->decayed);
        o->decay_later(k->decay + h * ANT_TILE, b->pairs, b->decayed);
        o->multiply(k->dy + row, m->head, ANT_TILE, b->decayed, b->ddrive + row);
    }
}

/* dB and dC, which all heads share. */
static void pairs_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    const kernels *o = p->kernels;
    const real *B = k->act + m->inner * ANT_TILE, *C = B + STATE * ANT_TILE;
    real *dB = b->dact + m->inner * ANT_TILE, *dC = dB + STATE * ANT_TILE;
    memset(dB, 0, 2 * STATE * ANT_TILE * sizeof *dB);
    memset(b->slopes, 0, ANT_TILE * ANT_TILE * sizeof *b->slopes);
    for (size_t h = 0; h < HEADS; h++) { /* dK_tr = sum over heads of D_tr (dy_t . w_r) */
        const size_t row = h * m->head * ANT_TILE;
        memset(b->pairs, 0, ANT_TILE * ANT_TILE * sizeof *b->pairs);
        o->multiply_back(k->dy + row, m->head, ANT_TILE, b->drive + row, b->pairs);
        o->decay_later(k->decay + h * ANT_TILE, b->pairs, b->slopes);
    }
    ANT_FN(ant_tile_load)(b->slopes, ANT_TILE, ANT_TILE, b->turned); /* its transpose */
    o->multiply(C, STATE, ANT_TILE, b->slopes, dB);
    o->multiply(B, STATE, ANT_TILE, b->turned, dC);
    weigh(m, b->later, b->drive, b->decayed);
    o->multiply_back(p->leaving + i->index * p->n, m->inner, STATE, b->decayed, dB);
    for (size_t h = 0; h < HEADS; h++)
        decay_until(k->decay + h * ANT_TILE, b->dlog + h * ANT_TILE);
    weigh(m, b->dlog, k->dy, b->decayed);
    o->multiply_back(p->entering + i->index * p->n, m->inner, STATE, b->decayed, dC);
}

/* <G, H_out> of a head: H_out enters the next tile, and after the last one G is 0. */
static real leaving_product(const linear *p, const item *i, size_t head)
{
    const size_t each = p->n / HEADS, from = i->index * p->n + head * each;
    real sum = 0;
    for (size_t j = from; j < from + each && i->tile + 1 < p->tiles; j++)
        sum += p->leaving[j] * p->entering[p->n + j];
    return sum;
}

/* dlog a, and with it the gradients of Delta (the rows dt of dq), A_log and dt_bias. */
static void decay_back(const linear *p, const item *i, const kept *k, const back *b)
{
    const ant_mamba2 *m = &k->m;
    real *raw = b->dlog; /* (HEADS): dt + dt_bias, then its sigmoid */
    real *ddt = k->dq + (m->inner + m->conv) * ANT_TILE;
    for (size_t h = 0; h < HEADS; h++) {
        for (size_t t = 0; t < ANT_TILE; t++)
            raw[h * ANT_TILE + t] =
                k->q[(m->inner + m->conv + h) * ANT_TILE + t] + p->parameters[m->dt_bias + h];
    }
    p->kernels->sigmoid(HEADS, raw, raw);
    for (size_t h = 0; h < HEADS; h++) {
        const real A = p->derived[h];
        real dA = 0, dbias = 0, along[ANT_TILE], direct[ANT_TILE] = {0}, dlog = leaving_product(p, i, h);
        memcpy(along, k->along + h * ANT_TILE, sizeof along);
        for (size_t c = h * m->head; c < (h + 1) * m->head; c++) {
            for (size_t t = 0; t < ANT_TILE; t++) {
                along[t] -= b->drive[c * ANT_TILE + t] * b->ddrive[c * ANT_TILE + t];
                direct[t] += k->act[c * ANT_TILE + t] * b->ddrive[c * ANT_TILE + t];
            }
        }
        for (size_t t = ANT_TILE; t-- > 0;) {
            const size_t j = h * ANT_TILE + t;
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
    const size_t count = k->m.conv * ANT_TILE;
    p->kernels->sigmoid(k->m.conv, k->conv, opened);
    for (size_t j = 0; j < count; j++)
        k->conv[j] = dact[j] * opened[j] * (1 + k->conv[j] * (1 - opened[j]));
}

void ANT_FN(ant_mamba2_leave)(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    real *scratch = ANT_FN(ant_linear_scratch)(p, i->slot);
    back b = {.drive = take(&scratch, m->inner), .ddrive = take(&scratch, m->inner)};
    b.dact = take(&scratch, m->conv);
    b.later = take(&scratch, HEADS);
    b.dlog = take(&scratch, HEADS);
    b.pairs = take(&scratch, ANT_TILE);
    b.decayed = take(&scratch, m->inner > ANT_TILE ? m->inner : ANT_TILE);
    b.slopes = take(&scratch, ANT_TILE);
    b.turned = take(&scratch, ANT_TILE);
    for (size_t h = 0; h < HEADS; h++)
        decay_after(k.decay + h * ANT_TILE, b.later + h * ANT_TILE);
    weigh(m, k.delta, k.act, b.drive);
    drive_back(p, i, &k, &b);
    pairs_back(p, i, &k, &b);
    decay_back(p, i, &k, &b);
    weigh(m, k.delta, b.ddrive, b.dact);
    for (size_t c = 0; c < m->inner; c++) {
        const real skip = p->parameters[m->skip + c / m->head];
        for (size_t t = 0; t < ANT_TILE; t++)
            b.dact[c * ANT_TILE + t] += skip * k.dy[c * ANT_TILE + t];
    }
    silu_back(p, &k, b.dact, scratch);
}

/* The convolution's rows of dq, and the gradients of its weights; k->conv holds its gradient. */
static void convolution_back(const linear *p, const item *i, const kept *k)
{
    const ant_mamba2 *m = &k->m;
    const kept before = kept_before(p, i), after = kept_after(p, i);
    real line[PAST + ANT_TILE], slope[ANT_TILE + PAST];
    p->kernels->sum_rows(k->conv, m->conv, sums_of(p, i, m->conv_b));
    for (size_t c = 0; c < m->conv; c++) {
        const real *W = p->parameters + m->conv_W + c * TAPS;
        real *out = k->dq + (m->inner + c) * ANT_TILE;
        line_of(k, &before, c, line);
        memcpy(slope, k->conv + c * ANT_TILE, ANT_TILE * sizeof *slope);
        for (size_t t = 0; t < PAST; t++)
            slope[ANT_TILE + t] = after.conv == NULL ? 0 : after.conv[c * ANT_TILE + t];
        for (size_t t = 0; t < ANT_TILE; t++)
            out[t] = W[3] * slope[t] + W[2] * slope[t + 1] + W[1] * slope[t + 2] + W[0] * slope[t + 3];
        for (size_t tap = 0; tap < TAPS; tap++) {
            real sum = 0;
            for (size_t t = 0; t < ANT_TILE; t++)
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
    real mean[ANT_TILE] = {0}, along[ANT_TILE] = {0};
    p->kernels->sum_rows(dnormed, m->D, sums_of(p, i, m->ln_b));
    for (size_t d = 0; d < m->D; d++) {
        real sum = 0;
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = d * ANT_TILE + t;
            sum += dnormed[j] * k->hat[j];
            dnormed[j] *= p->parameters[m->ln_w + d];
            mean[t] += each * dnormed[j];
            along[t] += each * dnormed[j] * k->hat[j];
        }
        *sums_of(p, i, m->ln_w + d) += sum;
    }
    for (size_t d = 0; d < m->D; d++) {
        for (size_t t = 0; t < ANT_TILE; t++) {
            const size_t j = d * ANT_TILE + t;
            k->u[j] += k->rstd[t] * (dnormed[j] - mean[t] - k->hat[j] * along[t]);
        }
    }
}

void ANT_FN(ant_mamba2_project_back)(const linear *p, const item *i)
{
    const kept k = kept_of(p, i->index);
    const ant_mamba2 *m = &k.m;
    const kernels *o = p->kernels;
    real *dnormed = ANT_FN(ant_linear_scratch)(p, i->slot);
    convolution_back(p, i, &k);
    o->outer(k.dq, m->proj, k.normed, m->D, sums_of(p, i, m->proj_in));
    memset(dnormed, 0, m->D * ANT_TILE * sizeof *dnormed);
    o->multiply_back(p->parameters + m->proj_in, m->proj, m->D, k.dq, dnormed);
    layer_norm_back(p, i, &k, dnormed);
    o->outer(k.u, m->D, k.x, m->N, sums_of(p, i, m->in_W));
    o->sum_rows(k.u, m->D, sums_of(p, i, m->in_b));
    if (m->K > 0)
        o->outer(k.u, m->D, k.s, m->K, sums_of(p, i, m->C));
}
