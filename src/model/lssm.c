/*
 * lssm.c - the LSSM (spec 1, Eq. shplrnn_ssm): its parameters, initial values, regulariser, and its free run.
 *
 *     z_t = A o z_{t-1} + U x_{t-1} + C s_t + h        xhat_t = B phi(V z_t + b)        A: decay.h
 *
 * In a free run xhat_{t-1} takes the place of x_{t-1}; its state is then z and that observation, and its
 * recurrence the one of a shPLRNN with W = U B.
 */
#include "model/decay.h"
#include "model/draw.h"
#include "model/kind.h"
#include "model/penalty.h"

#include <math.h>
#include <string.h>

/* ---- parameters ----------------------------------------------------------------------------------- */

static antler_status lay_out(const ant_model_dims *dims, ant_model_layout *layout)
{
    ANT_CHECK(dims->rank == 0 && !dims->clipped, ANTLER_ERROR_ARGUMENT,
              "a lssm has no W, so it has neither a rank nor a clipped form");
    layout->Abar = ant_model_layout_append(layout, dims->free_diagonal ? "A" : "Abar", 1, dims->M, 1);
    layout->U = ant_model_layout_append(layout, "U", 2, dims->M, dims->N);
    layout->V = ant_model_layout_append(layout, "V", 2, dims->L, dims->M);
    layout->b = ant_model_layout_append(layout, "b", 1, dims->L, 1);
    layout->h = ant_model_layout_append(layout, "h", 1, dims->M, 1);
    if (dims->K > 0)
        layout->C = ant_model_layout_append(layout, "C", 2, dims->M, dims->K);
    layout->B = ant_model_layout_append(layout, "B", 2, dims->N, dims->L);
    return ANTLER_OK;
}

/* All matrices: U(+-scale columns^-1/2) (spec 4, spec 10); b and h are 0. */
static antler_status initialise(const ant_model_layout *layout, ant_initialisation initialisation,
                                uint64_t seed, uint32_t replica, double *parameters)
{
    const double scale = ant_draw_scale(initialisation);
    ANT_TRY(ant_draw_decay(layout, initialisation, seed, replica, parameters + layout->Abar));
    for (size_t i = 0; i < layout->slices; i++) {
        const ant_model_slice *slice = &layout->slice[i];
        if (slice->axes == 2)
            ant_draw_uniform(ant_draw_stream(layout, slice, seed, replica), scale / sqrt((double)slice->cols),
                             slice->count, parameters + slice->offset);
    }
    return ANTLER_OK;
}

/* MAR for the LSSM; the terms on the readout belong to a B that reads z. */
static antler_status regularise(const ant_model_layout *layout, const ant_regulariser *r,
                                const double *parameters, double *gradient, double *work,
                                ant_regulariser_terms *terms)
{
    const ant_penalty c = {parameters, gradient, r->p, layout->dims.free_diagonal};
    const ant_model_dims *d = &layout->dims;
    (void)work;
    if (r->mar <= 0.0 || r->units == 0)
        return ANTLER_OK;
    const double scale = r->mar / (double)r->units;
    for (size_t i = d->M - r->units; i < d->M; i++) {
        terms->mar += ant_penalise_decay(&c, layout->Abar + i, scale);
        for (size_t n = 0; n < d->N; n++)
            terms->mar += ant_penalise(&c, layout->U + i * d->N + n, scale / (double)d->N);
        terms->mar += ant_penalise(&c, layout->h + i, scale);
    }
    return ANTLER_OK;
}

/* ---- running free --------------------------------------------------------------------------------- */

/*
 * For engines, an LSSM is a shPLRNN of n = M + N states (z, xhat) and l = L + 2 N hidden units.  As V z' + b
 * with the new z' = A z + U xhat + C s + h is affine in the old state and the input,
 *
 *     z'    = A z + U [phi(xhat) - phi(-xhat)] + C s + h
 *     xhat' = B phi(V A z + V U xhat + V C s + V h + b)
 *
 * Its observation is the second part of the state, which a warm-up replaces by the data.
 */
