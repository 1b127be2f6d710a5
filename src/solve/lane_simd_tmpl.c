/*
 * lane_simd_tmpl.c - kernels in which every SIMD lane is a segment of its own.
 *
 * All products are a matrix times a column of vectors, without horizontal sums.  A weight is read once as a
 * broadcast and used by all lanes.  Backward, the hidden activity is computed again from z~, which is cheaper
 * than storing T x L numbers.  The rank-1 updates of the parameter gradients are collected over a tile of
 * steps and then computed as matrix products in registers, with one partial sum per lane.
 */
#include "solve/kernel.h"
#include "solve/lane_products.h"

#include <string.h>

enum { TILE = 16 }; /* time steps whose gradients are taken together */

/* Packed matrices: tile after tile, within a tile column after column. */
typedef struct lane_weights {
    const real *A1, *h, *b;
    const real *V, *V_transposed;          /* (L, M), (M, L) */
    const real *W, *W_transposed;          /* (M, L), (L, M); with rank: WR (r, L), its transpose */
    const real *left, *left_transposed;    /* WL (M, r), (r, M); NULL without rank */
    const real *C;                         /* (M, K) */
    const real *B_negative, *B_transposed; /* (N, M), (M, N) */
    const real *pinv, *pinv_transposed;    /* (M, N), (N, M) */
} lane_weights;

/* Lay out (packed == NULL counts) and return the number of reals. */
static size_t weights_place(const ant_model_dims *d, const real *packed, lane_weights *w)
{
    const size_t inner = d->rank > 0 ? d->rank : d->M;
    size_t used = 0;
    const struct {
        const real **slot;
        size_t count;
    } parts[] = {{&w->A1, d->M},
                 {&w->h, d->M},
                 {&w->b, d->L},
                 {&w->V, d->L * d->M},
                 {&w->V_transposed, d->L * d->M},
                 {&w->W, inner * d->L},
                 {&w->W_transposed, inner * d->L},
                 {&w->left, d->M * d->rank},
                 {&w->left_transposed, d->M * d->rank},
                 {&w->C, d->M * d->K},
                 {&w->B_negative, d->N * d->M},
                 {&w->B_transposed, d->N * d->M},
                 {&w->pinv, d->M * d->N},
                 {&w->pinv_transposed, d->M * d->N}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].slot = packed == NULL ? NULL : packed + used;
        used += parts[i].count;
    }
    return used;
}

static size_t lane_packed_count(const ant_model_dims *d)
{
    lane_weights w;
    return weights_place(d, NULL, &w);
}

/* Pack sign * source, whose element (i, j) is source[i * row + j * col]. */
static real *pack_matrix(real *out, size_t rows, size_t cols, const real *source, size_t row, size_t col,
                         real sign)
{
    for (size_t begin = 0, end; begin < rows; begin = end) {
        end = tile_end(rows, begin);
        for (size_t j = 0; j < cols; j++) {
            for (size_t i = begin; i < end; i++)
                *out++ = sign * source[i * row + j * col];
        }
    }
    return out;
}

static void lane_pack(const solve_call *p, real *packed)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    const real *theta = p->parameters, *right = theta + (d->rank > 0 ? layout->WR : layout->W);
    const size_t M = d->M, N = d->N, L = d->L, inner = d->rank > 0 ? d->rank : M;
    real *out = packed;                                /* in the order of weights_place */
    out = pack_matrix(out, 1, M, p->derived, 0, 1, 1); /* A - 1 */
    out = pack_matrix(out, 1, M, theta + layout->h, 0, 1, 1);
    out = pack_matrix(out, 1, L, theta + layout->b, 0, 1, 1);
    out = pack_matrix(out, L, M, theta + layout->V, M, 1, 1);
    out = pack_matrix(out, M, L, theta + layout->V, 1, M, 1);
    out = pack_matrix(out, inner, L, right, L, 1, 1);
    out = pack_matrix(out, L, inner, right, 1, L, 1);
    if (d->rank > 0) {
        out = pack_matrix(out, M, d->rank, theta + layout->WL, d->rank, 1, 1);
        out = pack_matrix(out, d->rank, M, theta + layout->WL, 1, d->rank, 1);
    }
    if (d->K > 0)
        out = pack_matrix(out, M, d->K, theta + layout->C, d->K, 1, 1);
    out = pack_matrix(out, N, M, p->forcing->B, M, 1, -1);
    out = pack_matrix(out, M, N, p->forcing->B, 1, M, 1);
    out = pack_matrix(out, M, N, p->forcing->pinv, N, 1, 1);
    pack_matrix(out, N, M, p->forcing->pinv, 1, N, 1);
}

