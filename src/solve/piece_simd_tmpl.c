/*
 * piece_simd_tmpl.c - kernels for one segment at a time that walk from linear piece to linear piece.
 *
 * phi is a ReLU, so as long as no hidden unit switches, a step is affine: with D the units that are on,
 *     F(z) = J z + c,    J = diag(A) + W D V,    c = W D b + h.
 * From one step to the next few units switch (one or two of 128 in a trained model), and each changes
 * J and c by one outer product.  So a step forward costs V z~ + b, whose signs are D, and J z~; a step back
 * costs J^T v.  With S_l the sum of v [z~ 1]^T over the steps in which unit l is on,
 *     dW_l = S_l [V_l b_l]^T,    d[V_l b_l] = W_l^T S_l,
 * and S_l is touched only when l switches: it gains or loses the running sum of all steps.
 *
 * Against rounding J is built anew at the begin of every stretch of PIECE steps, and the running sum starts
 * again there.  Where many units switch, this is slower than dense products; then the kernel gives up.
 */
#include "solve/kernel.h"
#include "solve/vector.h"

#include <string.h>

typedef ANT_FN(ant_problem) piece_problem;
typedef ANT_FN(ant_group) piece_group;
typedef ANT_FN(ant_run) piece_run;

enum { PIECE = 128 }; /* steps between two fresh starts of J and of the running sum */
enum { SMALL = 66 };  /* vectors of a Jacobian that is a local array: M up to 10 in all precisions */

#include "solve/piece_weights.h"

/* What one thread needs: a stretch of time, and the sums of all segments of its slot. */
typedef struct piece_buffers {
    vector *z, *forced, *next, *state;  /* (mv) */
    vector *observed;                   /* (nv) */
    vector *jacobian, *running;         /* (M + 1, mv); (M, mv) */
    vector *tile_v, *tile_w;            /* (PIECE, mv): v after each step and a w before it */
    vector *sums;                       /* (units, M, mv): S_l */
    vector *all;                        /* (M, mv): the running sum of all steps */
    vector *loss, *forcing, *pinv;      /* (N, mv): e zeta^T; (M, mv): a w zeta^T; (N, mv): a e w^T */
    vector *inputs;                     /* (K, mv): s v^T */
    size_t sums_begin, sums_end;        /* in reals from the start of the scratch */
} piece_buffers;

static size_t buffers_place(const piece_weights *w, real *scratch, piece_buffers *t)
{
    const size_t M = w->M, mv = w->mv;
    const struct {
        vector **slot;
        size_t count;
    } part[] = {{&t->z, mv},
                {&t->forced, mv},
                {&t->next, mv},
                {&t->state, mv},
                {&t->observed, w->nv},
                {&t->jacobian, (M + 1) * mv},
                {&t->running, M * mv},
                {&t->tile_v, PIECE * mv},
                {&t->tile_w, PIECE * mv},
                {&t->sums, w->units * M * mv},
                {&t->all, M * mv},
                {&t->loss, w->N * mv},
                {&t->forcing, M * mv},
                {&t->pinv, w->N * mv},
                {&t->inputs, w->K * mv}};
    const size_t first_sum = 9;
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

typedef real vector_loose __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(real))));

/* A row of M reals as vectors; what lies beyond M is whatever follows it in memory. */
static ALWAYS_INLINE vector row_vector(const real *row, size_t c)
{
    return *(const vector_loose *)(row + c * LANES);
}

