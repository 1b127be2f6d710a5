/*
 * piece_simd_tmpl.c - kernels for one segment at a time that follow the linear pieces of the model.
 *
 * phi is a ReLU, so a step is affine while no hidden unit switches: with D the units that are on,
 *     F(z) = J z + c,    J = diag(A) + W D V,    c = W D b + h.
 * From one step to the next few units switch (one or two of 128 in a trained model), and each changes
 * J and c by one outer product.  So a forward step costs V z~ + b, whose signs are D, and J z~; a backward
 * step costs J^T v.  With S_l the sum of v [z~ 1]^T over the steps in which unit l is on, dW_l = S_l [V_l
 * b_l]^T,    d[V_l b_l] = W_l^T S_l, and S_l changes only when l switches: the running sum of all steps is
 * added or subtracted.
 *
 * J is stored as J - I, whose rounding errors are small beside 1 - A, the rate at which slow units forget. To
 * limit rounding it is built again at the start of every tile of TILE steps, and the running sum starts from
 * zero there.  Where many units switch, this is slower than dense products; then the kernel refuses.
 */
#include "solve/kernel.h"
#include "solve/vector.h"

#include <string.h>

enum { TILE = 128 };     /* steps for which J and the running sum are updated before they start again */
enum { PROJECTED = 10 }; /* the largest M for which the projection of a pattern is stored as a matrix */
enum { GAP_ROWS = 96 };  /* outer products of incomplete rows that are added together */
enum { FLUSH = 512 };    /* tiles between two additions of the sums into double */
enum { SMALL = 66, SMALL_ROW = 6 }; /* vectors of a Jacobian and of a state of constant size: M <= 10 */

#include "solve/piece_weights.h"

/*
 * Scratch of one slot: a tile of time, and the sums of all its segments.  Its size decides how many groups
 * share a slot (shooting_tmpl.c), so that a larger one changes the order of sums.
 */
typedef struct piece_buffers {
    vector *z, *row, *state;       /* (mv) */
    vector *before_relu;           /* (units): |V zeta~ + b|, then |V zeta~| when clipped */
    vector *jacobian, *running;    /* (M + 1, mv): J - I; (M, mv) */
    vector *tile_v, *tile_w;       /* (TILE, mv): v after each step, a w before it */
    vector *tile_teacher;          /* (TILE, mv): a Q^T B+ x, and 1 at place M; backward (TILE, nv): E a w */
    vector *sums;                  /* (units, M, mv): S_l */
    vector *all;                   /* (M, mv): the running sum of all steps */
    vector *loss, *forcing, *pinv; /* (N, mv): e zeta^T; (M, mv): a w zeta^T; (N, mv): a e w^T */
    vector *inputs;                /* (K, mv): s v^T */
    vector *gaps;                  /* (N, mv): dB of incomplete rows (piece_gaps.h) */
    vector *run_states, *run_pulls, *run_errors; /* (M, mv), (N, mv), (M, nv): of rows with one pattern */
    vector *gap_left, *gap_right; /* (GAP_ROWS, nv), (GAP_ROWS, mv): outer products to be added to it */
    vector *tangents;             /* (M, mv): vectors of piece_tangent.h, for M <= TANGENTS */
    size_t sums_begin, sums_end;  /* in reals from the start of the scratch */
} piece_buffers;

static size_t buffers_place(const piece_weights *w, real *scratch, piece_buffers *t)
{
    const size_t M = w->M, mv = w->mv;
    const struct {
        vector **slot;
        size_t count;
    } part[] = {{&t->z, mv},
                {&t->row, mv},
                {&t->state, mv},
                {&t->before_relu, w->units / LANES},
                {&t->jacobian, (M + 1) * mv},
                {&t->running, M * mv},
                {&t->tile_v, TILE * mv},
                {&t->tile_w, TILE * mv},
                {&t->tile_teacher, TILE * mv},
                {&t->run_states, M * mv},
                {&t->run_pulls, w->N * mv},
                {&t->run_errors, M * w->nv},
                {&t->gap_left, GAP_ROWS * w->nv},
                {&t->gap_right, GAP_ROWS * mv},
                {&t->tangents, M * mv},
                {&t->sums, w->units * M * mv},
                {&t->all, M * mv},
                {&t->loss, w->N * mv},
                {&t->forcing, M * mv},
                {&t->pinv, w->N * mv},
                {&t->inputs, w->K * mv},
                {&t->gaps, w->N * mv}};
    const size_t first_sum = 15;
    size_t used = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (i == first_sum)
            t->sums_begin = used;
        *part[i].slot = scratch == NULL ? NULL : (vector *)(scratch + used);
        used += part[i].count * LANES;
    }
    t->sums_end = used;
    return used;
}