/* phi of a hidden unit: `sum` holds V z~ when clipped, else V z~ + b. */
static ALWAYS_INLINE vector activity(bool clipped, vector sum, real b)
{
    if (clipped)
        return relu(sum + b) - relu(sum);
    return relu(sum);
}

static ALWAYS_INLINE void hidden_rows(const size_t rows, size_t depth, const real *w, const real *b,
                                      bool clipped, const vector *x, vector *phi)
{
    vector acc[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        acc[r] = clipped ? (vector){0} : splat(b[r]);
    tile_multiply(rows, depth, w, x, acc);
    for (size_t r = 0; r < rows; r++)
        phi[r] = activity(clipped, acc[r], b[r]);
}

/* phi = phi(V z~ + b) of the plain or the clipped model.  phi: (L) */
static void hidden(const ant_model_dims *d, const lane_weights *w, const vector *forced, vector *phi)
{
    for (size_t begin = 0, end; begin < d->L; begin = end) {
        end = tile_end(d->L, begin);
        const real *V = w->V + begin * d->M, *b = w->b + begin;
        if (d->clipped) {
            WITH_ROWS(end - begin, hidden_rows, d->M, V, b, true, forced, phi + begin)
        } else {
            WITH_ROWS(end - begin, hidden_rows, d->M, V, b, false, forced, phi + begin)
        }
    }
}

/* One step of all lanes: z~ -> next.  scratch: (L + rank) vectors */
static void step(const ant_model_dims *d, const lane_weights *w, const vector *forced, const vector *s,
                 vector *next, vector *scratch)
{
    vector *phi = scratch, *inner = phi + d->L;
    for (size_t m = 0; m < d->M; m++)
        next[m] = w->A1[m] * forced[m] + w->h[m];
    if (d->K > 0)
        add_product(d->M, d->K, w->C, s, next);
    hidden(d, w, forced, phi);
    if (d->rank > 0) {
        memset(inner, 0, d->rank * sizeof *inner);
        add_product(d->rank, d->L, w->W, phi, inner);
        add_product(d->M, d->rank, w->left, inner, next);
    } else {
        add_product(d->M, d->L, w->W, phi, next);
    }
    for (size_t m = 0; m < d->M; m++)
        next[m] += forced[m];
}

/* The patterns of row i, one per lane (patterns.h); NULL: all lanes are complete. */
static const uint32_t *patterns_at(const group *g, size_t i)
{
    return g->pattern == NULL || !g->gappy[i] ? NULL : g->pattern + i * LANES;
}

/* The lanes that have this pattern. */
static vector_mask lanes_with(const uint32_t *pattern, uint32_t wanted)
{
    vector_mask mask;
    for (int i = 0; i < LANES; i++)
        mask[i] = pattern[i] == wanted ? -1 : 0;
    return mask;
}

/*
 * Replace out = B+ in, or B+^T in, by the product with their own B_o+ in lanes that are incomplete.  Each
 * pattern is multiplied once for all its lanes.  in: (N), out: (M), or the other way round
 */
static void replace_product(const solve_call *p, const uint32_t *pattern, bool transposed, const vector *in,
                            vector *out)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const size_t rows = transposed ? N : M, depth = transposed ? M : N;
    const vector_mask complete = lanes_with(pattern, 0);
    for (size_t r = 0; r < rows; r++)
        out[r] = masked(complete, out[r]);
    for (int i = 0; i < LANES; i++) {
        bool done = pattern[i] == 0 || ANT_FN(ant_pattern_empty)(p->patterns, pattern[i]);
        for (int k = 0; k < i && !done; k++)
            done = pattern[k] == pattern[i];
        if (done)
            continue;
        const real *pinv = ANT_FN(ant_pattern_pinv)(p->patterns, pattern[i]);
        const vector_mask lanes = lanes_with(pattern, pattern[i]);
        for (size_t r = 0; r < rows; r++) {
            vector sum = {0};
            for (size_t c = 0; c < depth; c++)
                sum += pinv[transposed ? c * N + r : r * N + c] * in[c];
            out[r] += masked(lanes, sum);
        }
    }
}

