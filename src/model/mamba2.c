/* mamba2.c - the Mamba-2 baseline: its parameters, initial values, and its free run. */
#include "model/mamba2.h"

#include "model/draw.h"
#include "model/kind.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- parameters ----------------------------------------------------------------------------------- */

/* A parameter: where its offset is kept, its name and shape; cols = 0: a vector. */
typedef struct entry {
    const char *name;
    size_t *offset;
    size_t rows, cols;
} entry;

enum { ENTRIES = 19 };

static ant_mamba2 sizes_of(const ant_model_dims *d)
{
    const size_t inner = ANT_MAMBA2_EXPAND * d->M, conv = inner + 2 * ANT_MAMBA2_STATE;
    return (ant_mamba2){.N = d->N,
                        .D = d->M,
                        .L = d->L,
                        .K = d->K,
                        .inner = inner,
                        .head = inner / ANT_MAMBA2_HEADS,
                        .conv = conv,
                        .proj = inner + conv + ANT_MAMBA2_HEADS};
}

/* All parameters in their order; without inputs C has no rows. */
static void list_entries(ant_mamba2 *m, entry entries[ENTRIES])
{
    const entry list[ENTRIES] = {
        {"in_W", &m->in_W, m->D, m->N},
        {"in_b", &m->in_b, m->D, 0},
        {"C", &m->C, m->K > 0 ? m->D : 0, m->K},
        {"ln_w", &m->ln_w, m->D, 0},
        {"ln_b", &m->ln_b, m->D, 0},
        {"proj_in", &m->proj_in, m->proj, m->D},
        {"conv_W", &m->conv_W, m->conv, ANT_MAMBA2_TAPS},
        {"conv_b", &m->conv_b, m->conv, 0},
        {"dt_bias", &m->dt_bias, ANT_MAMBA2_HEADS, 0},
        {"A_log", &m->A_log, ANT_MAMBA2_HEADS, 0},
        {"D", &m->skip, ANT_MAMBA2_HEADS, 0},
        {"norm_w", &m->norm_w, m->inner, 0},
        {"proj_out", &m->proj_out, m->D, m->inner},
        {"W1", &m->W1, m->L, m->D},
        {"b1", &m->b1, m->L, 0},
        {"W2", &m->W2, m->D, m->L},
        {"b2", &m->b2, m->D, 0},
        {"out_W", &m->out_W, m->N, m->D},
        {"out_b", &m->out_b, m->N, 0},
    };
    memcpy(entries, list, sizeof list);
}

ant_mamba2 ant_mamba2_of(const ant_model_layout *layout)
{
    ant_mamba2 m = sizes_of(&layout->dims);
    entry entries[ENTRIES];
    list_entries(&m, entries);
    for (size_t i = 0, slice = 0; i < ENTRIES; i++)
        *entries[i].offset = entries[i].rows == 0 ? SIZE_MAX : layout->slice[slice++].offset;
    return m;
}

static antler_status lay_out(const ant_model_dims *dims, ant_model_layout *layout)
{
    ANT_CHECK(dims->rank == 0 && !dims->clipped && !dims->free_diagonal, ANTLER_ERROR_ARGUMENT,
              "a mamba2 has neither W nor A, so it has no rank, no clipped form and no free diagonal");
    ANT_CHECK(
        ANT_MAMBA2_EXPAND * dims->M % ANT_MAMBA2_HEADS == 0, ANTLER_ERROR_ARGUMENT,
        "a mamba2 of width %zu cannot be shared out among its %d heads; latent_dim must be a multiple of "
        "%d",
        dims->M, ANT_MAMBA2_HEADS, ANT_MAMBA2_HEADS / ANT_MAMBA2_EXPAND);
    ant_mamba2 m = sizes_of(dims);
    entry entries[ENTRIES];
    list_entries(&m, entries);
    for (size_t i = 0; i < ENTRIES; i++) {
        const entry *p = &entries[i];
        if (p->rows > 0)
            ant_model_layout_append(layout, p->name, p->cols == 0 ? 1 : 2, p->rows,
                                    p->cols == 0 ? 1 : p->cols);
    }
    return ANTLER_OK;
}

static void fill(double *values, size_t count, double value)
{
    for (size_t i = 0; i < count; i++)
        values[i] = value;
}

/*
 * As in the block's original code: matrices U(+-inputs^-1/2), A uniform in 1 .. 16, time constants Delta
 * log-uniform in 1e-3 .. 1e-1, D and norms 1.  Biases begin at 0.  `memory` and `standard` are the same here.
 */