static size_t piece_scratch_count(const ant_model_dims *d)
{
    piece_weights w;
    piece_buffers t;
    piece_place(d, NULL, &w);
    return buffers_place(&w, NULL, &t);
}

static size_t piece_mask_words(const ant_model_dims *d)
{
    piece_weights w;
    piece_place(d, NULL, &w);
    return w.words;
}

static void piece_open(const ant_model_dims *d, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(d, NULL, &w);
    buffers_place(&w, NULL, &t);
    memset(scratch + t.sums_begin, 0, (t.sums_end - t.sums_begin) * sizeof *scratch);
}

/* Add one of `parts` parts of the sums of another slot; whole vectors, as all buffers are. */
static void piece_join(const ant_model_dims *d, real *scratch, const real *from, size_t part, size_t parts)
{
    piece_weights w;
    piece_buffers t;
    piece_place(d, NULL, &w);
    buffers_place(&w, NULL, &t);
    const size_t count = (t.sums_end - t.sums_begin) / LANES;
    for (size_t k = count * part / parts; k < count * (part + 1) / parts; k++) {
        const size_t i = t.sums_begin + k * LANES;
        *(vector *)(scratch + i) += *(const vector *)(from + i);
    }
}

/* A row of M reals as vectors; beyond M it reads what follows in memory. */
static ALWAYS_INLINE vector row_vector(const real *row, size_t c)
{
    return *(const vector_loose *)(row + c * LANES);
}

/* out += sum_k x_k w[k, :]; independent sums hide the latency of the additions. */
static ALWAYS_INLINE void mix(const size_t depth, const size_t mv, const vector *w, const real *x,
                              vector *out)
{
    enum { CHAINS = 4 };
    for (size_t c = 0; c < mv; c++) {
        vector part[CHAINS] = {out[c], {0}, {0}, {0}};
        size_t k = 0;
        for (; k + CHAINS <= depth; k += CHAINS) {
            for (size_t q = 0; q < CHAINS; q++)
                part[q] += x[k + q] * w[(k + q) * mv + c];
        }
        for (size_t q = 0; q < CHAINS - 1; q++) {
            if (k + q < depth)
                part[q] += x[k + q] * w[(k + q) * mv + c];
        }
        out[c] = (part[0] + part[1]) + (part[2] + part[3]);
    }
}

/* keep_a for a row that is complete, or whose a is 0. */
static ALWAYS_INLINE const vector *keep_for(const piece_weights *w, double a)
{
    return a == 0.0 ? w->keep_none : a == 1.0 ? w->keep_full : w->keep;
}

#include "solve/piece_gaps.h"

static void piece_pack(const solve_call *p, real *packed)
{
    const ant_model_layout *y = p->layout;
    const real *theta = p->parameters;
    piece_weights w;
    memset(packed, 0, piece_place(&y->dims, packed, &w) * sizeof *packed);
    const size_t M = w.M, mv = w.mv, ms = mv * LANES;
    pack_basis(p, &w);
    for (size_t i = 0; i < M; i++) {
        for (size_t m = 0; m < M; m++) {
            const real part = p->derived[m] /* A - 1 */ * ((const real *)w.basis)[i * ms + m];
            for (size_t c = 0; c < mv; c++)
                w.affine[i * mv + c] += part * w.basis_rows[m * mv + c];
        }
    }
    memcpy(w.affine_rows, w.affine, M * mv * sizeof *w.affine); /* symmetric, but for h */
    combine(M, mv, w.basis_rows, theta + y->h, 1, w.affine + M * mv);
    for (size_t i = 0; i < M; i++)
        ((real *)w.affine_rows)[i * ms + M] = ((const real *)w.affine)[M * ms + i];
    for (size_t k = 0; k < w.K; k++)
        combine(M, mv, w.basis_rows, theta + y->C + k, w.K, w.inputs + k * mv);
    for (size_t k = 0; k < w.rank; k++)
        combine(M, mv, w.basis_rows, theta + y->WL + k, w.rank, w.left + k * mv);
    for (size_t l = 0; l < w.L; l++)
        pack_unit(p, &w, l);
    if (p->patterns != NULL)
        pack_patterns(p, &w);
}

