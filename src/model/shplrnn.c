/* shplrnn.c - the shPLRNN: its parameters, initial values, regularisers, and its free run. */
#include "model/shplrnn.h"

#include "base/machine.h"
#include "model/decay.h"
#include "model/draw.h"
#include "model/kind.h"
#include "model/penalty.h"
#include "model/svd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- parameters ----------------------------------------------------------------------------------- */

static antler_status lay_out(const ant_model_dims *dims, ant_model_layout *layout)
{
    const size_t most = dims->M < dims->L ? dims->M : dims->L;
    ANT_CHECK(dims->rank <= most, ANTLER_ERROR_ARGUMENT,
              "rank %zu is larger than min(M, L) = %zu; use rank 0 for a full W", dims->rank, most);
    layout->Abar = ant_model_layout_append(layout, dims->free_diagonal ? "A" : "Abar", 1, dims->M, 1);
    if (dims->rank == 0) {
        layout->W = ant_model_layout_append(layout, "W", 2, dims->M, dims->L);
    } else {
        layout->WL = ant_model_layout_append(layout, "WL", 2, dims->M, dims->rank);
        layout->WR = ant_model_layout_append(layout, "WR", 2, dims->rank, dims->L);
    }
    layout->V = ant_model_layout_append(layout, "V", 2, dims->L, dims->M);
    layout->b = ant_model_layout_append(layout, "b", 1, dims->L, 1);
    layout->h = ant_model_layout_append(layout, "h", 1, dims->M, 1);
    if (dims->K > 0)
        layout->C = ant_model_layout_append(layout, "C", 2, dims->M, dims->K);
    layout->B = ant_model_layout_append(layout, "B", 2, dims->N, dims->M);
    return ANTLER_OK;
}

/* Vectors of a matrix, its rows or its columns: vector k has its entry n at b[k * across + n * along]. */
typedef struct vector_list {
    double *b;
    size_t length, across, along;
} vector_list;

/* Remove from vector `j` its parts along vectors 0 .. j-1, then scale it to length 1. */
static void orthonormalise(vector_list v, size_t j)
{
    double *own = v.b + j * v.across;
    for (int pass = 0; pass < 2; pass++) { /* twice is enough for orthogonality to rounding */
        for (size_t k = 0; k < j; k++) {
            const double *other = v.b + k * v.across;
            double dot = 0.0;
            for (size_t n = 0; n < v.length; n++)
                dot += other[n * v.along] * own[n * v.along];
            for (size_t n = 0; n < v.length; n++)
                own[n * v.along] = own[n * v.along] - dot * other[n * v.along];
        }
        double square = 0.0;
        for (size_t n = 0; n < v.length; n++)
            square += own[n * v.along] * own[n * v.along];
        for (size_t n = 0; n < v.length; n++)
            own[n * v.along] = own[n * v.along] / sqrt(square);
    }
}

/* The matrix B of spec 4 and spec 10.  b: (N, M), all 0 on entry */
static void initialise_readout(ant_initial_B how, ant_stream stream, size_t N, size_t M, double *b)
{
    if (how == ANT_INITIAL_B_IDENTITY || (how == ANT_INITIAL_B_NAMED && M >= N)) {
        for (size_t n = 0; n < N; n++)
            b[n * M + n] = 1.0;
        return;
    }
    const double scale = how == ANT_INITIAL_B_KAIMING ? sqrt(2.0 / (double)M) : 1.0;
    for (size_t i = 0; i < N * M; i++) {
        double pair[2];
        ant_stream_normal_pair(&stream, pair);
        b[i] = scale * pair[0];
    }
    if (how == ANT_INITIAL_B_KAIMING)
        return;
    const vector_list columns = {b, N, 1, M}, rows = {b, M, M, 1};
    for (size_t j = 0; j < (M < N ? M : N); j++)
        orthonormalise(M < N ? columns : rows, j);
}