static antler_status initialise(const ant_model_layout *layout, ant_initialisation initialisation,
                                uint64_t seed, uint32_t replica, double *parameters)
{
    const ant_mamba2 m = ant_mamba2_of(layout);
    (void)initialisation;
    for (size_t i = 0; i < layout->slices; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        double *out = parameters + slice->offset;
        ant_stream stream = ant_draw_stream(layout, slice, seed, replica);
        if (slice->axes == 2)
            ant_draw_uniform(stream, 1.0 / sqrt((double)slice->cols), slice->count, out);
        else if (slice->offset == m.ln_w || slice->offset == m.norm_w || slice->offset == m.skip)
            fill(out, slice->count, 1.0);
        for (size_t k = 0; k < slice->count && slice->offset == m.A_log; k++)
            out[k] = log(1.0 + 15.0 * ant_stream_uniform(&stream));
        for (size_t k = 0; k < slice->count && slice->offset == m.dt_bias; k++) {
            const double delta = 1e-3 * pow(100.0, ant_stream_uniform(&stream));
            out[k] = log(expm1(delta)); /* softplus of it is delta */
        }
    }
    return ANTLER_OK;
}

/* ---- running free --------------------------------------------------------------------------------- */

typedef struct mamba2_runner {
    ant_mamba2 m;
    size_t total;
    double *parameters; /* (total) */
    double *tape;
    ant_mamba2_tape_f64 step; /* on `tape` */
    double *H;                /* (inner, 16): scratch of the tangents */
} mamba2_runner;

static size_t state_dim(const ant_model_dims *dims)
{
    const ant_mamba2 m = sizes_of(dims);
    return ant_mamba2_state_dim(&m);
}

static void carve(void *self, const ant_model_dims *d, ant_arena *arena)
{
    mamba2_runner *r = self;
    ant_model_layout layout;
    if (ant_model_layout_make(d, &layout) != ANTLER_OK)
        return; /* does not happen: the model was checked before */
    r->m = ant_mamba2_of(&layout);
    r->total = layout.total;
    r->parameters = ant_arena_take(arena, layout.total, sizeof *r->parameters);
    r->tape = ant_arena_take(arena, ant_mamba2_tape_count_f64(&r->m), sizeof *r->tape);
    r->H = ant_arena_take(arena, r->m.inner * ANT_MAMBA2_STATE, sizeof *r->H);
}

static antler_status pack(void *self, const antler_model *model)
{
    mamba2_runner *r = self;
    memcpy(r->parameters, model->parameters, model->layout.total * sizeof *r->parameters);
    r->step = ant_mamba2_tape_on_f64(&r->m, r->tape);
    return ANTLER_OK;
}

static void begin(const void *self, const double *latent, double *state)
{
    const mamba2_runner *r = self;
    memcpy(state, latent, ant_mamba2_state_dim(&r->m) * sizeof *state);
}

/* One step with input x: past and H are updated; the prediction is on the tape.  state: (n), in place */
static void take_in(const mamba2_runner *r, const double *x, const double *s, double *state)
{
    const ant_mamba2 *m = &r->m;
    const size_t past = ANT_MAMBA2_PAST * m->conv;
    memcpy(r->step.past, state, past * sizeof *state);
    ant_mamba2_step_f64(m, r->parameters, x, s, state + past, &r->step);
    memmove(state, state + m->conv, (past - m->conv) * sizeof *state);
    memcpy(state + past - m->conv, r->step.q + m->inner, m->conv * sizeof *state);
}

static double *observation(const mamba2_runner *r, double *state)
{
    return state + ant_mamba2_state_dim(&r->m) - r->m.N;
}

/* From a state of 0, every row but the last makes a step; the last is the input of the first free step. */
static void warm(const void *self, const double *x, const double *s, size_t rows, double *state)
{
    const mamba2_runner *r = self;
    const size_t N = r->m.N, K = r->m.K;
    double *row =
        observation(r, state); /* x with predictions for what is missing, zeros in row 0 (spec 12) */
    memset(state, 0, ant_mamba2_state_dim(&r->m) * sizeof *state);
    for (size_t t = 0; t < rows; t++) {
        if (t > 0)
            take_in(r, row, K == 0 ? NULL : s + t * K, state);
        for (size_t n = 0; n < N; n++)
            row[n] = !isnan(x[t * N + n]) ? x[t * N + n] : t == 0 ? 0.0 : r->step.xhat[n];
    }
}

static void steps(const void *self, const double *from, const double *s, size_t count, double *states,
                  double *x)
{
    const mamba2_runner *r = self;
    const size_t n = ant_mamba2_state_dim(&r->m), N = r->m.N, K = r->m.K;
    for (size_t t = 0; t < count; t++) {
        double *state = states + t * n, *seen = observation(r, state);
        memcpy(state, from, n * sizeof *state);
        take_in(r, seen, K == 0 ? NULL : s + t * K, state);
        memcpy(seen, r->step.xhat, N * sizeof *seen);
        memcpy(x + t * N, r->step.xhat, N * sizeof *x);
        from = state;
    }
}