static ALWAYS_INLINE void copy(real *to, const real *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* out += sum_k x_k w[k, :]; several sums side by side hide the latency of the additions. */
static ALWAYS_INLINE void mix(const size_t depth, const size_t mv, const vector *w, const real *x, vector *out)
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

/* J[k, :] += sign across_k along: hidden unit `along`, `across` switches. */
static ALWAYS_INLINE void add_outer(const size_t depth, const size_t mv, real sign, const vector *along,
                                    const real *across, vector *J)
{
    for (size_t c = 0; c < mv; c++) {
        const vector part = sign * along[c];
        for (size_t k = 0; k < depth; k++)
            J[k * mv + c] += across[k] * part;
    }
}

/* Bits of the signs of V zeta~ + b, and of V zeta~ behind them when clipped.  now: (words) */
static ALWAYS_INLINE void signs(const size_t M, const piece_weights *w, const real *forced, uint64_t *now)
{
    const size_t half = w->words / 2;
    for (size_t q = 0; q < w->words; q++)
        now[q] = 0;
    for (size_t at = 0; at < w->lv; at += BLOCK) {
        vector acc[BLOCK];
        const size_t word = at * LANES / WORD, shift = at * LANES % WORD;
        for (size_t c = 0; c < BLOCK; c++)
            acc[c] = w->clipped ? (vector){0} : w->b[at + c];
        for (size_t i = 0; i < M; i++) {
            for (size_t c = 0; c < BLOCK; c++)
                acc[c] += forced[i] * w->V[i * w->lv + at + c];
        }
        uint64_t bits = 0, second = 0;
        for (size_t c = 0; c < BLOCK; c++) {
            if (w->clipped) {
                second |= positive_bits(acc[c]) << c * LANES;
                acc[c] += w->b[at + c];
            }
            bits |= positive_bits(acc[c]) << c * LANES;
        }
        now[word] |= bits << shift;
        if (w->clipped)
            now[half + word] |= second << shift;
    }
}

static const real SIGN[2] = {-1, 1};

/* Bring J from the pieces of `before` to those of `now`; returns how many units have switched. */
static ALWAYS_INLINE size_t switch_units(const size_t depth, const size_t mv, const piece_weights *w,
                                         const uint64_t *before, const uint64_t *now, const vector *along,
                                         const vector *across, vector *J)
{
    size_t count = 0;
    for (size_t q = 0; q < w->words; q++) {
        for (uint64_t changed = before[q] ^ now[q]; changed != 0; changed &= changed - 1) {
            const size_t bit = (size_t)__builtin_ctzll(changed), l = q * WORD + bit;
            add_outer(depth, mv, SIGN[now[q] >> bit & 1], along + l * mv, (const real *)(across + l * mv), J);
            count++;
        }
    }
    return count;
}

static ALWAYS_INLINE bool same_bits(size_t words, const uint64_t *a, const uint64_t *b)
{
    uint64_t changed = 0;
    for (size_t q = 0; q < words; q++)
        changed |= a[q] ^ b[q];
    return changed == 0;
}

/* keep_a and the columns that pull, for the step from time t. */
static ALWAYS_INLINE const vector *keep_at(const piece_problem *p, const piece_weights *w, size_t t)
{
    return t == 0 ? w->keep_none : t <= p->warmup ? w->keep_full : w->keep;
}

static double largest_gap(const real *a, const real *b, size_t count)
{
    double top = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double gap = fabs((double)a[i] - (double)b[i]);
        top = gap <= top ? top : gap; /* NaN passes */
    }
    return top;
}

static double largest_of(const real *a, size_t count)
{
    vector top = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        top = grow(top, row_vector(a + i, 0));
    double size = vector_largest(top);
    for (; i < count; i++)
        size = fabs((double)a[i]) <= size ? size : fabs((double)a[i]);
    return size;
}

/* e = x - B z for rows first .. last-1 of the segment, as far as anyone will look at them. */
static void observe(const piece_problem *p, const piece_weights *w, const piece_buffers *t, piece_group *g,
                    size_t first, size_t last)
{
    const size_t M = w->M, N = w->N;
    for (size_t i = first; i < last; i++) {
        if (g->begin + i <= p->warmup && p->teacher == ANT_TEACHER_STOP)
            continue;
        for (size_t c = 0; c < w->nv; c++)
            t->observed[c] = (vector){0};
        mix(M, w->nv, w->read_columns, g->z + i * M, t->observed);
        for (size_t n = 0; n < N; n++)
            g->error[i * N + n] = g->x[i * N + n] - ((const real *)t->observed)[n];
    }
}

/* How many units may have switched, fresh starts included, before dense products are faster. */
static size_t most_switches(const piece_weights *w, size_t steps)
{
    return 8 * steps + (steps / PIECE + 1) * w->units;
}

/* The forced state of step i from t->z, with 1 at place M: to t->forced. */
static ALWAYS_INLINE void force(const piece_problem *p, const piece_weights *w, const piece_buffers *t,
                                const size_t mv, size_t time, const real *x)
{
    const vector *keep = keep_at(p, w, time);
    vector *out = t->forced;
    for (size_t c = 0; c < mv; c++) {
        vector sum = w->one[c];
        if (time > 0) {
            const vector *pull = time <= p->warmup ? w->pull_full : w->pull;
            for (size_t n = 0; n < w->N; n++)
                sum += x[n] * pull[n * mv + c];
        }
        out[c] = sum + keep[c] * t->z[c];
    }
}

