/*
 * mamba2_items.h - what the phases of Mamba-2's training by tiles (linear.h) share: its recurrence as
 * products of matrices.
 *
 * Within a tile let E_t be the product of the decays up to t, D_tr that over r < k <= t, S_r that after r,
 * and w_r = Delta_r x_r.  A head with state H before the tile gives (SSD, Dao and Gu 2024)
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
 * The last one is the sum over all terms that contain the decay of step t.  For the templates of Mamba-2
 * only.
 */
#ifndef ANT_SOLVE_MAMBA2_ITEMS_H
#define ANT_SOLVE_MAMBA2_ITEMS_H

#include "solve/mamba2_method.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_item) item;
typedef ANT_FN(ant_tile_kernels) kernels;

enum { STATE = ANT_MAMBA2_STATE, HEADS = ANT_MAMBA2_HEADS, PAST = ANT_MAMBA2_PAST, TAPS = ANT_MAMBA2_TAPS };

/* What is stored of an item between phases; each array has ANT_TILE columns. */
typedef struct kept {
    ant_mamba2 m;
    real *x;      /* (N): x_{t-1} */
    real *s;      /* (K) */
    real *u;      /* (D): in the backward pass du */
    real *hat;    /* (D): u without mean, at variance 1 */
    real *normed; /* (D) */
    real *rstd;   /* (1) */
    real *q;      /* (proj) */
    real *dq;     /* (proj) */
    real *conv;   /* (conv): before silu; in the backward pass its gradient */
    real *act;    /* (conv): after it */
    real *delta;  /* (HEADS) */
    real *decay;  /* (HEADS) */
    real *dy;     /* (inner) */
    real *along;  /* (HEADS): dy . (y - D x) */
} kept;

/* The next `rows` rows of the memory at *from. */
static inline real *take(real **from, size_t rows)
{
    real *taken = *from;
    *from += rows * ANT_TILE;
    return taken;
}

static inline kept kept_of(const linear *p, size_t index)
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

/* Partial sums of the parameter at `offset`. */
static inline real *sums_of(const linear *p, const item *i, size_t offset)
{
    return ANT_FN(ant_linear_sums)(p, i->slot, offset);
}

/* The same of the tiles before and after; empty at the ends of the sequence. */
static inline kept kept_before(const linear *p, const item *i)
{
    return i->tile == 0 ? (kept){.q = NULL} : kept_of(p, i->index - 1);
}

static inline kept kept_after(const linear *p, const item *i)
{
    return i->tile + 1 == p->tiles ? (kept){.conv = NULL} : kept_of(p, i->index + 1);
}

/* A channel's inputs of the convolution, after those of the last PAST steps before the tile.  line: (PAST +
 * ANT_TILE) */
static inline void line_of(const kept *k, const kept *before, size_t channel, real *line)
{
    const size_t row = (k->m.inner + channel) * ANT_TILE; /* behind the gate */
    for (size_t t = 0; t < PAST; t++)
        line[t] = before->q == NULL ? 0 : before->q[row + ANT_TILE - PAST + t];
    memcpy(line + PAST, k->q + row, ANT_TILE * sizeof *line);
}

/* S_r: the product of the decays after r.  decay, out: (ANT_TILE) */
static inline void decay_after(const real *decay, real *out)
{
    out[ANT_TILE - 1] = 1;
    for (size_t t = ANT_TILE - 1; t-- > 0;)
        out[t] = out[t + 1] * decay[t + 1];
}

/* E_t: the product of the decays up to t. */
static inline void decay_until(const real *decay, real *out)
{
    out[0] = decay[0];
    for (size_t t = 1; t < ANT_TILE; t++)
        out[t] = out[t - 1] * decay[t];
}

/* out_i = weight_head o in_i for every channel.  weight: (HEADS, ANT_TILE); in, out: (inner, ANT_TILE) */
static inline void weigh(const ant_mamba2 *m, const real *weight, const real *in, real *out)
{
    for (size_t c = 0; c < m->inner; c++) {
        const real *w = weight + c / m->head * ANT_TILE;
        for (size_t t = 0; t < ANT_TILE; t++)
            out[c * ANT_TILE + t] = w[t] * in[c * ANT_TILE + t];
    }
}

#endif