/*
 * Matrices, and b of the clipped form, are of order `scale` (spec 4, spec 10).  With b = 0 the clipped hidden
 * layer phi(Vz+b) - phi(Vz) would be exactly zero, and W without a gradient.  Low rank: WL ~ U(+-r^-1/2),
 * WR ~ U(+-sqrt(3) scale L^-1/2), which gives the entries of WL WR the variance of a full W.
 */
static antler_status initialise(const ant_model_layout *layout, ant_initialisation initialisation,
                                uint64_t seed, uint32_t replica, double *parameters)
{
    const ant_model_dims *d = &layout->dims;
    const double scale = ant_draw_scale(initialisation);
    ANT_CHECK(initialisation.B != ANT_INITIAL_B_IDENTITY || d->M >= d->N, ANTLER_ERROR_ARGUMENT,
              "B cannot begin as the identity with fewer latent units than variables");
    ANT_TRY(ant_draw_decay(layout, initialisation, seed, replica, parameters + layout->Abar));
    for (size_t i = 0; i < layout->slices; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        const ant_stream stream = ant_draw_stream(layout, slice, seed, replica);
        double *out = parameters + slice->offset;
        if (slice->offset == layout->W || slice->offset == layout->V || slice->offset == layout->C)
            ant_draw_uniform(stream, scale / sqrt((double)slice->cols), slice->count, out);
        else if (slice->offset == layout->WL)
            ant_draw_uniform(stream, 1.0 / sqrt((double)d->rank), slice->count, out);
        else if (slice->offset == layout->WR)
            ant_draw_uniform(stream, sqrt(3.0 / (double)d->L) * scale, slice->count, out);
        else if (slice->offset == layout->b && d->clipped)
            ant_draw_uniform(stream, scale / sqrt((double)d->L), slice->count, out);
        else if (slice->offset == layout->B)
            initialise_readout(initialisation.B, stream, d->N, d->M, out);
    }
    return ANTLER_OK;
}

/* ---- regularisers --------------------------------------------------------------------------------- */

/* scale sum_j |W_ij|^p for row i of W, formed from its factors, to which the gradient passes on, when the
   rank is given. */
static double penalise_row(const ant_model_layout *layout, const ant_penalty *c, size_t i, double scale)
{
    const size_t L = layout->dims.L, rank = layout->dims.rank;
    double sum = 0.0;
    for (size_t j = 0; j < L; j++) {
        if (rank == 0) {
            sum += ant_penalise(c, layout->W + i * L + j, scale);
            continue;
        }
        const size_t left = layout->WL + i * rank, right = layout->WR + j;
        double w = 0.0;
        for (size_t k = 0; k < rank; k++)
            w += c->parameters[left + k] * c->parameters[right + k * L];
        sum += scale * ant_power(w, c->p);
        for (size_t k = 0; k < rank; k++) {
            ant_penalty_add(c, left + k, scale * ant_power_slope(w, c->p) * c->parameters[right + k * L]);
            ant_penalty_add(c, right + k * L, scale * ant_power_slope(w, c->p) * c->parameters[left + k]);
        }
    }
    return sum;
}

static double manifold_attractor(const ant_model_layout *layout, const ant_penalty *c,
                                 const ant_regulariser *r)
{
    const ant_model_dims *d = &layout->dims;
    const double scale = r->mar / (double)r->units;
    const double gamma_w = r->initial_scale ? 1.0 / (3.0 * (double)d->L) : 1.0;
    const double gamma_v = r->initial_scale ? 1.0 / (3.0 * (double)d->M) : 1.0;
    double sum = 0.0;
    for (size_t i = d->M - r->units; i < d->M; i++) {
        sum += ant_penalise_decay(c, layout->Abar + i, scale);
        sum += penalise_row(layout, c, i, scale * gamma_w / (double)d->L);
        for (size_t j = 0; j < d->L; j++)
            sum += ant_penalise(c, layout->V + j * d->M + i, scale * gamma_v / (double)d->L);
        sum += ant_penalise(c, layout->h + i, scale);
    }
    return sum;
}