typedef struct lssm_map {
    double *A, *h; /* (n) */
    double *b;     /* (l) */
    double *Vt;    /* (n, l) */
    double *Wt;    /* (l, n) */
    double *Ct;    /* (K, n) */
    double *Et;    /* (K, l) */
    double *B;     /* (N, n) */
    double *pinv;  /* (n, N) */
} lssm_map;

typedef struct lssm_runner {
    size_t M, N, L, K;
    double *A, *h;  /* (M) */
    double *U;      /* (M, N) */
    double *C;      /* (M, K) */
    double *Vt;     /* (M, L) */
    double *b;      /* (L) */
    double *B;      /* (N, L) */
    double *hidden; /* (L): scratch */
    lssm_map map;
} lssm_runner;

static size_t state_dim(const ant_model_dims *dims)
{
    return dims->M + dims->N;
}

static size_t latent_dim(const ant_model_dims *dims)
{
    return dims->M;
}

static void carve(void *self, const ant_model_dims *d, ant_arena *arena)
{
    lssm_runner *r = self;
    *r = (lssm_runner){.M = d->M, .N = d->N, .L = d->L, .K = d->K};
    r->A = ant_arena_take(arena, d->M, sizeof *r->A);
    r->h = ant_arena_take(arena, d->M, sizeof *r->h);
    r->U = ant_arena_take(arena, d->M * d->N, sizeof *r->U);
    r->C = ant_arena_take(arena, d->M * d->K, sizeof *r->C);
    r->Vt = ant_arena_take(arena, d->M * d->L, sizeof *r->Vt);
    r->b = ant_arena_take(arena, d->L, sizeof *r->b);
    r->B = ant_arena_take(arena, d->N * d->L, sizeof *r->B);
    r->hidden = ant_arena_take(arena, d->L, sizeof *r->hidden);
    const size_t n = d->M + d->N, l = d->L + 2 * d->N;
    r->map.A = ant_arena_take(arena, n, sizeof *r->map.A);
    r->map.h = ant_arena_take(arena, n, sizeof *r->map.h);
    r->map.b = ant_arena_take(arena, l, sizeof *r->map.b);
    r->map.Vt = ant_arena_take(arena, n * l, sizeof *r->map.Vt);
    r->map.Wt = ant_arena_take(arena, l * n, sizeof *r->map.Wt);
    r->map.Ct = ant_arena_take(arena, d->K * n, sizeof *r->map.Ct);
    r->map.Et = ant_arena_take(arena, d->K * l, sizeof *r->map.Et);
    r->map.B = ant_arena_take(arena, d->N * n, sizeof *r->map.B);
    r->map.pinv = ant_arena_take(arena, n * d->N, sizeof *r->map.pinv);
}

/* The hidden layer of the map: the input of the readout, from the new state. */
static void pack_readout(const lssm_runner *r)
{
    const lssm_map *map = &r->map;
    const size_t n = r->M + r->N, l = r->L + 2 * r->N;
    for (size_t i = 0; i < r->L; i++) {
        map->b[i] = r->b[i];
        for (size_t m = 0; m < r->M; m++) {
            const double V = r->Vt[m * r->L + i];
            map->b[i] += V * r->h[m];
            map->Vt[m * l + i] = V * r->A[m];
            for (size_t k = 0; k < r->N; k++)
                map->Vt[(r->M + k) * l + i] += V * r->U[m * r->N + k];
            for (size_t k = 0; k < r->K; k++)
                map->Et[k * l + i] += V * r->C[m * r->K + k];
        }
        for (size_t k = 0; k < r->N; k++)
            map->Wt[i * n + r->M + k] = r->B[k * r->L + i];
    }
}

