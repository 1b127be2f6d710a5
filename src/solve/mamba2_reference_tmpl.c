/*
 * mamba2_reference_tmpl.c - the Mamba-2 baseline in plain steps, forward and backward: the reference.
 *
 * States H are stored at the starts of tiles only; the backward pass computes each tile again, with a tape
 * per step.  dH is the adjoint of the state after a step, `pending` the gradient that later convolutions add
 * to the inputs of the last three steps.
 */
#include "solve/mamba2_method.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;
typedef ANT_FN(ant_mamba2_tape) tape;

enum { TILE = ANT_TILE, STATE = ANT_MAMBA2_STATE, HEADS = ANT_MAMBA2_HEADS, PAST = ANT_MAMBA2_PAST };

/* The arrays of the work space. */
typedef struct work {
    size_t tape_count;
    real *tapes;   /* (TILE, tape_count) */
    real *H;       /* (TILE + 1, inner, STATE) */
    real *starts;  /* (tiles + 1, PAST * conv + inner * STATE): past and H before each, and after all */
    real *dH;      /* (inner, STATE) */
    real *pending; /* (PAST, conv) */
    real *error;   /* (N) */
    real *taken;   /* (N): dloss by what the step after this one has taken in */
    real *dr, *dv, *du, *dnormed; /* (D) */
    real *dhidden;                /* (L) */
    real *dy;                     /* (inner) */
    real *dact;                   /* (conv) */
    real *dq;                     /* (proj) */
} work;

static size_t start_count(const ant_mamba2 *m)
{
    return PAST * m->conv + m->inner * STATE;
}

static size_t tiles_of(size_t T)
{
    return (T + TILE - 1) / TILE;
}

size_t ANT_FN(ant_mamba2_reference_work)(const ant_model_dims *dims, size_t T)
{
    ant_model_layout layout;
    if (ant_model_layout_make(dims, &layout) != ANTLER_OK)
        return 0;
    const ant_mamba2 m = ant_mamba2_of(&layout);
    return TILE * ANT_FN(ant_mamba2_tape_count)(&m) + (TILE + 2) * m.inner * STATE +
           (tiles_of(T) + 1) * start_count(&m) + (PAST + 1) * m.conv + 2 * m.N + 4 * m.D + m.L + m.inner +
           m.proj;
}

static work work_on(const ant_mamba2 *m, size_t T, real *reals)
{
    work w = {.tape_count = ANT_FN(ant_mamba2_tape_count)(m), .tapes = reals};
    w.H = w.tapes + TILE * w.tape_count;
    w.starts = w.H + (TILE + 1) * m->inner * STATE;
    w.dH = w.starts + (tiles_of(T) + 1) * start_count(m);
    w.pending = w.dH + m->inner * STATE;
    w.error = w.pending + PAST * m->conv;
    w.taken = w.error + m->N;
    w.dr = w.taken + m->N;
    w.dv = w.dr + m->D;
    w.du = w.dv + m->D;
    w.dnormed = w.du + m->D;
    w.dhidden = w.dnormed + m->D;
    w.dy = w.dhidden + m->L;
    w.dact = w.dy + m->inner;
    w.dq = w.dact + m->conv;
    return w;
}

/* ---- back through one step ------------------------------------------------------------------------ */

/* Of out = W in + bias: adds to the sums of W and bias (SIZE_MAX: none), and sets din = W^T dout. */
static void layer_back(const real *parameters, size_t W, size_t bias, size_t rows, size_t cols,
                       const real *dout, const real *in, real *din, double *sums)
{
    for (size_t j = 0; j < cols && din != NULL; j++)
        din[j] = 0;
    for (size_t i = 0; i < rows; i++) {
        if (bias != SIZE_MAX)
            sums[bias + i] += (double)dout[i];
        for (size_t j = 0; j < cols; j++) {
            sums[W + i * cols + j] += (double)dout[i] * (double)in[j];
            if (din != NULL)
                din[j] += parameters[W + i * cols + j] * dout[i];
        }
    }
}

static real sigmoid(real x)
{
    return 1 / (1 + r_exp(-x));
}