/* The same from 0: complete lanes give 0. */
static void own_product(const solve_call *p, const uint32_t *pattern, bool transposed, const vector *in,
                        vector *out)
{
    memset(out, 0, (transposed ? p->layout->dims.N : p->layout->dims.M) * sizeof *out);
    replace_product(p, pattern, transposed, in, out);
}

/* e = x - B z, 0 where x is missing;  z~ = z + a B+ e unless `forced` is NULL.  pull: (M) scratch */
static void observe(const solve_call *p, const lane_weights *w, const uint32_t *pattern, const vector *x,
                    const vector *z, vector a, vector *error, vector *forced, vector *pull)
{
    const ant_model_dims *d = &p->layout->dims;
    for (size_t n = 0; n < d->N; n++)
        error[n] = x[n];
    add_product(d->N, d->M, w->B_negative, z, error);
    for (size_t n = 0; n < d->N && pattern != NULL; n++)
        error[n] = masked(x[n] == x[n], error[n]); /* NOLINT(misc-redundant-expression): NaN */
    if (forced == NULL)
        return;
    memset(pull, 0, d->M * sizeof *pull);
    add_product(d->M, d->N, w->pinv, error, pull);
    if (pattern != NULL)
        replace_product(p, pattern, false, error, pull);
    for (size_t m = 0; m < d->M; m++)
        forced[m] = z[m] + a * pull[m];
}

static pass_result lane_forward(const solve_call *p, const real *packed, group *g, double merge, bool attempt,
                                real *scratch)
{
    (void)attempt; /* never refuses */
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M, N = d->N;
    lane_weights w;
    weights_place(d, packed, &w);
    vector *z = (vector *)g->z, *forced = (vector *)g->forced, *error = (vector *)g->error;
    const vector *x = (const vector *)g->x, *s = (const vector *)g->s, *a = (const vector *)g->strength;
    vector *next = (vector *)scratch, *rest = next + M;
    vector size = {0};
    pass_result result = {.steps = g->length};
    for (size_t i = 0; i < g->length; i++) {
        observe(p, &w, patterns_at(g, i), x + i * N, z + i * M, a[i], error + i * N, forced + i * M, rest);
        step(d, &w, forced + i * M, s + i * d->K, next, rest);
        vector difference = {0}, *stored = z + (i + 1) * M;
        if (merge >= 0.0) {
            for (size_t m = 0; m < M; m++)
                difference = grow(difference, next[m] - stored[m]);
            result.difference = vector_largest(difference);
            if (result.difference <= merge) {
                result.merged = true;
                result.steps = i + 1;
                break;
            }
        }
        for (size_t m = 0; m < M; m++) {
            stored[m] = next[m];
            size = grow(size, next[m]);
        }
    }
    if (!result.merged)
        observe(p, &w, patterns_at(g, g->length), x + g->length * N, z + g->length * M, (vector){0},
                error + g->length * N, NULL, NULL);
    result.size = vector_largest(size);
    return result;
}

static double lane_square(const solve_call *p, const group *g)
{
    const size_t N = p->layout->dims.N;
    const vector *error = (const vector *)g->error, *weight = (const vector *)g->weight;
    double total = 0.0;
    for (size_t begin = 1; begin <= g->length; begin += 64) {
        const size_t end = begin + 64 < g->length + 1 ? begin + 64 : g->length + 1;
        vector sum = {0};
        for (size_t i = begin; i < end; i++) {
            for (size_t n = 0; n < N; n++)
                sum += masked(weight[i] > 0, error[i * N + n] * error[i * N + n]);
        }
        total += vector_sum(sum);
    }
    return total;
}

/* What a tile of the backward pass stores for the gradient products. */
typedef struct lane_tile {
    vector *v;         /* (TILE, M): gradient at F(z~) */
    vector *phi;       /* (TILE, L) */
    vector *u;         /* (TILE, L): gradient at V z~ */
    vector *u_bias;    /* (TILE, L): gradient at b; the same array unless clipped */
    vector *inner;     /* (TILE, rank): WR phi */
    vector *back;      /* (TILE, rank): WL^T v */
    vector *y;         /* (TILE, N): -y_t of reference_tmpl.c */
    vector *pulled;    /* (TILE, M): a_t w_t */
    vector *w, *v_now; /* (M) */
    vector *terms;     /* (3 M + 2 N): of an incomplete row */
    vector *sums;      /* (ant_sums_count): per-lane partial sums */
} lane_tile;

