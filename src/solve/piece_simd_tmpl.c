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

/* Code with constant sizes for common M. */
#define PIECE_SIZES(CASE) CASE(3) CASE(4) CASE(5) CASE(6) CASE(10)

#include "solve/piece_weights.h"

/* Scratch of one slot: a tile of time, and the sums of all its segments. */
typedef struct piece_buffers {
    vector *z, *row, *state;       /* (mv) */
    vector *before_relu;           /* (units): |V zeta~ + b|, then |V zeta~| when clipped */
    vector *jacobian, *running;    /* (M + 1, mv): J - I; (M, mv) */
    vector *tile_v, *tile_w;       /* (TILE, mv): v after each step, a w before it */
    vector *tile_teacher;          /* (TILE, mv): a Q^T B+ x, and 1 at place M */
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
    pack_patterns(p, &w);
}

#include "solve/piece_sums.h"

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

/* Sizes of the hidden layer; constants after inlining where they are common. */
typedef struct shape {
    size_t lv, words;
    bool clipped;
} shape;

/* |V zeta~ + b|, and |V zeta~| behind it when clipped, to `sums` (units); the bits of the signs to `now`. */
static ALWAYS_INLINE void hidden(const size_t M, const shape k, const piece_weights *w, const real *forced,
                                 vector *sums, uint64_t *now)
{
    const size_t half = k.words / 2, second = k.words * WORD / 2 / LANES;
    for (size_t q = 0; q < k.words; q++)
        now[q] = 0;
    for (size_t at = 0; at < k.lv; at += WIDE_TILE) {
        vector acc[WIDE_TILE];
        const size_t word = at * LANES / WORD, shift = at * LANES % WORD;
        for (size_t c = 0; c < WIDE_TILE; c++)
            acc[c] = k.clipped ? (vector){0} : w->b[at + c];
        for (size_t i = 0; i < M; i++) {
            for (size_t c = 0; c < WIDE_TILE; c++)
                acc[c] += forced[i] * w->V[i * k.lv + at + c];
        }
        for (size_t c = 0; c < WIDE_TILE; c++) {
            if (k.clipped) {
                now[half + word] |= positive_bits(acc[c]) << (shift + c * LANES);
                sums[second + at + c] = magnitude(acc[c]);
                acc[c] += w->b[at + c];
            }
            now[word] |= positive_bits(acc[c]) << (shift + c * LANES);
            sums[at + c] = magnitude(acc[c]);
        }
    }
}

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

/* keep_a for a row that is complete, or whose a is 0. */
static ALWAYS_INLINE const vector *keep_for(const piece_weights *w, double a)
{
    return a == 0.0 ? w->keep_none : a == 1.0 ? w->keep_full : w->keep;
}

#include "solve/largest.h"

/* e = x - B z for rows first .. last-1 of the segment, without those that no gradient uses. */
static ALWAYS_INLINE void observe(const size_t M, const solve_call *p, const piece_weights *w, group *g,
                                  size_t first, size_t last)
{
    const size_t N = w->N;
    const bool fixed = __builtin_constant_p(M), gaps = g->pattern != NULL;
    if (p->teacher == ANT_TEACHER_STOP && g->begin + first <= p->warmup)
        first = p->warmup + 1 - g->begin;
    for (size_t c = 0; c < w->nv; c++) {
        const size_t at = c * LANES, count = N - at < LANES ? N - at : LANES;
        vector local[SMALL];
        for (size_t k = 0; k < M && fixed; k++)
            local[k] = w->read_columns[k * w->nv + c];
        for (size_t i = first; i < last; i++) {
            vector part[2] = {{0}, {0}}; /* each addition depends on the one before */
            for (size_t k = 0; k < M; k++)
                part[k % 2] += g->z[i * M + k] * (fixed ? local[k] : w->read_columns[k * w->nv + c]);
            const vector x = load_lanes(g->x + i * N + at, count), error = x - (part[0] + part[1]);
            const vector_mask seen = x == x; /* NOLINT(misc-redundant-expression): NaN */
            store_lanes(g->error + i * N + at, gaps ? masked(seen, error) : error, count);
        }
    }
}

/*
 * How many units may have switched in `steps` steps before dense products are faster: the vector operations
 * of a dense step over those of a switch, from the measurements in docs/notebook/cpu-kernels.md.
 */
