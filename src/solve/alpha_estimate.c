/* alpha_estimate.c - estimates of the strength of teacher forcing (alpha_estimate.h). */
#include "solve/alpha_estimate.h"

#include "base/arena.h"
#include "base/hash.h"
#include "model/decay.h"
#include "model/spectral_norm.h"
#include "model/svd.h"
#include "solve/matrix_function.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 4096 };      /* rows */
enum { TABLE = 2 * TILE }; /* of patterns by hash, with open addresses */

#define NONE UINT32_MAX /* end of a list, empty place of the table */

/* Rows of a tile by activation pattern. */
typedef struct patterns {
    size_t rows, count;  /* in use; patterns <= rows */
    signed char *slopes; /* (TILE, L): -1, 0 or 1, of each pattern */
    uint32_t *first;     /* (TILE): first row of a pattern */
    uint32_t *last;      /* (TILE) */
    uint32_t *next;      /* (TILE): next row of the same pattern */
    uint32_t *sequence;  /* (TILE): of a row */
    uint32_t *table;     /* (TABLE): indices of patterns */
} patterns;

struct ant_alpha_estimator {
    ant_alpha_method method;
    ant_model_layout layout;
    size_t batch;
    ant_arena arena;
    double *A, *W, *V, *b; /* (M), (L, M): transposed, (L, M), (L) */
    double *units;         /* (M, L): V transposed */
    double *pinv;          /* (M, N): B+ */
    double *u, *s, *vt;    /* of B */
    double *work;          /* of singular values and norms */
    double *sum;           /* (L): V z */
    signed char *slopes;   /* (L): of the Jacobian */
    double *jacobian;      /* (M, M) */
    double *copy;          /* (M, M): of a matrix that is overwritten */
    double *sums;          /* (batch, width), per sequence; see sums_width */
    double *count;         /* (batch): rows of a sequence */
    double *log;           /* (2, M, M), of explog */
    double largest;        /* norm so far */
    patterns p;
    ant_matrix_function function;
};

const char *ant_alpha_method_name(ant_alpha_method method)
{
    static const char *const names[] = {"constant",      "jacobian_upper_bound",
                                        "batch_maximum", "product_upper_bound",
                                        "explog",        "arithmetic_mean"};
    return names[method];
}

/* Doubles that a sequence sums: log sigma, the complex log J, or the slopes. */
static size_t sums_width(ant_alpha_method method, const ant_model_dims *d)
{
    return method == ANT_ALPHA_PRODUCT_UPPER_BOUND ? 1
           : method == ANT_ALPHA_EXPLOG            ? 2 * d->M * d->M
           : method == ANT_ALPHA_ARITHMETIC_MEAN   ? d->L
                                                   : 0;
}

static bool by_pattern(ant_alpha_method method)
{
    return method == ANT_ALPHA_BATCH_MAXIMUM || method == ANT_ALPHA_PRODUCT_UPPER_BOUND ||
           method == ANT_ALPHA_EXPLOG;
}