/* ---- tangents ------------------------------------------------------------------------------------- */

/* x sigmoid(x) and its derivative. */
static double silu(double x)
{
    return x / (1.0 + exp(-x));
}

static double silu_slope(double x)
{
    const double sigmoid = 1.0 / (1.0 + exp(-x));
    return sigmoid * (1.0 + x * (1.0 - sigmoid));
}

/* out = W in.  W: (rows, cols) */
static void multiply(const double *W, size_t rows, size_t cols, const double *in, double *out)
{
    enum { SUMS = 4 }; /* independent ones, to hide the latency of additions */
    for (size_t i = 0; i < rows; i++) {
        const double *row = W + i * cols;
        double sum[SUMS] = {0.0};
        size_t j = 0;
        for (; j + SUMS <= cols; j += SUMS) {
            for (size_t k = 0; k < SUMS; k++)
                sum[k] += row[j + k] * in[j + k];
        }
        for (; j < cols; j++)
            sum[0] += row[j] * in[j];
        out[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* dq from dx: through in_W, LayerNorm and proj_in.  du: (D); work: (D) */
static void push_projection(const mamba2_runner *r, const double *dx, double *du, double *dq, double *work)
{
    const ant_mamba2 *m = &r->m;
    const double *p = r->parameters, *hat = r->step.hat;
    double mean = 0.0, along = 0.0;
    multiply(p + m->in_W, m->D, m->N, dx, du);
    for (size_t d = 0; d < m->D; d++) {
        mean += du[d] / (double)m->D;
        along += du[d] * hat[d] / (double)m->D;
    }
    for (size_t d = 0; d < m->D; d++)
        work[d] = p[m->ln_w + d] * r->step.scales[0] * (du[d] - mean - hat[d] * along);
    multiply(p + m->proj_in, m->proj, m->D, work, dq);
}

/* dact from dq and the tangent of the past.  dpast: (3, conv); dact: (conv) */
static void push_convolution(const mamba2_runner *r, const double *dpast, const double *dq, double *dact)
{
    const ant_mamba2 *m = &r->m;
    for (size_t c = 0; c < m->conv; c++) {
        const double *W = r->parameters + m->conv_W + c * ANT_MAMBA2_TAPS;
        double sum = W[ANT_MAMBA2_PAST] * dq[m->inner + c];
        for (size_t k = 0; k < ANT_MAMBA2_PAST; k++)
            sum += W[k] * dpast[k * m->conv + c];
        dact[c] = silu_slope(r->step.conv[c]) * sum;
    }
}

/* dH, from before the step to after it, and dy.  before, after: H; dH: (inner, 16); dy: (inner) */
static void push_recurrence(const mamba2_runner *r, const double *before, const double *after,
                            const double *dq, const double *dact, double *dH, double *dy)
{
    const ant_mamba2 *m = &r->m;
    const double *p = r->parameters, *act = r->step.act, *B = act + m->inner, *C = B + ANT_MAMBA2_STATE;
    const double *dB = dact + m->inner, *dC = dB + ANT_MAMBA2_STATE, *dt = r->step.q + m->inner + m->conv;
    for (size_t i = 0; i < m->inner; i++) {
        const size_t h = i / m->head;
        const double raw = dt[h] + p[m->dt_bias + h], delta = r->step.delta[h], decay = r->step.decay[h];
        const double ddelta = dq[m->inner + m->conv + h] / (1.0 + exp(-raw));
        const double ddecay = -exp(p[m->A_log + h]) * decay * ddelta;
        const double drive = delta * act[i], ddrive = ddelta * act[i] + delta * dact[i];
        dy[i] = p[m->skip + h] * dact[i];
        for (size_t k = 0; k < ANT_MAMBA2_STATE; k++) {
            const size_t j = i * ANT_MAMBA2_STATE + k;
            dH[j] = decay * dH[j] + ddecay * before[j] + ddrive * B[k] + drive * dB[k];
            dy[i] += dH[j] * C[k] + after[j] * dC[k];
        }
    }
}

/* dxhat from dy and du.  work: (inner + D + L) */
static void push_readout(const mamba2_runner *r, const double *dq, const double *dy, const double *du,
                         double *dxhat, double *work)
{
    const ant_mamba2 *m = &r->m;
    const double *p = r->parameters, *gated = r->step.gated, scale = r->step.scales[1];
    double *dg = work, *dv = dg + m->inner, *dhidden = dv + m->D, along = 0.0;
    for (size_t i = 0; i < m->inner; i++) {
        dg[i] = dy[i] * silu(r->step.q[i]) + r->step.y[i] * silu_slope(r->step.q[i]) * dq[i];
        along += dg[i] * gated[i] / (double)m->inner;
    }
    for (size_t i = 0; i < m->inner; i++)
        dg[i] = p[m->norm_w + i] * scale * (dg[i] - gated[i] * scale * scale * along);
    multiply(p + m->proj_out, m->D, m->inner, dg, dv);
    for (size_t d = 0; d < m->D; d++)
        dv[d] += du[d];
    multiply(p + m->W1, m->L, m->D, dv, dhidden);
    for (size_t l = 0; l < m->L; l++)
        dhidden[l] = r->step.hidden[l] > 0.0 ? dhidden[l] : 0.0;
    multiply(p + m->W2, m->D, m->L, dhidden, dv);
    multiply(p + m->out_W, m->N, m->D, dv, dxhat);
}

static void push(const void *self, const double *from, const double *s, size_t count, size_t stride,
                 const double *vectors, double *next, double *scratch)
{
    const mamba2_runner *r = self;
    const ant_mamba2 *m = &r->m;
    const size_t past = ANT_MAMBA2_PAST * m->conv, states = m->inner * ANT_MAMBA2_STATE;
    const double *before = from + past, *x = before + states;
    double *du = scratch, *dq = du + m->D, *dact = dq + m->proj, *dy = dact + m->conv, *work = dy + m->inner;
    memcpy(r->step.past, from, past * sizeof *from);
    memcpy(r->H, before, states * sizeof *from);
    ant_mamba2_step_f64(m, r->parameters, x, s, r->H, &r->step);
    for (size_t k = 0; k < count; k++) {
        const double *in = vectors + k * stride;
        double *out = next + k * stride;
        push_projection(r, in + past + states, du, dq, work);
        push_convolution(r, in, dq, dact);
        memcpy(out, in + m->conv, (past - m->conv) * sizeof *out);
        memcpy(out + past - m->conv, dq + m->inner, m->conv * sizeof *out);
        memcpy(out + past, in + past, states * sizeof *out);
        push_recurrence(r, before, r->H, dq, dact, out + past, dy);
        push_readout(r, dq, dy, du, out + past + states, work);
    }
}

static size_t push_scratch(const void *self)
{
    const ant_mamba2 *m = &((const mamba2_runner *)self)->m;
    return m->D + m->proj + m->conv + 2 * m->inner + m->D + m->L;
}

/* Every weight once, and H: what is added to it, and what is read out of it. */
static double step_work(const void *self)
{
    const mamba2_runner *r = self;
    return (double)(r->total + 2 * r->m.inner * ANT_MAMBA2_STATE);
}

static void engine_map(const void *self, ant_engine_map *map)
{
    const mamba2_runner *r = self;
    const ant_mamba2 *m = &r->m;
    const double *p = r->parameters;
    *map = (ant_engine_map){.form = ANT_FORM_MAMBA2,
                            .n = ant_mamba2_state_dim(m),
                            .M = m->D,
                            .N = m->N,
                            .L = m->L,
                            .K = m->K,
                            .mamba2 = {.in_W = p + m->in_W,
                                       .in_b = p + m->in_b,
                                       .C = m->K == 0 ? NULL : p + m->C,
                                       .ln_w = p + m->ln_w,
                                       .ln_b = p + m->ln_b,
                                       .proj_in = p + m->proj_in,
                                       .conv_W = p + m->conv_W,
                                       .conv_b = p + m->conv_b,
                                       .dt_bias = p + m->dt_bias,
                                       .A_log = p + m->A_log,
                                       .skip = p + m->skip,
                                       .norm_w = p + m->norm_w,
                                       .proj_out = p + m->proj_out,
                                       .W1 = p + m->W1,
                                       .b1 = p + m->b1,
                                       .W2 = p + m->W2,
                                       .b2 = p + m->b2,
                                       .out_W = p + m->out_W,
                                       .out_b = p + m->out_b}};
}

static const ant_runner_ops runner = {
    .self_bytes = sizeof(mamba2_runner),
    .state_dim = state_dim,
    .latent_dim = state_dim,
    .carve = carve,
    .pack = pack,
    .begin = begin,
    .warm = warm,
    .steps = steps,
    .push = push,
    .push_scratch = push_scratch,
    .step_work = step_work,
    .map = engine_map,
};

const ant_model_kind ant_kind_mamba2 = {
    .name = "mamba2",
    .M = {"in_W", 0},
    .N = {"in_W", 1},
    .L = {"W1", 0},
    .K = {"C", 1},
    .lay_out = lay_out,
    .initialise = initialise,
    .runner = &runner,
};