static size_t most_switches(const piece_weights *w, size_t steps)
{
    const size_t dense = 6 * w->M * w->lv + 150, each = 3 * w->M * w->mv + 10;
    const size_t fresh = (steps / TILE + 1) * w->units;
    return steps * dense / each + fresh;
}

/* What the teacher adds to the forced states of steps first .. last-1. */
static ALWAYS_INLINE void tile_teach(const size_t mv, const solve_call *p, const piece_weights *w,
                                     const piece_buffers *t, const group *g, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        double a;
        const uint32_t pattern = forced_pattern(p, g, i, &a);
        const vector *pull = a == 1.0 ? w->pull_full : w->pull;
        const size_t N = a == 0.0 || pattern != 0 ? 0 : w->N;
        for (size_t c = 0; c < mv; c++) {
            vector sum = w->one[c];
            for (size_t n = 0; n < N; n++)
                sum += g->x[i * w->N + n] * pull[n * mv + c];
            t->tile_teacher[(i - first) * mv + c] = sum;
        }
        if (pattern != 0)
            teach_incomplete(mv, p, w, pattern, (real)a, g->x + i * w->N, t->tile_teacher + (i - first) * mv);
    }
}

static ALWAYS_INLINE void store_row(const size_t M, const vector *row, real *to)
{
    for (size_t c = 0; c * LANES < M; c++)
        store_lanes(to + c * LANES, row[c], M - c * LANES < LANES ? M - c * LANES : LANES);
}

/* Units that have switched change J and, by what the earlier J has left out, the state. */
static ALWAYS_INLINE size_t switch_forward(const size_t M, const size_t mv, const shape k,
                                           const piece_weights *w, const uint64_t *before,
                                           const uint64_t *now, const real *sums, vector *J, vector *next)
{
    size_t count = 0;
    for (size_t q = 0; q < k.words; q += 2) {
        for (switched s = switched_at(k.words, q, before, now); switched_left(&s); count++) {
            const size_t unit = switched_next(&s);
            const real sign = sign_of(now, unit), *row = (const real *)(w->rows + unit * mv);
            for (size_t c = 0; c < mv; c++) {
                const vector column = w->columns[unit * mv + c], change = sign * column;
                next[c] += sums[unit] * column; /* J z~ lacks it, or has -it, of a unit that has switched */
                for (size_t j = 0; j <= M; j++)
                    J[j * mv + c] += row[j] * change;
            }
        }
    }
    return count;
}

/* Whether no place of z differs from the stored row by more than `merge`. */
static ALWAYS_INLINE bool row_met(const size_t M, const vector *z, const real *stored, real merge)
{
    uint64_t apart = 0;
    for (size_t c = 0; c * LANES < M; c++) {
        const size_t count = M - c * LANES < LANES ? M - c * LANES : LANES;
        const vector gap = magnitude(z[c] - load_lanes(stored + c * LANES, count));
        apart |= ~positive_bits(merge - gap) & ((UINT64_C(1) << count) - 1); /* NaN is apart */
    }
    return apart == 0;
}