static void carve_patterns(patterns *p, ant_arena *arena, size_t L)
{
    p->slopes = ant_arena_take(arena, TILE * L, sizeof *p->slopes);
    p->first = ant_arena_take(arena, TILE, sizeof *p->first);
    p->last = ant_arena_take(arena, TILE, sizeof *p->last);
    p->next = ant_arena_take(arena, TILE, sizeof *p->next);
    p->sequence = ant_arena_take(arena, TILE, sizeof *p->sequence);
    p->table = ant_arena_take(arena, TABLE, sizeof *p->table);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void carve(ant_alpha_estimator *e, ant_arena *arena)
{
    const ant_model_dims *d = &e->layout.dims;
    const size_t M = d->M, N = d->N, L = d->L, k = M < N ? M : N;
    const size_t work = larger(ant_svd_work(N, M), ant_spectral_norm_work(M, M)); /* also of W and V */
    e->A = ant_arena_take(arena, M, sizeof *e->A);
    e->W = ant_arena_take(arena, M * L, sizeof *e->W);
    e->V = ant_arena_take(arena, L * M, sizeof *e->V);
    e->b = ant_arena_take(arena, L, sizeof *e->b);
    e->units = ant_arena_take(arena, M * L, sizeof *e->units);
    e->pinv = ant_arena_take(arena, M * N, sizeof *e->pinv);
    e->u = ant_arena_take(arena, N * k, sizeof *e->u);
    e->s = ant_arena_take(arena, k, sizeof *e->s);
    e->vt = ant_arena_take(arena, k * M, sizeof *e->vt);
    e->work = ant_arena_take(arena, work, sizeof *e->work);
    e->sum = ant_arena_take(arena, L, sizeof *e->sum);
    e->slopes = ant_arena_take(arena, L, sizeof *e->slopes);
    e->jacobian = ant_arena_take(arena, M * M, sizeof *e->jacobian);
    e->copy = ant_arena_take(arena, M * M, sizeof *e->copy);
    e->sums = ant_arena_take(arena, e->batch * sums_width(e->method, d), sizeof *e->sums);
    e->count = ant_arena_take(arena, e->batch, sizeof *e->count);
    if (by_pattern(e->method))
        carve_patterns(&e->p, arena, L);
    if (e->method == ANT_ALPHA_EXPLOG) {
        e->log = ant_arena_take(arena, 2 * M * M, sizeof *e->log);
        ant_matrix_function_carve(&e->function, arena, M);
    }
}

void ant_alpha_free(ant_alpha_estimator *estimator)
{
    if (estimator == NULL)
        return;
    ant_arena_destroy(&estimator->arena);
    free(estimator);
}

static antler_status build(ant_alpha_estimator *e, const ant_model_dims *dims)
{
    ant_arena counting;
    ANT_TRY(ant_model_layout_make(dims, &e->layout));
    ant_arena_count(&counting);
    carve(e, &counting);
    ANT_TRY(ant_arena_create(&e->arena, counting.used));
    carve(e, &e->arena);
    return ANTLER_OK;
}

antler_status ant_alpha_create(const ant_model_dims *dims, ant_alpha_method method, size_t batch,
                               ant_alpha_estimator **estimator)
{
    ANT_CHECK(dims->kind == ANT_MODEL_SHPLRNN && batch > 0 && batch < NONE && method > ANT_ALPHA_CONSTANT &&
                  method < ANT_ALPHA_METHODS,
              ANTLER_ERROR_ARGUMENT, "alpha can be estimated for a shplrnn, by one of the known methods");
    ant_alpha_estimator *e = calloc(1, sizeof *e);
    if (e == NULL)
        return ant_fail_memory(sizeof *e, "the estimate of alpha");
    e->method = method;
    e->batch = batch;
    const antler_status status = build(e, dims);
    if (status == ANTLER_OK)
        *estimator = e;
    else
        ant_alpha_free(e);
    return status;
}

bool ant_alpha_reads_rows(const ant_alpha_estimator *estimator)
{
    return estimator->method != ANT_ALPHA_JACOBIAN_UPPER_BOUND;
}

/* W, multiplied out when it is of low rank, and V: both in the order in which they are read. */
static void set_weights(ant_alpha_estimator *e, const double *parameters)
{
    const ant_model_layout *layout = &e->layout;
    const size_t M = layout->dims.M, L = layout->dims.L, rank = layout->dims.rank;
    for (size_t i = 0; i < M; i++) {
        for (size_t l = 0; l < L; l++) {
            double *w = e->W + l * M + i;
            *w = rank == 0 ? parameters[layout->W + i * L + l] : 0.0;
            for (size_t k = 0; k < rank; k++)
                *w += parameters[layout->WL + i * rank + k] * parameters[layout->WR + k * L + l];
            e->units[i * L + l] = parameters[layout->V + l * M + i];
        }
    }
    memcpy(e->V, parameters + layout->V, L * M * sizeof *e->V);
}

/* The Jacobian where all slopes are 0: diag A. */
static void clear_jacobian(ant_alpha_estimator *e)
{
    const size_t M = e->layout.dims.M;
    memset(e->slopes, 0, e->layout.dims.L * sizeof *e->slopes);
    memset(e->jacobian, 0, M * M * sizeof *e->jacobian);
    for (size_t m = 0; m < M; m++)
        e->jacobian[m * M + m] = e->A[m];
}

static void clear_patterns(patterns *p)
{
    p->rows = p->count = 0;
    memset(p->table, 0xff, TABLE * sizeof *p->table); /* NONE */
}

antler_status ant_alpha_begin(ant_alpha_estimator *e, const double *parameters)
{
    const ant_model_layout *layout = &e->layout;
    const ant_model_dims *d = &layout->dims;
    for (size_t m = 0; m < d->M; m++)
        e->A[m] = ant_decay(layout->dims.free_diagonal, parameters[layout->Abar + m]);
    set_weights(e, parameters);
    memcpy(e->b, parameters + layout->b, d->L * sizeof *e->b);
    memset(e->sums, 0, e->batch * sums_width(e->method, d) * sizeof *e->sums);
    memset(e->count, 0, e->batch * sizeof *e->count);
    e->largest = 0.0;
    clear_jacobian(e);
    if (by_pattern(e->method))
        clear_patterns(&e->p);
    ANT_TRY(ant_svd(d->N, d->M, parameters + layout->B, e->u, e->s, e->vt, e->work));
    ant_svd_pinv(d->N, d->M, e->u, e->s, e->vt, e->pinv);
    return ANTLER_OK;
}

/* jacobian += change W_l V_l, with column l of W and row l of V */
static void add_unit(ant_alpha_estimator *e, size_t l, double change)
{
    const size_t M = e->layout.dims.M;
    const double *W = e->W + l * M, *V = e->V + l * M;
    for (size_t i = 0; i < M; i++) {
        const double weight = W[i] * change;
        for (size_t j = 0; j < M; j++)
            e->jacobian[i * M + j] += weight * V[j];
    }
}

/* The Jacobian of other slopes: from row to row only a few units switch. */
static void move_jacobian(ant_alpha_estimator *e, const signed char *slopes)
{
    for (size_t l = 0; l < e->layout.dims.L; l++) {
        if (slopes[l] != e->slopes[l])
            add_unit(e, l, slopes[l] - e->slopes[l]);
        e->slopes[l] = slopes[l];
    }
}

/* Put the logarithm of a pattern's Jacobian, or of its norm, into the sums of the pattern's rows. */
static antler_status close_pattern(ant_alpha_estimator *e, size_t pattern)
{
    const patterns *p = &e->p;
    const size_t M = e->layout.dims.M, L = e->layout.dims.L, width = sums_width(e->method, &e->layout.dims);
    double sigma = 0.0, log_sigma = 0.0;
    const double *term = &log_sigma;
    move_jacobian(e, p->slopes + pattern * L);
    if (e->method == ANT_ALPHA_EXPLOG) {
        memcpy(e->copy, e->jacobian, M * M * sizeof *e->copy);
        ANT_TRY(ant_matrix_log(&e->function, e->copy, e->log));
        term = e->log;
    } else {
        ANT_TRY(ant_spectral_norm(M, M, e->jacobian, &sigma, e->work));
        log_sigma = log(sigma);
    }
    if (e->method == ANT_ALPHA_BATCH_MAXIMUM)
        e->largest = fmax(e->largest, sigma);
    for (uint32_t row = p->first[pattern]; row != NONE; row = p->next[row]) {
        for (size_t i = 0; i < width; i++)
            e->sums[p->sequence[row] * width + i] += term[i];
    }
    return ANTLER_OK;
}

static antler_status close_tile(ant_alpha_estimator *e)
{
    for (size_t i = 0; i < e->p.count; i++)
        ANT_TRY(close_pattern(e, i));
    clear_patterns(&e->p);
    return ANTLER_OK;
}

/* Append the pattern in slopes[count] and its row; a pattern that is known gets the row alone. */
static void add_pattern(patterns *p, size_t L, size_t sequence)
{
    const signed char *slopes = p->slopes + p->count * L;
    size_t place = ant_hash_add(ant_hash_begin(), slopes, L).low % TABLE;
    while (p->table[place] != NONE && memcmp(p->slopes + p->table[place] * L, slopes, L) != 0)
        place = (place + 1) % TABLE;
    const uint32_t row = (uint32_t)p->rows++;
    p->sequence[row] = (uint32_t)sequence;
    p->next[row] = NONE;
    if (p->table[place] == NONE) {
        p->table[place] = (uint32_t)p->count;
        p->first[p->count++] = row;
    } else {
        p->next[p->last[p->table[place]]] = row;
    }
    p->last[p->table[place]] = row;
}

/* sum = V z with z = B+ x; one unit after the other, so that the compiler makes vectors of them. */
static void find_units(ant_alpha_estimator *e, const double *x)
{
    const size_t M = e->layout.dims.M, N = e->layout.dims.N, L = e->layout.dims.L;
    double *sum = e->sum;
    memset(sum, 0, L * sizeof *sum);
    for (size_t m = 0; m < M; m++) {
        const double *units = e->units + m * L;
        double z = 0.0;
        for (size_t n = 0; n < N; n++)
            z += e->pinv[m * N + n] * x[n];
        for (size_t l = 0; l < L; l++)
            sum[l] += units[l] * z;
    }
}

/* phi'(V z + b), minus phi'(V z) when clipped, of unit l. */
static int unit_slope(const ant_alpha_estimator *e, size_t l)
{
    return (e->sum[l] + e->b[l] > 0.0) - (e->layout.dims.clipped && e->sum[l] > 0.0);
}

antler_status ant_alpha_add(ant_alpha_estimator *e, size_t sequence, const double *x)
{
    const size_t L = e->layout.dims.L;
    if (!ant_alpha_reads_rows(e))
        return ANTLER_OK;
    find_units(e, x);
    e->count[sequence] += 1.0;
    if (e->method == ANT_ALPHA_ARITHMETIC_MEAN) {
        for (size_t l = 0; l < L; l++)
            e->sums[sequence * L + l] += unit_slope(e, l);
        return ANTLER_OK;
    }
    for (size_t l = 0; l < L; l++)
        e->p.slopes[e->p.count * L + l] = (signed char)unit_slope(e, l);
    add_pattern(&e->p, L, sequence);
    return e->p.rows < TILE ? ANTLER_OK : close_tile(e);
}

/* max abs(A_i) + sigma(W) sigma(V) */
static antler_status upper_bound(ant_alpha_estimator *e, double *norm)
{
    const size_t M = e->layout.dims.M, L = e->layout.dims.L;
    double largest = 0.0, w = 0.0, v = 0.0;
    for (size_t m = 0; m < M; m++)
        largest = fmax(largest, fabs(e->A[m]));
    ANT_TRY(ant_spectral_norm(L, M, e->W, &w, e->work));
    ANT_TRY(ant_spectral_norm(L, M, e->V, &v, e->work));
    *norm = largest + w * v;
    return ANTLER_OK;
}

/* The norm of one sequence, from its sums; overwrites them. */
static antler_status sequence_norm(ant_alpha_estimator *e, size_t sequence, double *norm)
{
    const size_t M = e->layout.dims.M, width = sums_width(e->method, &e->layout.dims);
    double *sums = e->sums + sequence * width;
    for (size_t i = 0; i < width; i++)
        sums[i] /= e->count[sequence];
    if (e->method == ANT_ALPHA_EXPLOG)
        return ant_matrix_exp_norm(&e->function, sums, norm);
    if (e->method == ANT_ALPHA_ARITHMETIC_MEAN) {
        clear_jacobian(e);
        for (size_t l = 0; l < e->layout.dims.L; l++)
            add_unit(e, l, sums[l]);
        return ant_spectral_norm(M, M, e->jacobian, norm, e->work);
    }
    *norm = exp(sums[0]);
    return ANTLER_OK;
}

antler_status ant_alpha_norm(ant_alpha_estimator *e, double *norm)
{
    if (e->method == ANT_ALPHA_JACOBIAN_UPPER_BOUND)
        return upper_bound(e, norm);
    if (by_pattern(e->method))
        ANT_TRY(close_tile(e));
    for (size_t i = 0; e->method != ANT_ALPHA_BATCH_MAXIMUM && i < e->batch; i++) {
        double one = 0.0;
        if (e->count[i] > 0.0)
            ANT_TRY(sequence_norm(e, i, &one));
        e->largest = fmax(e->largest, one);
    }
    *norm = e->largest;
    return ANTLER_OK;
}

double ant_alpha_of_norm(double norm)
{
    return norm > 1.0 ? 1.0 - 1.0 / norm : 0.0;
}

double ant_alpha_next(double alpha, double estimate, double decay)
{
    return estimate > alpha ? estimate : decay * alpha + (1.0 - decay) * estimate;
}