static size_t tile_place(const ant_model_layout *layout, vector *scratch, lane_tile *tile)
{
    const ant_model_dims *d = &layout->dims;
    size_t used = 0;
    const struct {
        vector **slot;
        size_t count;
    } parts[] = {{&tile->v, TILE * d->M},
                 {&tile->phi, TILE * d->L},
                 {&tile->u, TILE * d->L},
                 {&tile->u_bias, d->clipped ? TILE * d->L : 0},
                 {&tile->inner, TILE * d->rank},
                 {&tile->back, TILE * d->rank},
                 {&tile->y, TILE * d->N},
                 {&tile->pulled, TILE * d->M},
                 {&tile->w, d->M},
                 {&tile->v_now, d->M},
                 {&tile->terms, 3 * d->M + 2 * d->N},
                 {&tile->sums, ANT_FN(ant_sums_count)(layout)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].slot = scratch == NULL ? NULL : scratch + used;
        used += parts[i].count;
    }
    if (!d->clipped)
        tile->u_bias = tile->u;
    return used;
}

static size_t lane_scratch_count(const ant_model_dims *d)
{
    ant_model_layout layout;
    lane_tile tile;
    ant_model_layout_make(d, &layout);
    const size_t backward = tile_place(&layout, NULL, &tile), forward = 2 * d->M + d->L + d->rank;
    return (backward > forward ? backward : forward) * LANES;
}

static ALWAYS_INLINE void hidden_back_rows(const size_t rows, size_t M, const real *V, const real *b,
                                           size_t inner, const real *W, bool clipped, const vector *forced,
                                           const vector *v, vector *phi, vector *u, vector *u_bias)
{
    vector acc[TILE_ROWS], back[TILE_ROWS];
    for (size_t r = 0; r < rows; r++) {
        acc[r] = clipped ? (vector){0} : splat(b[r]);
        back[r] = (vector){0};
    }
    tile_multiply(rows, M, V, forced, acc);
    tile_multiply(rows, inner, W, v, back);
    for (size_t r = 0; r < rows; r++) {
        phi[r] = activity(clipped, acc[r], b[r]);
        if (clipped) {
            u_bias[r] = masked(acc[r] + b[r] > 0, back[r]);
            u[r] = u_bias[r] - masked(acc[r] > 0, back[r]);
        } else {
            u[r] = masked(acc[r] > 0, back[r]);
        }
    }
}

/* phi, u and u_bias of one step.  v: (M), or WL^T v (rank) */
static void hidden_back(const ant_model_dims *d, const lane_weights *w, const vector *forced, const vector *v,
                        vector *phi, vector *u, vector *u_bias)
{
    const size_t inner = d->rank > 0 ? d->rank : d->M;
    for (size_t begin = 0, end; begin < d->L; begin = end) {
        end = tile_end(d->L, begin);
        const real *V = w->V + begin * d->M, *W = w->W_transposed + begin * inner;
        if (d->clipped) {
            WITH_ROWS(end - begin, hidden_back_rows, d->M, V, w->b + begin, inner, W, true, forced, v,
                      phi + begin, u + begin, u_bias + begin)
        } else {
            WITH_ROWS(end - begin, hidden_back_rows, d->M, V, w->b + begin, inner, W, false, forced, v,
                      phi + begin, u + begin, u_bias + begin)
        }
    }
}

/* The gradient products of `count` steps from index `first`. */
static void tile_sum(const solve_call *p, const group *g, const lane_tile *tile, size_t first, size_t count)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    const vector *forced = (const vector *)g->forced + first * d->M, *z = (const vector *)g->z + first * d->M;
    const vector *error = (const vector *)g->error + first * d->N, *s = (const vector *)g->s + first * d->K;
    vector *sums = tile->sums;
    if (d->rank > 0) {
        add_outer(count, tile->v, d->M, tile->inner, d->rank, sums + layout->WL);
        add_outer(count, tile->back, d->rank, tile->phi, d->L, sums + layout->WR);
    } else {
        add_outer(count, tile->v, d->M, tile->phi, d->L, sums + layout->W);
    }
    add_outer(count, tile->u, d->L, forced, d->M, sums + layout->V);
    add_rows_up(count, NULL, tile->u_bias, d->L, sums + layout->b);
    add_rows_up(count, NULL, tile->v, d->M, sums + layout->h);
    add_rows_up(count, tile->v, forced, d->M, sums + layout->Abar);
    if (d->K > 0)
        add_outer(count, tile->v, d->M, s, d->K, sums + layout->C);
    add_outer(count, tile->y, d->N, z, d->M, sums + layout->B);
    if (p->teacher == ANT_TEACHER_FLOW)
        add_outer(count, tile->pulled, d->M, error, d->N, sums + layout->total);
    for (size_t i = 0; i < count * d->M && g->pulled != NULL; i++)
        ((vector *)g->pulled)[first * d->M + i] += tile->pulled[i];
}