/* Steps first .. last-1 from t->z; false when it has met the stored trajectory, after result->steps steps. */
static ALWAYS_INLINE bool tile_forward(const size_t M, const shape k, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, group *g, double merge,
                                       size_t first, size_t last, pass_result *result)
{
    uint64_t before[ANT_MASK_WORDS] = {0}, now[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES);
    const bool fixed = __builtin_constant_p(M);
    vector local_J[SMALL], local_z[SMALL_ROW], *J = fixed ? local_J : t->jacobian,
                                               *z = fixed ? local_z : t->z;
    for (size_t c = 0; c < mv; c++)
        z[c] = t->z[c];
    for (size_t j = 0; j < (M + 1) * mv; j++)
        J[j] = w->affine[j];
    tile_teach(mv, p, w, t, g, first, last);
    for (size_t i = first; i < last; i++) {
        double a;
        const uint32_t pattern = forced_pattern(p, g, i, &a);
        const vector *teacher = t->tile_teacher + (i - first) * mv;
        const vector *keep = pattern != 0 ? w->keep_none : keep_for(w, a);
        for (size_t c = 0; c < mv && pattern != 0; c++)
            t->row[c] = (real)a * z[c];
        for (size_t c = 0; c < mv; c++)
            z[c] = teacher[c] + keep[c] * z[c];
        if (pattern != 0)
            subtract_projected(M, mv, p, w, t, pattern, z);
        for (size_t c = 0; c < mv; c++)
            t->row[c] = z[c];
        store_row(M, z, g->forced + i * M);
        const real *forced = (const real *)t->row;
        hidden(M, k, w, forced, t->before_relu, now);
        mix(M + 1, mv, J, forced, z);
        result->switches += switch_forward(M, mv, k, w, before, now, (const real *)t->before_relu, J, z);
        if (w->K > 0)
            mix(w->K, mv, w->inputs, g->s + i * w->K, z);
        for (size_t q = 0; q < k.words; q++)
            g->masks[i * k.words + q] = before[q] = now[q];
        if (merge >= 0.0 && row_met(M, z, g->z + (i + 1) * M, (real)merge)) {
            for (size_t c = 0; c < mv; c++)
                t->row[c] = z[c];
            result->gap = largest_gap((const real *)t->row, g->z + (i + 1) * M, M);
            result->merged = true;
            result->steps = i + 1;
            return false;
        }
        store_row(M, z, g->z + (i + 1) * M);
    }
    for (size_t c = 0; c < mv; c++)
        t->z[c] = z[c];
    return true;
}

/* Steps first .. last-1 from the row `from`; result->steps is the step at which it ended. */
static ALWAYS_INLINE pass_result advance_for(const size_t M, const shape k, const solve_call *p,
                                             const real *packed, group *g, const real *from, size_t first,
                                             size_t last, double merge, bool trial, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    memset(t.z, 0, w.mv * sizeof *t.z);
    copy_reals((real *)t.z, from, M);
    pass_result result = {.steps = first};
    while (result.steps < last && !result.merged && !result.refused) {
        const size_t begin = result.steps, end = (begin / TILE + 1) * TILE;
        const size_t stop = end < last ? end : last;
        result.steps = stop;
        tile_forward(M, k, p, &w, &t, g, merge, begin, stop, &result);
        if (g->error != NULL)
            observe(M, p, &w, g, begin == 0 ? 0 : begin + 1, result.merged ? result.steps : stop + 1);
        result.refused = trial && result.switches > most_switches(&w, result.steps - first);
    }
    if (!result.merged) { /* row `first` of g->z may be another thread's */
        const double start = largest_of(from, M);
        const double rest = largest_of(g->z + (first + 1) * M, (result.steps - first) * M);
        result.size = rest <= start || isnan(start) ? start : rest;
    }
    return result;
}

/* sums[j, :] += sum over `count` steps of left_j right.  left: (count, left_stride); right: reals, too */
static ALWAYS_INLINE void outer_rows(const size_t rows, size_t count, const real *left, size_t left_stride,
                                     const real *right, size_t right_stride, size_t mv, vector *sums)
{
    for (size_t c = 0; c < mv; c++) {
        vector acc[4];
        for (size_t j = 0; j < rows; j++)
            acc[j] = sums[j * mv + c];
        for (size_t k = 0; k < count; k++) {
            const vector row = row_vector(right + k * right_stride, c);
            for (size_t j = 0; j < rows; j++)
                acc[j] += left[k * left_stride + j] * row;
        }
        for (size_t j = 0; j < rows; j++)
            sums[j * mv + c] = acc[j];
    }
}