#include "solve/piece_sums.h"

/* The hidden units that differ between two steps, two words at a time. */
typedef struct switched {
    uint64_t low, high; /* bits still to be processed */
    size_t first;       /* unit of the lowest bit of `low` */
} switched;

static ALWAYS_INLINE switched switched_at(const size_t words, size_t q, const uint64_t *before,
                                          const uint64_t *now)
{
    return (switched){
        .low = before[q] ^ now[q], .high = q + 1 < words ? before[q + 1] ^ now[q + 1] : 0, .first = q * WORD};
}

static ALWAYS_INLINE bool switched_left(const switched *s)
{
    return (s->low | s->high) != 0;
}

/* The next unit, without a branch that depends on the word in which it lies. */
static ALWAYS_INLINE size_t switched_next(switched *s)
{
    const uint64_t word = s->low != 0 ? s->low : s->high;
    const size_t unit = s->first + (s->low != 0 ? 0 : WORD) + (size_t)__builtin_ctzll(word);
    s->high = s->low != 0 ? s->high : word & (word - 1);
    s->low &= s->low - (s->low != 0);
    return unit;
}

/* 1 if the unit is on, else -1. */
static ALWAYS_INLINE real sign_of(const uint64_t *now, size_t unit)
{
    static const real sign[2] = {-1, 1};
    return sign[now[unit / WORD] >> unit % WORD & 1];
}

static ALWAYS_INLINE void store_row(const size_t M, const vector *row, real *to)
{
    for (size_t c = 0; c * LANES < M; c++)
        store_lanes(to + c * LANES, row[c], M - c * LANES < LANES ? M - c * LANES : LANES);
}

#include "solve/largest.h"

#include "solve/piece_forward.h"

#include "solve/piece_backward.h"

#include "solve/piece_tangent.h"

#define CASE(m)                                                                                              \
    static NEVER_INLINE bool derive_##m(const solve_call *p, const real *packed, group *g, real *scratch)    \
    {                                                                                                        \
        return derive_for(m, p, packed, g, scratch);                                                         \
    }
COMMON_SIZES(CASE)
#undef CASE

static bool piece_derive(const solve_call *p, const real *packed, group *g, real *scratch)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return derive_##m(p, packed, g, scratch);
        COMMON_SIZES(CASE)
#undef CASE
    default:
        return derive_for(p->layout->dims.M, p, packed, g, scratch);
    }
}

/* The rows with a weight are the last ones, so this is one sum without weights. */
static double piece_square(const solve_call *p, const group *g)
{
    const size_t N = p->layout->dims.N, last = (g->length + 1) * N;
    const size_t unseen = g->begin > p->warmup ? 1 : p->warmup + 1 - g->begin;
    double total = 0.0;
    for (size_t i = unseen * N; i < last;) {
        const size_t end = i + 64 * LANES < last ? i + 64 * LANES : last;
        vector sum = {0};
        for (; i + LANES <= end; i += LANES)
            sum += row_vector(g->error + i, 0) * row_vector(g->error + i, 0);
        total += vector_sum(sum);
        for (; i < end; i++)
            total += (double)g->error[i] * (double)g->error[i];
    }
    return total;
}

const ANT_FN(ant_kernels) ANT_LEVEL(ant_piece);
const ANT_FN(ant_kernels) ANT_LEVEL(ant_piece) = {
    .name = "piece " ANT_LEVEL_TEXT,
    .lanes = 1,
    .finds_strength = true,
    .packed_count = piece_packed_count,
    .pack = piece_pack,
    .pattern_count = piece_pattern_count,
    .scratch_count = piece_scratch_count,
    .mask_words = piece_mask_words,
    .enter = piece_enter,
    .leave = piece_leave,
    .forward = piece_forward,
    .derived_most = TANGENTS,
    .derive = piece_derive,
    .open = piece_open,
    .backward = piece_backward,
    .tile_steps = TILE,
    .lengthen = piece_lengthen,
    .observe = piece_observe,
    .advance = piece_advance,
    .adjoint = piece_adjoint,
    .gather = piece_gather,
    .close = piece_close,
    .join = piece_join,
    .square = piece_square,
};