static void pack_map(const lssm_runner *r)
{
    const lssm_map *map = &r->map;
    const size_t n = r->M + r->N, l = r->L + 2 * r->N;
    memset(map->A, 0, n * sizeof *map->A);
    memset(map->h, 0, n * sizeof *map->h);
    memset(map->b, 0, l * sizeof *map->b);
    memset(map->Vt, 0, n * l * sizeof *map->Vt);
    memset(map->Wt, 0, l * n * sizeof *map->Wt);
    memset(map->Ct, 0, r->K * n * sizeof *map->Ct);
    memset(map->Et, 0, r->K * l * sizeof *map->Et);
    memset(map->B, 0, r->N * n * sizeof *map->B);
    memset(map->pinv, 0, n * r->N * sizeof *map->pinv);
    memcpy(map->A, r->A, r->M * sizeof *map->A);
    memcpy(map->h, r->h, r->M * sizeof *map->h);
    pack_readout(r);
    for (size_t k = 0; k < r->K; k++) {
        for (size_t m = 0; m < r->M; m++)
            map->Ct[k * n + m] = r->C[m * r->K + k];
    }
    for (size_t k = 0; k < r->N; k++) {
        const size_t plus = r->L + k, minus = plus + r->N; /* of phi(xhat) - phi(-xhat) */
        map->Vt[(r->M + k) * l + plus] = 1.0;
        map->Vt[(r->M + k) * l + minus] = -1.0;
        for (size_t m = 0; m < r->M; m++) {
            map->Wt[plus * n + m] = r->U[m * r->N + k];
            map->Wt[minus * n + m] = -r->U[m * r->N + k];
        }
        map->B[k * n + r->M + k] = map->pinv[(r->M + k) * r->N + k] = 1.0;
    }
}

static antler_status pack(void *self, const antler_model *model)
{
    lssm_runner *r = self;
    const ant_model_layout *at = &model->layout;
    const double *p = model->parameters;
    memcpy(r->h, p + at->h, r->M * sizeof *r->h);
    memcpy(r->U, p + at->U, r->M * r->N * sizeof *r->U);
    memcpy(r->b, p + at->b, r->L * sizeof *r->b);
    memcpy(r->B, p + at->B, r->N * r->L * sizeof *r->B);
    if (r->K > 0)
        memcpy(r->C, p + at->C, r->M * r->K * sizeof *r->C);
    for (size_t m = 0; m < r->M; m++) {
        r->A[m] = ant_decay(at->dims.free_diagonal, p[at->Abar + m]);
        for (size_t l = 0; l < r->L; l++)
            r->Vt[m * r->L + l] = p[at->V + l * r->M + m];
    }
    pack_map(r);
    return ANTLER_OK;
}

/* next = A z + U x, plus C s + h unless s and h are left out.  z, next: (M); x: (N); s: (K) */
static void advance(const lssm_runner *r, const double *z, const double *x, const double *s, bool affine,
                    double *next)
{
    for (size_t m = 0; m < r->M; m++) {
        double sum = r->A[m] * z[m] + (affine ? r->h[m] : 0.0);
        for (size_t n = 0; n < r->N; n++)
            sum += r->U[m * r->N + n] * x[n];
        for (size_t k = 0; k < r->K && affine; k++)
            sum += r->C[m * r->K + k] * s[k];
        next[m] = sum;
    }
}

/* hidden = V z, plus b where it is given.  z: (M); b, hidden: (L) */
static void project(const lssm_runner *r, const double *z, const double *b, double *restrict hidden)
{
    for (size_t l = 0; l < r->L; l++)
        hidden[l] = b == NULL ? 0.0 : b[l];
    for (size_t m = 0; m < r->M; m++) {
        for (size_t l = 0; l < r->L; l++)
            hidden[l] += r->Vt[m * r->L + l] * z[m];
    }
}

/* x = B hidden over the hidden units that are active.  active, hidden: (L); x: (N) */
static void read_out(const lssm_runner *r, const double *active, const double *hidden, double *x)
{
    for (size_t n = 0; n < r->N; n++) {
        double sum = 0.0;
        for (size_t l = 0; l < r->L; l++)
            sum += active[l] > 0.0 ? r->B[n * r->L + l] * hidden[l] : 0.0;
        x[n] = sum;
    }
}

/* x = B phi(V z + b). */
static void observe(const lssm_runner *r, const double *z, double *x)
{
    project(r, z, r->b, r->hidden);
    read_out(r, r->hidden, r->hidden, x);
}