/*
 * What incomplete lanes give to dB through their B_o+, as in ant_pattern_add.  p_minus = -B_o+^T a w (N);
 * w_minus = -a w (M); x, error: (N)
 */
static void add_terms(const solve_call *p, const lane_weights *weights, const uint32_t *pattern,
                      const vector *p_minus, const vector *w_minus, const vector *x, const vector *error,
                      lane_tile *tile)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    vector *q = tile->terms, *u_minus = q + M, *m = u_minus + M, *r = m + M, *g = r + N;
    vector *sums = tile->sums + p->layout->B;
    own_product(p, pattern, false, error, q);
    own_product(p, pattern, false, p_minus, u_minus);
    own_product(p, pattern, true, q, g);
    for (size_t j = 0; j < M; j++)
        m[j] = -w_minus[j];
    add_product(M, N, weights->B_transposed, p_minus, m);
    for (size_t n = 0; n < N; n++)
        r[n] = error[n];
    add_product(N, M, weights->B_negative, q, r);
    for (size_t n = 0; n < N; n++) {
        r[n] = masked(x[n] == x[n], r[n]); /* NOLINT(misc-redundant-expression): NaN */
        for (size_t j = 0; j < M; j++)
            sums[n * M + j] += p_minus[n] * q[j] - r[n] * u_minus[j] + g[n] * m[j];
    }
}

/* The same as observe_back, for a row that some lanes lack values of.  x: (N) */
static void observe_back_gaps(const solve_call *p, const lane_weights *w, const uint32_t *pattern, vector a,
                              vector c, const vector *x, const vector *error, size_t k, lane_tile *tile)
{
    const ant_model_dims *d = &p->layout->dims;
    vector *y = tile->y + k * d->N, *pulled = tile->pulled + k * d->M;
    const vector_mask complete = lanes_with(pattern, 0);
    for (size_t m = 0; m < d->M; m++) {
        pulled[m] = -a * tile->w[m];
        tile->v_now[m] = tile->w[m];
    }
    memset(y, 0, d->N * sizeof *y);
    add_product(d->N, d->M, w->pinv_transposed, pulled, y);
    replace_product(p, pattern, true, pulled, y);
    if (p->teacher == ANT_TEACHER_FLOW)
        add_terms(p, w, pattern, y, pulled, x, error, tile);
    for (size_t n = 0; n < d->N; n++)
        y[n] -= c * error[n];
    add_product(d->M, d->N, w->B_transposed, y, tile->v_now);
    for (size_t m = 0; m < d->M; m++)
        pulled[m] = -masked(complete, pulled[m]);
    for (size_t n = 0; n < d->N && p->teacher == ANT_TEACHER_STOP; n++)
        y[n] = -c * error[n];
}

/* v_now <- dloss/dz_i given w = dloss/dz~_i, and what row k of the tile stores of it. */
static void observe_back(const solve_call *p, const lane_weights *w, vector a, vector c, const vector *error,
                         size_t k, lane_tile *tile)
{
    const ant_model_dims *d = &p->layout->dims;
    vector *y = tile->y + k * d->N, *pulled = tile->pulled + k * d->M;
    for (size_t m = 0; m < d->M; m++) {
        pulled[m] = -a * tile->w[m];
        tile->v_now[m] = tile->w[m];
    }
    for (size_t n = 0; n < d->N; n++)
        y[n] = -c * error[n];
    add_product(d->N, d->M, w->pinv_transposed, pulled, y);
    add_product(d->M, d->N, w->B_transposed, y, tile->v_now);
    for (size_t m = 0; m < d->M; m++)
        pulled[m] = -pulled[m];
    for (size_t n = 0; n < d->N && p->teacher == ANT_TEACHER_STOP; n++)
        y[n] = -c * error[n];
}