static real silu_slope(real x)
{
    const real s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* From the error to dv. */
static void readout_back(const ant_mamba2 *m, const real *p, const tape *t, const work *w, double *sums)
{
    layer_back(p, m->out_W, m->out_b, m->N, m->D, w->error, t->r, w->dr, sums);
    layer_back(p, m->W2, m->b2, m->D, m->L, w->dr, t->hidden, w->dhidden, sums);
    for (size_t l = 0; l < m->L; l++)
        w->dhidden[l] = t->hidden[l] > 0 ? w->dhidden[l] : 0;
    layer_back(p, m->W1, m->b1, m->L, m->D, w->dhidden, t->v, w->dv, sums);
}

/* From dv to dy and the gate's part of dq, through the output projection, the RMSNorm and the gate. */
static void gate_back(const ant_mamba2 *m, const real *p, const tape *t, const work *w, double *sums)
{
    const real scale = t->scales[1];
    real along = 0;
    for (size_t i = 0; i < m->inner; i++) { /* dy holds the gradient of the normed values first */
        w->dy[i] = 0;
        for (size_t d = 0; d < m->D; d++) {
            const real normed = t->gated[i] * scale * p[m->norm_w + i];
            sums[m->proj_out + d * m->inner + i] += (double)w->dv[d] * (double)normed;
            w->dy[i] += p[m->proj_out + d * m->inner + i] * w->dv[d];
        }
        sums[m->norm_w + i] += (double)(w->dy[i] * t->gated[i] * scale);
        w->dy[i] *= p[m->norm_w + i];
        along += w->dy[i] * t->gated[i] / (real)m->inner;
    }
    for (size_t i = 0; i < m->inner; i++) {
        const real dgated = scale * (w->dy[i] - t->gated[i] * scale * scale * along);
        w->dq[i] = dgated * t->y[i] * silu_slope(t->q[i]);
        w->dy[i] = dgated * t->q[i] * sigmoid(t->q[i]);
    }
}

/* From dy and dH to dact, the part of dq that is dt, and dH before the step.  before, after: H */
static void recurrence_back(const ant_mamba2 *m, const real *p, const tape *t, const real *before,
                            const real *after, const work *w, double *sums)
{
    const real *B = t->act + m->inner, *C = B + STATE;
    real *dB = w->dact + m->inner, *dC = dB + STATE, *ddt = w->dq + m->inner + m->conv;
    memset(dB, 0, 2 * STATE * sizeof *dB);
    for (size_t h = 0; h < HEADS; h++) {
        const real A = -r_exp(p[m->A_log + h]), delta = t->delta[h], decay = t->decay[h];
        real dlog = 0, ddelta = 0; /* of Delta A, and of Delta as a factor of x */
        for (size_t i = h * m->head; i < (h + 1) * m->head; i++) {
            const real x = t->act[i], dy = w->dy[i];
            real drive = 0; /* of Delta x */
            for (size_t k = 0; k < STATE; k++) {
                const size_t j = i * STATE + k;
                const real slope = w->dH[j] + dy * C[k];
                dC[k] += dy * after[j];
                dB[k] += slope * delta * x;
                drive += slope * B[k];
                dlog += slope * decay * before[j];
                w->dH[j] = decay * slope;
            }
            ddelta += x * drive;
            w->dact[i] = delta * drive + p[m->skip + h] * dy;
            sums[m->skip + h] += (double)(dy * x);
        }
        ddelta += A * dlog;
        sums[m->A_log + h] += (double)(delta * dlog * A);
        ddt[h] = ddelta * sigmoid(t->q[m->inner + m->conv + h] + p[m->dt_bias + h]);
        sums[m->dt_bias + h] += (double)ddt[h];
    }
}

/* From dact to the convolution's part of dq, and to `pending` of the steps before. */
static void convolution_back(const ant_mamba2 *m, const real *p, const tape *t, const work *w, double *sums)
{
    for (size_t c = 0; c < m->conv; c++) {
        const real slope = w->dact[c] * silu_slope(t->conv[c]);
        const real *W = p + m->conv_W + c * ANT_MAMBA2_TAPS;
        double *dW = sums + m->conv_W + c * ANT_MAMBA2_TAPS;
        sums[m->conv_b + c] += (double)slope;
        for (size_t k = 0; k < PAST; k++)
            dW[k] += (double)slope * (double)t->past[k * m->conv + c];
        dW[PAST] += (double)slope * (double)t->q[m->inner + c];
        w->dq[m->inner + c] = w->pending[c] + W[PAST] * slope;
        for (size_t k = 0; k < PAST; k++) { /* row k is for the step k + 1 before this one */
            const real later = k + 1 < PAST ? w->pending[(k + 1) * m->conv + c] : 0;
            w->pending[k * m->conv + c] = later + W[PAST - 1 - k] * slope;
        }
    }
}

/* From dq, and dv through the residual connection, to the parameters of the embedding. */
static void projection_back(const ant_mamba2 *m, const real *p, const tape *t, const real *x, const real *s,
                            const work *w, double *sums)
{
    real mean = 0, along = 0;
    layer_back(p, m->proj_in, SIZE_MAX, m->proj, m->D, w->dq, t->normed, w->dnormed, sums);
    for (size_t d = 0; d < m->D; d++) {
        sums[m->ln_w + d] += (double)(w->dnormed[d] * t->hat[d]);
        sums[m->ln_b + d] += (double)w->dnormed[d];
        w->dnormed[d] *= p[m->ln_w + d];
        mean += w->dnormed[d] / (real)m->D;
        along += w->dnormed[d] * t->hat[d] / (real)m->D;
    }
    for (size_t d = 0; d < m->D; d++)
        w->du[d] = w->dv[d] + t->scales[0] * (w->dnormed[d] - mean - t->hat[d] * along);
    layer_back(p, m->in_W, m->in_b, m->D, m->N, w->du, x, w->taken, sums);
    if (m->K > 0)
        layer_back(p, m->C, SIZE_MAX, m->D, m->K, w->du, s, NULL, sums);
}

/* ---- tiles ------------------------------------------------------------------------------------- */

/* Steps first .. last-1 from a start (past, then H), which becomes the state after them; fills tapes and H.
 */
static void run_tile(const linear *p, const ant_mamba2 *m, const work *w, const real *x, const real *s,
                     size_t first, size_t last, real *start)
{
    const size_t past = PAST * m->conv, states = m->inner * STATE;
    memcpy(w->H, start + past, states * sizeof *w->H);
    for (size_t t = first; t < last; t++) {
        const tape now = ANT_FN(ant_mamba2_tape_on)(m, w->tapes + (t - first) * w->tape_count);
        real *H = w->H + (t - first + 1) * states;
        memcpy(now.past, start, past * sizeof *start);
        memcpy(H, H - states, states * sizeof *H);
        ANT_FN(ant_mamba2_step)
        (m, p->parameters, ANT_FN(ant_linear_row)(p, x, t), m->K == 0 ? NULL : s + t * m->K, H, &now);
        ANT_FN(ant_linear_fill)(p, x, t + 1, now.xhat);
        memmove(start, start + m->conv, (past - m->conv) * sizeof *start);
        memcpy(start + past - m->conv, now.q + m->inner, m->conv * sizeof *start);
    }
    memcpy(start + past, w->H + (last - first) * states, states * sizeof *start);
}

/* All tiles forward: stores their starts, fills z, and returns the sum of squares. */
static double forward(const linear *p, const ant_mamba2 *m, const work *w, const real *x, const real *s,
                      real *z)
{
    const size_t count = start_count(m);
    double square = 0.0;
    memset(w->starts, 0, count * sizeof *w->starts);
    ANT_FN(ant_linear_fill)(p, x, 0, NULL);
    for (size_t first = 0, k = 0; first < p->T; first += TILE, k++) {
        const size_t last = first + TILE < p->T ? first + TILE : p->T;
        real *start = w->starts + k * count;
        memcpy(start + count, start, count * sizeof *start);
        run_tile(p, m, w, x, s, first, last, start + count);
        for (size_t t = first; t < last; t++) {
            const tape now = ANT_FN(ant_mamba2_tape_on)(m, w->tapes + (t - first) * w->tape_count);
            memcpy(z + t * m->D, now.v, m->D * sizeof *z);
            for (size_t n = 0; n < m->N && ANT_FN(ant_linear_counts)(p, t + 1); n++) {
                const real truth = x[(t + 1) * m->N + n];
                const double error = (double)(now.xhat[n] - truth);
                square += p->gaps && isnan(truth) ? 0.0 : error * error;
            }
        }
    }
    return square;
}

static void step_back(const linear *p, const ant_mamba2 *m, const work *w, const real *x, const real *s,
                      size_t t, size_t place, double *sums)
{
    const size_t states = m->inner * STATE;
    const tape now = ANT_FN(ant_mamba2_tape_on)(m, w->tapes + place * w->tape_count);
    const real *before = w->H + place * states;
    for (size_t n = 0; n < m->N; n++) {
        const real truth = x[(t + 1) * m->N + n];
        const bool missing = p->gaps && isnan(truth),
                   counts = ANT_FN(ant_linear_counts)(p, t + 1) && !missing;
        w->error[n] = counts ? p->weight * (now.xhat[n] - truth) : 0;
        if (t + 1 < p->T && ANT_FN(ant_linear_takes_own)(p, x, t + 1, n))
            w->error[n] += w->taken[n];
    }
    readout_back(m, p->parameters, &now, w, sums);
    gate_back(m, p->parameters, &now, w, sums);
    recurrence_back(m, p->parameters, &now, before, before + states, w, sums);
    convolution_back(m, p->parameters, &now, w, sums);
    projection_back(m, p->parameters, &now, ANT_FN(ant_linear_row)(p, x, t), m->K == 0 ? NULL : s + t * m->K,
                    w, sums);
}

double ANT_FN(ant_mamba2_reference)(const linear *p, const real *x, const real *s, real *z, double *sums)
{
    const ant_mamba2 m = ant_mamba2_of(&p->layout);
    const work w = work_on(&m, p->T, p->reference_work);
    const double square = forward(p, &m, &w, x, s, z);
    if (sums == NULL)
        return square;
    memset(w.dH, 0, m.inner * STATE * sizeof *w.dH);
    memset(w.taken, 0, m.N * sizeof *w.taken);
    memset(w.pending, 0, PAST * m.conv * sizeof *w.pending);
    for (size_t k = tiles_of(p->T); k-- > 0;) {
        const size_t first = k * TILE, last = first + TILE < p->T ? first + TILE : p->T;
        run_tile(p, &m, &w, x, s, first, last, w.starts + k * start_count(&m));
        for (size_t t = last; t-- > first;)
            step_back(p, &m, &w, x, s, t, t - first, sums);
    }
    return square;
}