static double readout(const ant_model_layout *layout, const ant_penalty *c, const ant_regulariser *r)
{
    const ant_model_dims *d = &layout->dims;
    const double scale = r->readout / ((double)d->N * (double)r->units);
    double sum = 0.0;
    for (size_t i = 0; i < d->N; i++) {
        for (size_t j = d->M - r->units; j < d->M; j++)
            sum += ant_penalise(c, layout->B + i * d->M + j, scale);
    }
    return sum;
}

/* Mean squares of 1 - A, W, V, h, b (spec 10). */
static double latent_squares(const ant_model_layout *layout, const ant_penalty *c, double lambda)
{
    const ant_model_dims *d = &layout->dims;
    const double each_unit = lambda / (double)d->M, each_hidden = lambda / (double)d->L,
                 each_weight = each_unit / (double)d->L;
    double sum = 0.0;
    for (size_t i = 0; i < d->M; i++) {
        sum += ant_penalise_decay(c, layout->Abar + i, each_unit);
        sum += ant_penalise(c, layout->h + i, each_unit);
        sum += penalise_row(layout, c, i, each_weight);
    }
    for (size_t i = 0; i < d->L * d->M; i++)
        sum += ant_penalise(c, layout->V + i, each_weight);
    for (size_t i = 0; i < d->L; i++)
        sum += ant_penalise(c, layout->b + i, each_hidden);
    return sum;
}

/* Mean square of B (spec 10). */
static double readout_squares(const ant_model_layout *layout, const ant_penalty *c, double lambda)
{
    const size_t count = layout->dims.N * layout->dims.M;
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += ant_penalise(c, layout->B + i, lambda / (double)count);
    return sum;
}

/* A singular value of B with its vectors. */
typedef struct singular_value {
    double sigma;
    const double *u, *v; /* u: (N) with stride k = min(M, N); v: (M) */
} singular_value;

/* Add slope d sigma / dB = slope u v^T to dB. */
static void add_singular_slope(const ant_model_layout *layout, const ant_penalty *c, singular_value value,
                               double slope)
{
    const size_t N = layout->dims.N, M = layout->dims.M, k = M < N ? M : N;
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < M; j++)
            ant_penalty_add(c, layout->B + i * M + j, slope * value.u[i * k] * value.v[j]);
    }
}

/* lambda (1 - r)^2 with r = sigma_1 / sigma_k. */
static double condition(const ant_model_layout *layout, const ant_penalty *c, double lambda,
                        singular_value largest, singular_value smallest)
{
    const double r = largest.sigma / smallest.sigma, slope = 2.0 * lambda * (r - 1.0) / smallest.sigma;
    add_singular_slope(layout, c, largest, slope);
    add_singular_slope(layout, c, smallest, -slope * r);
    return lambda * (1.0 - r) * (1.0 - r);
}

/* lambda_2 / k sum (sigma - 1)^2, and the term on the condition; singular values come in falling order. */
static antler_status singular_values(const ant_model_layout *layout, const ant_penalty *c,
                                     const ant_regulariser *r, double *work, double *value)
{
    const size_t N = layout->dims.N, M = layout->dims.M, k = M < N ? M : N;
    double *b = work, *u = b + N * M, *s = u + N * k, *vt = s + k, *scratch = vt + k * M;
    for (size_t i = 0; i < N * M; i++)
        b[i] = c->parameters[layout->B + i];
    ANT_TRY(ant_svd(N, M, b, u, s, vt, scratch));
    const double scale = r->singular / (double)k;
    *value = 0.0;
    for (size_t q = 0; q < k && r->singular > 0.0; q++) {
        *value += scale * (s[q] - 1.0) * (s[q] - 1.0);
        add_singular_slope(layout, c, (singular_value){s[q], u + q, vt + q * M}, 2.0 * scale * (s[q] - 1.0));
    }
    if (r->condition > 0.0)
        *value += condition(layout, c, r->condition, (singular_value){s[0], u, vt},
                            (singular_value){s[k - 1], u + k - 1, vt + (k - 1) * M});
    return ANTLER_OK;
}