static void outer(size_t rows, size_t count, const real *left, size_t left_stride, const real *right,
                  size_t right_stride, size_t mv, vector *sums)
{
    size_t j = 0;
    for (; j + 4 <= rows; j += 4)
        outer_rows(4, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
    for (; j + 2 <= rows; j += 2)
        outer_rows(2, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
    if (j < rows)
        outer_rows(1, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
}

#include "solve/piece_gap_sums.h"

/*
 * The sums of steps first .. first+count-1 that need no more than v, w, z and e.
 * v, w: rows of these steps, `stride` apart
 */
static void tile_sums(const solve_call *p, const piece_weights *w, const piece_buffers *t, const group *g,
                      bool loss, size_t first, size_t count, const real *v, real *pulled, size_t stride)
{
    const size_t M = w->M, N = w->N, mv = w->mv;
    const size_t rows = first + count == g->length ? count + 1 : count; /* the last row has no step */
    size_t skipped = first == 0; /* row 0 belongs to the segment before */
    if (g->begin + first + skipped <= p->warmup)
        skipped = p->warmup + 1 - g->begin - first;
    if (loss && skipped < rows)
        outer(N, rows - skipped, g->error + (first + skipped) * N, N, g->z + (first + skipped) * M, M, mv,
              t->loss);
    if (w->K > 0)
        outer(w->K, count, g->s + first * w->K, w->K, v, stride, mv, t->inputs);
    if (p->teacher == ANT_TEACHER_FLOW) {
        if (g->pattern != NULL && gap_sums(p, w, t, g, first, count, pulled, stride) == count)
            count = 0;
        outer(M < N ? M : N, count, pulled, stride, g->z + first * M, M, mv, t->forcing);
        outer(N, count, g->error + first * N, N, pulled, stride, mv, t->pinv);
    }
}

/* S_l += sign C, in vectors begin .. end-1 */
static ALWAYS_INLINE void add_running(const size_t begin, const size_t end, real sign, const vector *running,
                                      vector *sums)
{
    for (size_t k = begin; k < end; k++)
        sums[k] += sign * running[k];
}

/* v += c dloss/dz at row i: -c B^T e */
static ALWAYS_INLINE void add_loss(const solve_call *p, const piece_weights *w, const size_t mv,
                                   const real *error, vector *v)
{
    for (size_t c = 0; c < mv; c++) {
        vector sum = {0};
        for (size_t n = 0; n < w->N; n++)
            sum += error[n] * w->read[n * mv + c];
        v[c] -= p->weight * sum;
    }
}

/* v += inject, which is in the model's coordinates. */
static void add_injection(const piece_weights *w, const real *inject, vector *v)
{
    for (size_t m = 0; m < w->M; m++) {
        for (size_t c = 0; c < w->mv; c++)
            v[c] += inject[m] * w->basis_rows[m * w->mv + c];
    }
}

/* Add a unit that went on to rows `low` and up of J, or subtract one that went off. */
static ALWAYS_INLINE void turn_unit(const size_t M, const size_t low, const size_t mv, const piece_weights *w,
                                    const uint64_t *now, size_t unit, vector *J)
{
    const real *column = (const real *)(w->columns + unit * mv);
    for (size_t c = 0; c < mv; c++) {
        const vector row = sign_of(now, unit) * w->rows[unit * mv + c];
        for (size_t m = low; m < M; m++)
            J[m * mv + c] += column[m] * row;
    }
}

/* From the later step `before` to `now`: add the units that switched to J, if `whole`, and C to their S, with
 * signs.
 */
static ALWAYS_INLINE void switch_back(const size_t M, const size_t low, const size_t mv, const bool whole,
                                      const piece_weights *w, const uint64_t *before, const uint64_t *now,
                                      vector *J, const vector *C, vector *sums)
{
    static const uint64_t none[ANT_MASK_WORDS];
    for (size_t q = 0; q < w->words; q += 2) {
        for (switched s = switched_at(w->words, q, before == NULL ? none : before, now); switched_left(&s);) {
            const size_t unit = switched_next(&s);
            if (whole)
                turn_unit(M, low, mv, w, now, unit, J);
            if (before != NULL)
                add_running(low * mv, M * mv, -sign_of(now, unit), C, sums + unit * M * mv);
        }
    }
}

/* C += v [z~ 1]^T of step i. */
static ALWAYS_INLINE void gather_step(const size_t M, const size_t low, const size_t mv,
                                      const piece_weights *w, const group *g, size_t i, const real *v,
                                      vector *C)
{
    for (size_t c = 0; c < mv; c++) {
        const vector row = masked((vector_mask)w->inside[c], row_vector(g->forced + i * M, c)) + w->one[c];
        for (size_t m = low; m < M; m++)
            C[m * mv + c] += v[m] * row;
    }
}

/* state: v after step i, then before it; pulled = a w. */
static ALWAYS_INLINE void adjoint_step(const size_t M, const size_t mv, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, const group *g,
                                       bool loss, size_t i, const vector *J, const real *v, vector *state,
                                       vector *pulled)
{
    mix(M, mv, J, v, state);
    double a;
    const uint32_t pattern = forced_pattern(p, g, i, &a);
    const vector *keep = pattern != 0 ? w->keep_none : keep_for(w, a);
    for (size_t c = 0; c < mv && p->teacher == ANT_TEACHER_FLOW; c++)
        pulled[c] = (real)a * state[c];
    for (size_t c = 0; c < mv; c++) {
        t->row[c] = (real)a * state[c];
        state[c] = keep[c] * state[c];
    }
    if (pattern != 0)
        subtract_projected(M, mv, p, w, t, pattern, state);
    if (loss && i > 0 && g->begin + i > p->warmup)
        add_loss(p, w, mv, g->error + i * w->N, state);
    if (i + 1 == g->length)
        add_injection(w, g->inject_last, state);
}

/*
 * Steps end-1 .. first: v from t->state and back to it, and the sums of S; or the sums by themselves, from
 * the v of the group.
 */
static ALWAYS_INLINE void tile_back(const size_t M, const size_t low, const bool whole, const solve_call *p,
                                    const piece_weights *w, const piece_buffers *t, const group *g, bool loss,
                                    size_t first, size_t end)
{
    const size_t mv = vectors(M + 1, LANES);
    const bool fixed = __builtin_constant_p(M);
    vector local_J[SMALL], local_C[SMALL], local_v[SMALL_ROW];
    vector *J = fixed ? local_J : t->jacobian, *C = fixed ? local_C : t->running;
    vector *state = fixed ? local_v : t->state;
    for (size_t c = 0; c < mv; c++)
        state[c] = t->state[c];
    for (size_t j = 0; j < M * mv; j++) {
        J[j] = w->affine_rows[j];
        C[j] = (vector){0};
    }
    const uint64_t *before = NULL;
    for (size_t i = end; i-- > first;) {
        const uint64_t *now = g->masks + i * w->words;
        switch_back(M, low, mv, whole, w, before, now, J, C, t->sums);
        before = now;
        vector *kept = t->tile_v + (i - first) * mv, *pulled = t->tile_w + (i - first) * mv;
        for (size_t c = 0; c < mv && whole; c++)
            kept[c] = state[c];
        gather_step(M, low, mv, w, g, i, whole ? (const real *)kept : g->v + i * M, C);
        if (whole)
            adjoint_step(M, mv, p, w, t, g, loss, i, J, (const real *)kept, state, pulled);
    }
    for (size_t c = 0; c < mv; c++)
        t->state[c] = state[c];
    for (size_t q = 0; q < w->words; q++) {
        for (uint64_t on = before[q]; on != 0; on &= on - 1)
            add_running(low * mv, M * mv, 1, C, t->sums + (q * WORD + (size_t)__builtin_ctzll(on)) * M * mv);
    }
    add_running(low * mv, M * mv, 1, C, t->all);
}

/* What the loss adds to v at rows first .. end-1 of a whole sequence, to t->tile_teacher. */
static ALWAYS_INLINE void tile_loss(const size_t mv, const solve_call *p, const piece_weights *w,
                                    const piece_buffers *t, const group *g, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        vector *row = t->tile_teacher + (i - first) * mv;
        for (size_t c = 0; c < mv; c++)
            row[c] = (vector){0};
        if (i > p->warmup)
            add_loss(p, w, mv, g->error + i * w->N, row);
    }
}

/*
 * Steps end-1 .. first of a whole sequence: v from t->state and back to it, v and a w to the group.  Without
 * the sums there is little work to hide the latency of J^T v, so the loop holds nothing else.
 */
static ALWAYS_INLINE void tile_adjoint(const size_t M, const size_t low, const size_t words,
                                       const solve_call *p, const piece_weights *w, const piece_buffers *t,
                                       const group *g, size_t first, size_t end)
{
    static const uint64_t none[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES);
    const bool fixed = __builtin_constant_p(M), flow = p->teacher == ANT_TEACHER_FLOW;
    vector local_J[SMALL], local_v[SMALL_ROW];
    vector *J = fixed ? local_J : t->jacobian, *state = fixed ? local_v : t->state;
    for (size_t c = 0; c < mv; c++)
        state[c] = t->state[c];
    for (size_t j = 0; j < M * mv; j++)
        J[j] = w->affine_rows[j];
    tile_loss(mv, p, w, t, g, first, end);
    const uint64_t *before = none;
    for (size_t i = end; i-- > first;) {
        const uint64_t *now = g->masks + i * words;
        for (size_t q = 0; q < words; q += 2) {
            for (switched s = switched_at(words, q, before, now); switched_left(&s);)
                turn_unit(M, low, mv, w, now, switched_next(&s), J);
        }
        before = now;
        for (size_t c = 0; c < mv; c++)
            t->row[c] = state[c];
        store_row(M, state, g->v + i * M);
        mix(M - low, mv, J + low * mv, (const real *)t->row + low, state);
        double a;
        const uint32_t pattern = forced_pattern(p, g, i, &a);
        const vector *loss = t->tile_teacher + (i - first) * mv;
        const vector *keep = pattern != 0 ? w->keep_none : keep_for(w, a);
        for (size_t m = 0; m < M && flow; m++)
            g->w[i * M + m] = (real)a * state[m / LANES][m % LANES];
        for (size_t c = 0; c < mv; c++) {
            t->row[c] = (real)a * state[c];
            state[c] = keep[c] * state[c] + loss[c];
        }
        if (pattern != 0)
            subtract_projected(M, mv, p, w, t, pattern, state);
    }
    for (size_t c = 0; c < mv; c++)
        t->state[c] = state[c];
}

/* v at the end of the segment, to t->state. */
static ALWAYS_INLINE void begin_back(const size_t mv, const solve_call *p, const piece_weights *w,
                                     const piece_buffers *t, const group *g, bool loss)
{
    memset(t->state, 0, mv * sizeof *t->state);
    add_injection(w, g->inject, t->state);
    if (loss && g->begin + g->length > p->warmup)
        add_loss(p, w, mv, g->error + g->length * w->N, t->state);
}

/* Account for a tile; set the border when v has reached row 0 or has vanished. */
static ALWAYS_INLINE void note_back(const size_t M, const solve_call *p, const real *packed,
                                    const piece_buffers *t, group *g, bool loss, double floor, size_t first,
                                    size_t end, pass_result *result)
{
    result->steps += end - first;
    result->gap = largest_of((const real *)t->state, M);
    result->size = result->gap <= result->size ? result->size : result->gap;
    const bool lossless = !loss || g->begin + first <= p->warmup + 1;
    result->merged = lossless && result->gap <= (loss ? (double)REAL_EPSILON * result->size : floor);
    if (first > 0 && !result->merged)
        return;
    piece_leave(&p->layout->dims, packed, (const real *)t->state, g->border);
    for (size_t m = 0; m < M && result->merged; m++)
        g->border[m] = 0;
}

static ALWAYS_INLINE pass_result backward_for(const size_t M, const solve_call *p, const real *packed,
                                              group *g, bool loss, double floor, real *scratch, double *sums)
{
    const size_t mv = vectors(M + 1, LANES);
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    begin_back(mv, p, &w, &t, g, loss);
    pass_result result = {0};
    for (size_t end = g->length, tiles = 1; end > 0 && !result.merged; tiles++) {
        const size_t first = (end - 1) / TILE * TILE;
        tile_back(M, 0, true, p, &w, &t, g, loss, first, end);
        tile_sums(p, &w, &t, g, loss, first, end - first, (const real *)t.tile_v, (real *)t.tile_w,
                  mv * LANES);
        note_back(M, p, packed, &t, g, loss, floor, first, end, &result);
        end = first;
        if (tiles % FLUSH == 0) {
            piece_close(p, packed, scratch, sums);
            piece_open(&p->layout->dims, scratch);
        }
    }
    return result;
}

/* Rows of v that are skipped where they are zero: about N of M in common systems. */
static ALWAYS_INLINE size_t seen_rows(const size_t M)
{
    return 3 * M / 5;
}

/*
 * Whether these rows of v are zero in a tile of a whole sequence: under full forcing the gradient through the
 * coordinates that B observes, which come first, is zero.
 */
static bool seen_is_zero(const solve_call *p, const piece_weights *w, const group *g, size_t first,
                         size_t end)
{
    bool forced = true; /* the rank of B may be below N */
    for (size_t i = first; i <= end && g->pattern != NULL; i++)
        forced = forced && g->pattern[i] == 0;
    for (size_t m = 0; m < seen_rows(w->M); m++)
        forced = forced && ((const real *)w->keep_full)[m] == 0;
    return forced && first > 0 && end <= p->warmup;
}

#include "solve/piece_tangent.h"

/* The two halves of a tile; the group passes v and a w from one to the other. */
static ALWAYS_INLINE void adjoint_for(const size_t M, const size_t words, const solve_call *p,
                                      const real *packed, group *g, size_t first, size_t end, real *scratch,
                                      pass_result *result)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    if (end == g->length)
        begin_back(vectors(M + 1, LANES), p, &w, &t, g, true);
    if (seen_is_zero(p, &w, g, first, end))
        tile_adjoint(M, seen_rows(M), words, p, &w, &t, g, first, end);
    else
        tile_adjoint(M, 0, words, p, &w, &t, g, first, end);
    note_back(M, p, packed, &t, g, true, 0.0, first, end, result);
}

static ALWAYS_INLINE void gather_for(const size_t M, const solve_call *p, const real *packed, group *g,
                                     size_t first, size_t end, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    if (seen_is_zero(p, &w, g, first, end))
        tile_back(M, seen_rows(M), false, p, &w, &t, g, true, first, end);
    else
        tile_back(M, 0, false, p, &w, &t, g, true, first, end);
    tile_sums(p, &w, &t, g, true, first, end - first, g->v + first * M, g->w + first * M, M);
}

static pass_result piece_advance(const solve_call *p, const real *packed, group *g, const real *from,
                                 size_t first, size_t last, double merge, bool trial, real *scratch)
{
    piece_weights w;
    piece_place(&p->layout->dims, packed, &w);
    const shape any = {.lv = w.lv, .words = w.words, .clipped = w.clipped};
    const shape one = {.lv = WIDE_TILE, .words = 1},
                two = {.lv = 2 * WIDE_TILE, .words = vectors(2 * WIDE_TILE * LANES, WORD)};
    switch (w.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        if (!w.clipped && w.lv == one.lv)                                                                    \
            return advance_for(m, one, p, packed, g, from, first, last, merge, trial, scratch);              \
        if (!w.clipped && w.lv == two.lv)                                                                    \
            return advance_for(m, two, p, packed, g, from, first, last, merge, trial, scratch);              \
        return advance_for(m, any, p, packed, g, from, first, last, merge, trial, scratch);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return advance_for(w.M, any, p, packed, g, from, first, last, merge, trial, scratch);
    }
}

static void piece_observe(const solve_call *p, const real *packed, group *g, size_t first, size_t last)
{
    piece_weights w;
    piece_place(&p->layout->dims, packed, &w);
    switch (w.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        observe(m, p, &w, g, first, last);                                                                   \
        break;
        PIECE_SIZES(CASE)
#undef CASE
    default:
        observe(w.M, p, &w, g, first, last);
    }
}

static pass_result piece_forward(const solve_call *p, const real *packed, group *g, double merge, bool trial,
                                 real *scratch)
{
    return piece_advance(p, packed, g, g->z, 0, g->length, merge, trial, scratch);
}

static pass_result piece_backward(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                  real *scratch, double *sums)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return backward_for(m, p, packed, g, loss, floor, scratch, sums);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return backward_for(p->layout->dims.M, p, packed, g, loss, floor, scratch, sums);
    }
}

static bool piece_derive(const solve_call *p, const real *packed, group *g, real *scratch)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return derive_for(m, p, packed, g, scratch);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return derive_for(p->layout->dims.M, p, packed, g, scratch);
    }
}

static void piece_adjoint(const solve_call *p, const real *packed, group *g, size_t first, size_t end,
                          real *scratch, pass_result *result)
{
    const size_t words = piece_mask_words(&p->layout->dims);
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        if (words == 2)                                                                                      \
            adjoint_for(m, 2, p, packed, g, first, end, scratch, result);                                    \
        else                                                                                                 \
            adjoint_for(m, words, p, packed, g, first, end, scratch, result);                                \
        break;
        PIECE_SIZES(CASE)
#undef CASE
    default:
        adjoint_for(p->layout->dims.M, words, p, packed, g, first, end, scratch, result);
    }
}

static void piece_gather(const solve_call *p, const real *packed, group *g, size_t first, size_t end,
                         real *scratch)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        gather_for(m, p, packed, g, first, end, scratch);                                                    \
        break;
        PIECE_SIZES(CASE)
#undef CASE
    default:
        gather_for(p->layout->dims.M, p, packed, g, first, end, scratch);
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
    .knows_time = true,
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