/* Steps first .. last-1 from t->z; false when it has merged with the stored trajectory, run->steps says where. */
static ALWAYS_INLINE bool tile_forward(const size_t M, const piece_problem *p, const piece_weights *w,
                                       const piece_buffers *t, piece_group *g, double merge, size_t first,
                                       size_t last, piece_run *run, size_t *switches)
{
    static const uint64_t none[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES), N = w->N;
    vector local[SMALL], *J = __builtin_constant_p(M) ? local : t->jacobian;
    for (size_t j = 0; j < (M + 1) * mv; j++)
        J[j] = w->affine[j];
    const uint64_t *before = none;
    for (size_t i = first; i < last; i++) {
        uint64_t *now = g->masks + i * w->words;
        force(p, w, t, mv, g->begin + i, g->x + i * N);
        const real *forced = (const real *)t->forced;
        copy(g->forced + i * M, forced, M);
        signs(M, w, forced, now);
        if (!same_bits(w->words, before, now))
            *switches += switch_units(M + 1, mv, w, before, now, w->columns, w->rows, J);
        before = now;
        for (size_t c = 0; c < mv; c++)
            t->next[c] = (vector){0};
        mix(M + 1, mv, J, forced, t->next);
        if (w->K > 0)
            mix(w->K, mv, w->inputs, g->s + i * w->K, t->next);
        real *stored = g->z + (i + 1) * M;
        if (merge >= 0.0) {
            run->gap = largest_gap((const real *)t->next, stored, M);
            if (run->gap <= merge) {
                run->merged = true;
                run->steps = i + 1;
                return false;
            }
        }
        copy(stored, (const real *)t->next, M);
        for (size_t c = 0; c < mv; c++)
            t->z[c] = t->next[c];
    }
    return true;
}

static ALWAYS_INLINE piece_run forward_for(const size_t M, const piece_problem *p, const real *packed,
                                           piece_group *g, double merge, bool trial, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    memset(t.z, 0, w.mv * sizeof *t.z);
    copy((real *)t.z, g->z, M);
    piece_run run = {.steps = g->length};
    size_t switches = 0, done = 0;
    while (done < g->length) {
        const size_t last = done + PIECE < g->length ? done + PIECE : g->length;
        if (!tile_forward(M, p, &w, &t, g, merge, done, last, &run, &switches)) {
            observe(p, &w, &t, g, 0, run.steps);
            return run;
        }
        done = last;
        if (trial && switches > most_switches(&w, done)) {
            run.refused = true;
            return run;
        }
    }
    observe(p, &w, &t, g, 0, g->length + 1);
    run.size = largest_of(g->z, (g->length + 1) * M);
    return run;
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

/* The sums of steps first .. first+count-1 that need no more than v, w, z and e. */
static void tile_sums(const piece_problem *p, const piece_weights *w, const piece_buffers *t,
                      const piece_group *g, bool loss, size_t first, size_t count)
{
    const size_t M = w->M, N = w->N, mv = w->mv, ms = mv * LANES;
    size_t skipped = first == 0; /* row 0 belongs to the segment before */
    if (g->begin + first + skipped <= p->warmup)
        skipped = p->warmup + 1 - g->begin - first;
    if (loss && skipped < count)
        outer(N, count - skipped, g->error + (first + skipped) * N, N, g->z + (first + skipped) * M, M, mv,
              t->loss);
    if (p->teacher == ANT_TEACHER_FLOW) {
        outer(M < N ? M : N, count, (const real *)t->tile_w, ms, g->z + first * M, M, mv, t->forcing);
        outer(N, count, g->error + first * N, N, (const real *)t->tile_w, ms, mv, t->pinv);
    }
    if (w->K > 0)
        outer(w->K, count, g->s + first * w->K, w->K, (const real *)t->tile_v, ms, mv, t->inputs);
}

/* S_l += sign C */
static ALWAYS_INLINE void add_running(const size_t count, real sign, const vector *running, vector *sums)
{
    for (size_t k = 0; k < count; k++)
        sums[k] += sign * running[k];
}

/* v += c dloss/dz at row i: -c B^T e */
static ALWAYS_INLINE void add_loss(const piece_problem *p, const piece_weights *w, const size_t mv,
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

/* Steps end-1 .. first: v from t->state and back to it. */
static ALWAYS_INLINE void tile_back(const size_t M, const piece_problem *p, const piece_weights *w,
                                    const piece_buffers *t, const piece_group *g, bool loss, size_t first,
                                    size_t end)
{
    static const uint64_t none[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES), N = w->N;
    vector local_J[SMALL], *J = __builtin_constant_p(M) ? local_J : t->jacobian;
    vector local_C[SMALL], *C = __builtin_constant_p(M) ? local_C : t->running;
    for (size_t j = 0; j < M * mv; j++) {
        J[j] = w->affine_rows[j];
        C[j] = (vector){0};
    }
    const uint64_t *before = none;
    for (size_t i = end; i-- > first;) {
        const uint64_t *now = g->masks + i * w->words;
        for (size_t q = 0; q < w->words; q++) {
            for (uint64_t changed = before[q] ^ now[q]; changed != 0; changed &= changed - 1) {
                const size_t bit = (size_t)__builtin_ctzll(changed), l = q * WORD + bit;
                const real sign = SIGN[now[q] >> bit & 1];
                add_outer(M, mv, sign, w->rows + l * mv, (const real *)(w->columns + l * mv), J);
                if (before != none)
                    add_running(M * mv, -sign, C, t->sums + l * M * mv);
            }
        }
        before = now;
        vector *kept = t->tile_v + (i - first) * mv, *pulled = t->tile_w + (i - first) * mv;
        for (size_t c = 0; c < mv; c++)
            kept[c] = t->state[c];
        const real *v = (const real *)kept;
        for (size_t c = 0; c < mv; c++) {
            vector row = row_vector(g->forced + i * M, c);
            for (size_t k = 0; k < LANES; k++)
                row[k] = c * LANES + k == M ? 1 : row[k];
            for (size_t m = 0; m < M; m++)
                C[m * mv + c] += v[m] * row;
            t->next[c] = (vector){0};
        }
        mix(M, mv, J, v, t->next);
        const size_t time = g->begin + i;
        const vector *keep = keep_at(p, w, time);
        const real a = (real)ant_forcing_strength(time, p->warmup, p->alpha);
        for (size_t c = 0; c < mv; c++) {
            pulled[c] = a * t->next[c];
            t->state[c] = keep[c] * t->next[c];
        }
        if (loss && i > 0 && time > p->warmup)
            add_loss(p, w, mv, g->error + i * N, t->state);
        if (i + 1 == g->length)
            add_injection(w, g->inject_last, t->state);
    }
    for (size_t q = 0; q < w->words; q++) {
        for (uint64_t on = before[q]; on != 0; on &= on - 1)
            add_running(M * mv, 1, C, t->sums + (q * WORD + (size_t)__builtin_ctzll(on)) * M * mv);
    }
    add_running(M * mv, 1, C, t->all);
}

static ALWAYS_INLINE piece_run backward_for(const size_t M, const piece_problem *p, const real *packed,
                                            piece_group *g, bool loss, double floor, real *scratch)
{
    const size_t mv = vectors(M + 1, LANES), N = p->layout->dims.N;
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    memset(t.state, 0, mv * sizeof *t.state);
    add_injection(&w, g->inject, t.state);
    if (loss && g->begin + g->length > p->warmup) {
        add_loss(p, &w, mv, g->error + g->length * N, t.state);
        outer(N, 1, g->error + g->length * N, N, g->z + g->length * M, M, mv, t.loss);
    }
    piece_run run = {0};
    for (size_t end = g->length; end > 0 && !run.merged;) {
        const size_t first = (end - 1) / PIECE * PIECE;
        tile_back(M, p, &w, &t, g, loss, first, end);
        tile_sums(p, &w, &t, g, loss, first, end - first);
        run.steps += end - first;
        run.gap = largest_of((const real *)t.state, M);
        run.size = run.gap <= run.size ? run.size : run.gap;
        run.merged = !loss && run.gap <= floor;
        end = first;
    }
    piece_leave(&p->layout->dims, packed, (const real *)t.state, g->border);
    for (size_t m = 0; m < M && run.merged; m++)
        g->border[m] = 0;
    return run;
}

/* Common sizes get code of their own. */
#define PIECE_SIZES(CASE) CASE(3) CASE(4) CASE(5) CASE(6) CASE(10)

static piece_run piece_forward(const piece_problem *p, const real *packed, piece_group *g, double merge,
                               bool trial, real *scratch)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return forward_for(m, p, packed, g, merge, trial, scratch);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return forward_for(p->layout->dims.M, p, packed, g, merge, trial, scratch);
    }
}