static antler_status regularise(const ant_model_layout *layout, const ant_regulariser *r,
                                const double *parameters, double *gradient, double *work,
                                ant_regulariser_terms *terms)
{
    const bool is_free = layout->dims.free_diagonal;
    const ant_penalty c = {parameters, gradient, r->p, is_free}, squares = {parameters, gradient, 2, is_free};
    if (r->mar > 0.0 && r->units > 0)
        terms->mar = manifold_attractor(layout, &c, r);
    if (r->readout > 0.0 && r->units > 0)
        terms->readout = readout(layout, &c, r);
    if (r->latent > 0.0)
        terms->mar += latent_squares(layout, &squares, r->latent);
    if (r->observation > 0.0)
        terms->readout += readout_squares(layout, &squares, r->observation);
    return r->singular > 0.0 || r->condition > 0.0 ? singular_values(layout, &c, r, work, &terms->singular)
                                                   : ANTLER_OK;
}

/* Doubles that the singular values of B need. */
static size_t svd_work(const ant_model_dims *d)
{
    const size_t k = d->M < d->N ? d->M : d->N;
    return (d->N + d->M + 1) * k + ant_svd_work(d->N, d->M);
}

static size_t regularise_work(const ant_model_dims *dims)
{
    return dims->N * dims->M + svd_work(dims);
}

/* ---- running free --------------------------------------------------------------------------------- */

static size_t state_dim(const ant_model_dims *dims)
{
    return dims->M;
}

static const ant_shplrnn_kernels *kernels_here(void)
{
#if defined(__x86_64__)
    switch (ant_cpu_level_best()) {
    case ANT_CPU_AVX512:
        return &ant_shplrnn_kernels_avx512;
    case ANT_CPU_AVX2:
        return &ant_shplrnn_kernels_avx2;
    case ANT_CPU_BASE:
        break;
    }
#endif
    return &ant_shplrnn_kernels_base;
}

static void carve(void *self, const ant_model_dims *d, ant_arena *arena)
{
    ant_shplrnn_runner *r = self;
    *r = (ant_shplrnn_runner){.M = d->M,
                              .N = d->N,
                              .L = d->L,
                              .K = d->K,
                              .Mp = ant_lanes_pad(d->M),
                              .Lp = ant_lanes_pad(d->L),
                              .clipped = d->clipped,
                              .kernels = kernels_here()};
    r->A = ant_arena_take(arena, r->Mp, sizeof *r->A);
    r->h = ant_arena_take(arena, r->Mp, sizeof *r->h);
    r->Wt = ant_arena_take(arena, r->Lp * r->Mp, sizeof *r->Wt);
    r->Vt = ant_arena_take(arena, r->M * r->Lp, sizeof *r->Vt);
    r->b = ant_arena_take(arena, r->Lp, sizeof *r->b);
    r->Ct = ant_arena_take(arena, r->K * r->Mp, sizeof *r->Ct);
    r->B = ant_arena_take(arena, r->N * r->M, sizeof *r->B);
    r->pinv = ant_arena_take(arena, r->M * r->N, sizeof *r->pinv);
    r->hidden = ant_arena_take(arena, r->Lp, sizeof *r->hidden);
    r->state[0] = ant_arena_take(arena, r->Mp, sizeof *r->state[0]);
    r->state[1] = ant_arena_take(arena, r->Mp, sizeof *r->state[1]);
    r->next = ant_arena_take(arena, r->M, sizeof *r->next);
    r->error = ant_arena_take(arena, r->N, sizeof *r->error);
    r->work = ant_arena_take(arena, svd_work(d), sizeof *r->work);
    r->B_o = ant_arena_take(arena, r->N * r->M, sizeof *r->B_o);
    r->pinv_o = ant_arena_take(arena, r->M * r->N, sizeof *r->pinv_o);
}