/* w = J_F(z~)^T v for one step, storing in row k what the products need. */
static void step_back(const ant_model_dims *d, const lane_weights *w, const vector *forced, size_t k,
                      lane_tile *tile)
{
    vector *v = tile->v + k * d->M, *phi = tile->phi + k * d->L, *u = tile->u + k * d->L;
    vector *inner = tile->inner + k * d->rank, *back = tile->back + k * d->rank;
    memcpy(v, tile->v_now, d->M * sizeof *v);
    if (d->rank > 0) {
        memset(back, 0, d->rank * sizeof *back);
        add_product(d->rank, d->M, w->left_transposed, v, back);
    }
    hidden_back(d, w, forced, d->rank > 0 ? back : v, phi, u, tile->u_bias + k * d->L);
    if (d->rank > 0) {
        memset(inner, 0, d->rank * sizeof *inner);
        add_product(d->rank, d->L, w->W, phi, inner);
    }
    for (size_t m = 0; m < d->M; m++)
        tile->w[m] = w->A1[m] * v[m];
    add_product(d->M, d->L, w->V_transposed, u, tile->w);
    for (size_t m = 0; m < d->M; m++)
        tile->w[m] += v[m];
}

/* v at the last index: the loss there and what is injected. */
static void begin_back(const solve_call *p, const lane_weights *w, const group *g, bool loss, lane_tile *tile)
{
    const ant_model_dims *d = &p->layout->dims;
    const vector *inject = (const vector *)g->inject, *weight = (const vector *)g->weight;
    memset(tile->w, 0, d->M * sizeof *tile->w);
    observe_back(p, w, (vector){0}, loss ? weight[g->length] : (vector){0},
                 (const vector *)g->error + g->length * d->N, 0, tile);
    add_outer(1, tile->y, d->N, (const vector *)g->z + g->length * d->M, d->M, tile->sums + p->layout->B);
    for (size_t m = 0; m < d->M; m++)
        tile->v_now[m] += inject[m];
}

static pass_result lane_backward(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                 real *scratch, double *sums)
{
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M, N = d->N, count = ANT_FN(ant_sums_count)(p->layout);
    const vector *forced = (const vector *)g->forced, *error = (const vector *)g->error;
    const vector *a = (const vector *)g->strength, *weight = (const vector *)g->weight;
    const vector *inject_last = (const vector *)g->inject_last;
    lane_weights w;
    lane_tile tile;
    weights_place(d, packed, &w);
    tile_place(p->layout, (vector *)scratch, &tile);
    memset(tile.sums, 0, count * sizeof *tile.sums);
    begin_back(p, &w, g, loss, &tile);
    vector size = {0};
    pass_result result = {0};
    for (size_t end = g->length; end > 0 && !result.merged;) {
        const size_t steps = end < TILE ? end : TILE, first = end - steps;
        for (size_t i = end; i-- > first;) {
            step_back(d, &w, forced + i * M, i - first, &tile);
            const uint32_t *pattern = patterns_at(g, i);
            const vector c = loss ? weight[i] : (vector){0};
            if (pattern == NULL)
                observe_back(p, &w, a[i], c, error + i * N, i - first, &tile);
            else
                observe_back_gaps(p, &w, pattern, a[i], c, (const vector *)g->x + i * N, error + i * N,
                                  i - first, &tile);
            for (size_t m = 0; m < M && i + 1 == g->length; m++)
                tile.v_now[m] += inject_last[m];
        }
        tile_sum(p, g, &tile, first, steps);
        vector now = {0};
        for (size_t m = 0; m < M; m++)
            now = grow(now, tile.v_now[m]);
        size = grow(size, now);
        result.steps += steps;
        result.difference = vector_largest(now);
        result.merged = !loss && result.difference <= floor;
        end = first;
    }
    result.size = vector_largest(size);
    if (result.merged)
        memset(g->border, 0, M * LANES * sizeof *g->border);
    else
        memcpy(g->border, tile.v_now, M * sizeof *tile.v_now);
    for (size_t i = 0; i < count; i++)
        sums[i] += vector_sum(tile.sums[i]);
    return result;
}

const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane);
const ANT_FN(ant_kernels) ANT_LEVEL(ant_lane) = {
    .name = "lane " ANT_LEVEL_TEXT,
    .lanes = LANES,
    .packed_count = lane_packed_count,
    .pack = lane_pack,
    .scratch_count = lane_scratch_count,
    .forward = lane_forward,
    .backward = lane_backward,
    .square = lane_square,
};