static piece_run piece_backward(const piece_problem *p, const real *packed, piece_group *g, bool loss,
                                double floor, real *scratch, double *sums)
{
    (void)sums; /* piece_close adds to them */
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return backward_for(m, p, packed, g, loss, floor, scratch);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return backward_for(p->layout->dims.M, p, packed, g, loss, floor, scratch);
    }
}

static void piece_open(const ant_model_dims *d, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(d, NULL, &w);
    buffers_place(&w, NULL, &t);
    memset(scratch + t.sums_begin, 0, (t.sums_end - t.sums_begin) * sizeof *scratch);
}

#include "solve/piece_sums.h"

/* The rows with a weight are the last ones: a plain sum over what lies there. */
static double piece_square(const piece_problem *p, const piece_group *g)
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
#define PIECE_TEXT(level)   #level
#define PIECE_STRING(level) PIECE_TEXT(level)
const ANT_FN(ant_kernels) ANT_LEVEL(ant_piece) = {
    .name = "piece " PIECE_STRING(ANT_SIMD),
    .lanes = 1,
    .knows_time = true,
    .packed_count = piece_packed_count,
    .pack = piece_pack,
    .scratch_count = piece_scratch_count,
    .mask_words = piece_mask_words,
    .enter = piece_enter,
    .leave = piece_leave,
    .forward = piece_forward,
    .open = piece_open,
    .backward = piece_backward,
    .close = piece_close,
    .square = piece_square,
};