static double *clear(double *values, size_t count)
{
    return memset(values, 0, count * sizeof *values);
}

/* W^T as one (Lp, Mp) matrix, multiplied out when W is kept as two factors. */
static void pack_W(const antler_model *model, ant_shplrnn_runner *r)
{
    const ant_model_layout *at = &model->layout;
    const double *p = model->parameters;
    const size_t rank = at->dims.rank;
    clear(r->Wt, r->Lp * r->Mp);
    for (size_t l = 0; l < r->L; l++) {
        for (size_t m = 0; m < r->M; m++) {
            double sum = rank == 0 ? p[at->W + m * r->L + l] : 0.0;
            for (size_t k = 0; k < rank; k++)
                sum += p[at->WL + m * rank + k] * p[at->WR + k * r->L + l];
            r->Wt[l * r->Mp + m] = sum;
        }
    }
}

static void pack_weights(const antler_model *model, ant_shplrnn_runner *r)
{
    const ant_model_layout *at = &model->layout;
    const double *p = model->parameters;
    clear(r->state[0], r->Mp);
    clear(r->state[1], r->Mp);
    clear(r->A, r->Mp);
    clear(r->Vt, r->M * r->Lp);
    clear(r->Ct, r->K * r->Mp);
    memcpy(clear(r->h, r->Mp), p + at->h, r->M * sizeof *r->h);
    memcpy(clear(r->b, r->Lp), p + at->b, r->L * sizeof *r->b);
    memcpy(r->B, p + at->B, r->N * r->M * sizeof *r->B);
    for (size_t m = 0; m < r->M; m++) {
        r->A[m] = ant_decay(at->dims.free_diagonal, p[at->Abar + m]);
        for (size_t l = 0; l < r->L; l++)
            r->Vt[m * r->Lp + l] = p[at->V + l * r->M + m];
        for (size_t k = 0; k < r->K; k++)
            r->Ct[k * r->Mp + m] = p[at->C + m * r->K + k];
    }
    pack_W(model, r);
}

/* B: (N, M); pinv: (M, N) */
static antler_status invert(const ant_shplrnn_runner *r, size_t N, const double *B, double *pinv)
{
    const size_t M = r->M, k = M < N ? M : N;
    double *u = r->work, *sigma = u + N * k, *vt = sigma + k; /* u: (N, k) */
    ANT_TRY(ant_svd(N, M, B, u, sigma, vt, vt + k * M));
    ant_svd_pinv(N, M, u, sigma, vt, pinv);
    return ANTLER_OK;
}

static antler_status pack(void *self, const antler_model *model)
{
    const ant_shplrnn_runner *r = self;
    pack_weights(model, self);
    return invert(r, r->N, r->B, r->pinv);
}

static void begin(const void *self, const double *latent, double *state)
{
    const ant_shplrnn_runner *r = self;
    memcpy(state, latent, r->M * sizeof *state);
}

/* xhat = B z.  z: (count, M); x: (count, N) */
static void observe(const ant_shplrnn_runner *r, const double *z, size_t count, double *x)
{
    for (size_t t = 0; t < count; t++) {
        for (size_t n = 0; n < r->N; n++) {
            double sum = 0.0;
            for (size_t m = 0; m < r->M; m++)
                sum += r->B[n * r->M + m] * z[t * r->M + m];
            x[t * r->N + n] = sum;
        }
    }
}

