/* mamba2_tmpl.c - one step of the Mamba-2 baseline in plain loops: it runs free, and is the reference for all
 * kernels. */
#include "base/real.h"
#include "model/mamba2.h"

typedef ANT_FN(ant_mamba2_tape) tape;

size_t ANT_FN(ant_mamba2_tape_count)(const ant_mamba2 *m)
{
    return (ANT_MAMBA2_PAST + 2) * m->conv + 5 * m->D + m->proj + 2 * ANT_MAMBA2_HEADS + 2 * m->inner + m->L +
           m->N + 2;
}

/* Take `count` reals off the front. */
static real *take(real **from, size_t count)
{
    real *taken = *from;
    *from += count;
    return taken;
}

tape ANT_FN(ant_mamba2_tape_on)(const ant_mamba2 *m, real *reals)
{
    tape t;
    t.past = take(&reals, ANT_MAMBA2_PAST * m->conv);
    t.u = take(&reals, m->D);
    t.hat = take(&reals, m->D);
    t.normed = take(&reals, m->D);
    t.q = take(&reals, m->proj);
    t.conv = take(&reals, m->conv);
    t.act = take(&reals, m->conv);
    t.delta = take(&reals, ANT_MAMBA2_HEADS);
    t.decay = take(&reals, ANT_MAMBA2_HEADS);
    t.y = take(&reals, m->inner);
    t.gated = take(&reals, m->inner);
    t.v = take(&reals, m->D);
    t.hidden = take(&reals, m->L);
    t.r = take(&reals, m->D);
    t.xhat = take(&reals, m->N);
    t.scales = take(&reals, 2);
    return t;
}

static real silu(real x)
{
    return x / (1 + r_exp(-x));
}

/* log(1 + e^x) without overflow. */
static real softplus(real x)
{
    return x > 0 ? x + (real)log1p(exp(-(double)x)) : (real)log1p(exp((double)x));
}

/* out = W in + bias; bias may be NULL.  W: (rows, cols) */
static void layer(const real *W, size_t rows, size_t cols, const real *in, const real *bias, real *out)
{
    for (size_t i = 0; i < rows; i++) {
        real sum = bias == NULL ? 0 : bias[i];
        for (size_t j = 0; j < cols; j++)
            sum += W[i * cols + j] * in[j];
        out[i] = sum;
    }
}

static void layer_norm(const ant_mamba2 *m, const real *p, const tape *t)
{
    real mean = 0, variance = 0;
    for (size_t i = 0; i < m->D; i++)
        mean += t->u[i] / (real)m->D;
    for (size_t i = 0; i < m->D; i++)
        variance += (t->u[i] - mean) * (t->u[i] - mean) / (real)m->D;
    t->scales[0] = 1 / r_sqrt(variance + (real)ANT_MAMBA2_EPSILON);
    for (size_t i = 0; i < m->D; i++) {
        t->hat[i] = (t->u[i] - mean) * t->scales[0];
        t->normed[i] = t->hat[i] * p[m->ln_w + i] + p[m->ln_b + i];
    }
}

static void convolve(const ant_mamba2 *m, const real *p, const tape *t)
{
    const real *now = t->q + m->inner; /* behind the gate */
    for (size_t c = 0; c < m->conv; c++) {
        const real *W = p + m->conv_W + c * ANT_MAMBA2_TAPS;
        real sum = p[m->conv_b + c] + W[ANT_MAMBA2_PAST] * now[c];
        for (size_t k = 0; k < ANT_MAMBA2_PAST; k++)
            sum += W[k] * t->past[k * m->conv + c];
        t->conv[c] = sum;
        t->act[c] = silu(sum);
    }
}

/* H = a H + Delta x B^T and y = H C + D x. */
static void recur(const ant_mamba2 *m, const real *p, real *H, const tape *t)
{
    const real *B = t->act + m->inner, *C = B + ANT_MAMBA2_STATE, *dt = t->q + m->inner + m->conv;
    for (size_t h = 0; h < ANT_MAMBA2_HEADS; h++) {
        t->delta[h] = softplus(dt[h] + p[m->dt_bias + h]);
        t->decay[h] = r_exp(-r_exp(p[m->A_log + h]) * t->delta[h]);
    }
    for (size_t i = 0; i < m->inner; i++) {
        const size_t h = i / m->head;
        real *row = H + i * ANT_MAMBA2_STATE, sum = p[m->skip + h] * t->act[i];
        for (size_t k = 0; k < ANT_MAMBA2_STATE; k++) {
            row[k] = t->decay[h] * row[k] + t->delta[h] * t->act[i] * B[k];
            sum += row[k] * C[k];
        }
        t->y[i] = sum;
    }
}

/* v = u + proj_out (norm_w o gated / rms(gated)). */
static void gate(const ant_mamba2 *m, const real *p, const tape *t)
{
    real square = 0;
    for (size_t i = 0; i < m->inner; i++) {
        t->gated[i] = t->y[i] * silu(t->q[i]);
        square += t->gated[i] * t->gated[i] / (real)m->inner;
    }
    t->scales[1] = 1 / r_sqrt(square + (real)ANT_MAMBA2_EPSILON);
    for (size_t d = 0; d < m->D; d++) {
        real sum = t->u[d];
        for (size_t i = 0; i < m->inner; i++)
            sum += p[m->proj_out + d * m->inner + i] * t->gated[i] * t->scales[1] * p[m->norm_w + i];
        t->v[d] = sum;
    }
}

void ANT_FN(ant_mamba2_step)(const ant_mamba2 *m, const real *p, const real *x, const real *s, real *H,
                             const tape *t)
{
    layer(p + m->in_W, m->D, m->N, x, p + m->in_b, t->u);
    for (size_t d = 0; d < m->D; d++) {
        for (size_t k = 0; k < m->K; k++)
            t->u[d] += p[m->C + d * m->K + k] * s[k];
    }
    layer_norm(m, p, t);
    layer(p + m->proj_in, m->proj, m->D, t->normed, NULL, t->q);
    convolve(m, p, t);
    recur(m, p, H, t);
    gate(m, p, t);
    layer(p + m->W1, m->L, m->D, t->v, p + m->b1, t->hidden);
    for (size_t l = 0; l < m->L; l++)
        t->hidden[l] = t->hidden[l] > 0 ? t->hidden[l] : 0;
    layer(p + m->W2, m->D, m->L, t->hidden, p + m->b2, t->r);
    layer(p + m->out_W, m->N, m->D, t->r, p + m->out_b, t->xhat);
}