static void begin(const void *self, const double *latent, double *state)
{
    const lssm_runner *r = self;
    memcpy(state, latent, r->M * sizeof *state);
    observe(r, state, state + r->M);
}

static bool is_incomplete(const double *x, size_t N)
{
    for (size_t n = 0; n < N; n++) {
        if (isnan(x[n]))
            return true;
    }
    return false;
}

/* z_0 = 0, and every row drives the step to the next one; the last row is the input of the first free step.
 */
static void warm(const void *self, const double *x, const double *s, size_t rows, double *state)
{
    const lssm_runner *r = self;
    double *row = state + r->M; /* x with predictions for what is missing, zeros in row 0 (spec 12) */
    memset(state, 0, (r->M + r->N) * sizeof *state);
    for (size_t t = 0; t < rows; t++) {
        const double *own = x + t * r->N;
        if (t > 0) {
            advance(r, state, row, r->K == 0 ? NULL : s + t * r->K, true, state);
            if (is_incomplete(own, r->N))
                observe(r, state, row);
        }
        for (size_t n = 0; n < r->N; n++)
            row[n] = isnan(own[n]) ? row[n] : own[n];
    }
}

static void steps(const void *self, const double *from, const double *s, size_t count, double *states,
                  double *x)
{
    const lssm_runner *r = self;
    const size_t n = r->M + r->N;
    for (size_t t = 0; t < count; t++) {
        double *next = states + t * n;
        advance(r, from, from + r->M, r->K == 0 ? NULL : s + t * r->K, true, next);
        observe(r, next, next + r->M);
        memcpy(x + t * r->N, next + r->M, r->N * sizeof *x);
        from = next;
    }
}

/* dz' = A dz + U dx and dx' = B (phi' o V dz'), with phi' at the new z. */
static void push(const void *self, const double *from, const double *s, size_t count, size_t stride,
                 const double *vectors, double *next, double *scratch)
{
    const lssm_runner *r = self;
    double *z = scratch, *active = z + r->M; /* (M), (L) */
    advance(r, from, from + r->M, s, true, z);
    project(r, z, r->b, active);
    for (size_t k = 0; k < count; k++) {
        const double *vector = vectors + k * stride;
        double *out = next + k * stride;
        advance(r, vector, vector + r->M, NULL, false, out);
        project(r, out, NULL, r->hidden);
        read_out(r, active, r->hidden, out + r->M);
    }
}

static size_t push_scratch(const void *self)
{
    const lssm_runner *r = self;
    return r->M + r->L;
}

static double step_work(const void *self)
{
    const lssm_runner *r = self;
    return (double)(r->M * r->N + r->L * (r->M + r->N));
}

static void engine_map(const void *self, ant_engine_map *map)
{
    const lssm_runner *r = self;
    const lssm_map *own = &r->map;
    const size_t n = r->M + r->N, l = r->L + 2 * r->N;
    *map = (ant_engine_map){.form = ANT_FORM_SHPLRNN,
                            .n = n,
                            .M = n,
                            .N = r->N,
                            .L = l,
                            .K = r->K,
                            .shplrnn = {.l_stride = l,
                                        .m_stride = n,
                                        .A = own->A,
                                        .h = own->h,
                                        .b = own->b,
                                        .Vt = own->Vt,
                                        .Wt = own->Wt,
                                        .Ct = own->Ct,
                                        .Et = r->K == 0 ? NULL : own->Et,
                                        .B = own->B,
                                        .pinv = own->pinv}};
}

static const ant_runner_ops runner = {
    .self_bytes = sizeof(lssm_runner),
    .state_dim = state_dim,
    .latent_dim = latent_dim,
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

const ant_model_kind ant_kind_lssm = {
    .name = "lssm",
    .M = {"Abar", 0},
    .N = {"B", 0},
    .L = {"V", 0},
    .K = {"C", 1},
    .lay_out = lay_out,
    .initialise = initialise,
    .regularise = regularise,
    .runner = &runner,
};