/* The same with the rows of B and x that are there (spec 12); without any, z stays. */
static void force_incomplete(const ant_shplrnn_runner *r, const double *x, double *z)
{
    const size_t M = r->M;
    size_t rows = 0;
    for (size_t n = 0; n < r->N; n++) {
        if (isnan(x[n]))
            continue;
        double error = x[n];
        for (size_t m = 0; m < M; m++)
            error -= r->B[n * M + m] * z[m];
        r->error[rows] = error;
        memcpy(r->B_o + rows++ * M, r->B + n * M, M * sizeof *r->B);
    }
    if (rows == 0 || invert(r, rows, r->B_o, r->pinv_o) != ANTLER_OK)
        return;
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < rows; n++)
            z[m] += r->pinv_o[m * rows + n] * r->error[n];
    }
}

/* z += B+ (x - B z): forcing with strength 1.  x: (N); z: (M) */
static void force(const ant_shplrnn_runner *r, const double *x, double *z)
{
    for (size_t n = 0; n < r->N; n++) {
        if (isnan(x[n])) {
            force_incomplete(r, x, z);
            return;
        }
    }
    observe(r, z, 1, r->error);
    for (size_t n = 0; n < r->N; n++)
        r->error[n] = x[n] - r->error[n];
    for (size_t m = 0; m < r->M; m++) {
        for (size_t n = 0; n < r->N; n++)
            z[m] += r->pinv[m * r->N + n] * r->error[n];
    }
}

/* spec 2: z_0 = B+ x_0, then each of the other rows forces with strength 1. */
static void warm(const void *self, const double *x, const double *s, size_t rows, double *z)
{
    const ant_shplrnn_runner *r = self;
    memset(z, 0, r->M * sizeof *z);
    force(r, x, z);
    for (size_t t = 1; t < rows; t++) {
        r->kernels->steps(r, z, r->K == 0 ? NULL : s + t * r->K, 1, r->next);
        memcpy(z, r->next, r->M * sizeof *z);
        force(r, x + t * r->N, z);
    }
}

static void steps(const void *self, const double *from, const double *s, size_t count, double *states,
                  double *x)
{
    const ant_shplrnn_runner *r = self;
    r->kernels->steps(r, from, s, count, states);
    observe(r, states, count, x);
}

/* The Jacobian does not depend on the input.  The stride of all rows is Mp. */
static void push(const void *self, const double *from, const double *s, size_t count, size_t stride,
                 const double *vectors, double *next, double *scratch)
{
    const ant_shplrnn_runner *r = self;
    (void)s;
    (void)stride;
    r->kernels->push(r, from, count, vectors, next, scratch);
}

static size_t push_scratch(const void *self)
{
    return ant_shplrnn_push_scratch(self);
}

static double step_work(const void *self)
{
    const ant_shplrnn_runner *r = self;
    return 2.0 * (double)(r->M * r->L);
}

static void engine_map(const void *self, ant_engine_map *map)
{
    const ant_shplrnn_runner *r = self;
    *map = (ant_engine_map){.form = ANT_FORM_SHPLRNN,
                            .n = r->M,
                            .M = r->M,
                            .N = r->N,
                            .L = r->L,
                            .K = r->K,
                            .shplrnn = {.clipped = r->clipped,
                                        .l_stride = r->Lp,
                                        .m_stride = r->Mp,
                                        .A = r->A,
                                        .h = r->h,
                                        .b = r->b,
                                        .Vt = r->Vt,
                                        .Wt = r->Wt,
                                        .Ct = r->Ct,
                                        .B = r->B,
                                        .pinv = r->pinv}};
}

static const ant_runner_ops runner = {
    .self_bytes = sizeof(ant_shplrnn_runner),
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

const ant_model_kind ant_kind_shplrnn = {
    .name = "shplrnn",
    .forced = true,
    .M = {"Abar", 0},
    .N = {"B", 0},
    .L = {"V", 0},
    .K = {"C", 1},
    .rank = {"WL", 1},
    .lay_out = lay_out,
    .initialise = initialise,
    .regularise = regularise,
    .regularise_work = regularise_work,
    .runner = &runner,
};
