/*
 * lane_backward.h - the backward pass of the lane kernels, a tile of steps at a time: the hidden activity of
 * the whole tile, then the adjoint from step to step, then the parameter gradients.  For the lane kernels
 * only.
 */
#ifndef ANT_SOLVE_LANE_BACKWARD_H
#define ANT_SOLVE_LANE_BACKWARD_H

#include "solve/lane_forward.h"

enum { TILE = 16 }; /* time steps whose gradients are taken together */

/* What a tile of the backward pass stores for the gradient products. */
typedef struct lane_tile {
    size_t stride;      /* vectors of hidden units from step to step */
    wide *room;         /* (lane_room_count): a column, repeated */
    wide *forced_room;  /* (TILE, M): z~, repeated; none where a vector holds one row */
    const wide *forced; /* (TILE, M): it, or z~ itself */
    wide *v_repeated;   /* (TILE, M) */
    wide *phi;          /* (TILE, stride) */
    wide *u;            /* (TILE, stride): gradient at V z~; of clipped units V z~ before */
    wide *u_bias;       /* (TILE, stride): gradient at b; the same array unless clipped */
    wide *back;         /* (TILE, rank): WL^T v, repeated */
    vector *v;          /* (TILE, M): gradient at F(z~) */
    vector *inner;      /* (TILE, rank): WR phi */
    vector *back_room;  /* (rank): WL^T v */
    vector *y;          /* (TILE, N): -y_t of reference_tmpl.c */
    vector *pulled;     /* (TILE, M): a_t w_t */
    vector *w, *v_now;  /* (M) */
    vector *terms;      /* (3 M + 2 N): of an incomplete row */
    /* Partial sums of each lane: those of hidden units, in the order of add_outer_blocks; the others. */
    wide *sum_V, *sum_W, *sum_b; /* (L, M), (L, M) or (L, rank), (L) */
    vector *sum_left, *sum_h, *sum_A, *sum_C, *sum_B,
        *sum_flow; /* (M, r), (M), (M), (M, K), (N, M), (M, N) */
    size_t sums;   /* vectors of all */
} lane_tile;

/*
 * Vectors of hidden units from step to step: not a multiple of large powers of 2, so that the same units of
 * all steps of a tile lie in different sets of a cache.
 */
static size_t unit_stride(const ant_model_dims *d)
{
    return 4 * ((wides(d->L) + 3) / 4 | 1);
}

/* Lay out (scratch == NULL counts) and return the number of vectors; those of several rows first. */
static size_t tile_place(const ant_model_layout *layout, vector *scratch, lane_tile *tile)
{
    const ant_model_dims *d = &layout->dims;
    const size_t copies = ROWS == 1 ? 0 : TILE, units = wides(d->L), inner = d->rank > 0 ? d->rank : d->M;
    size_t used = 0;
    tile->stride = unit_stride(d);
    const struct {
        wide **slot;
        size_t count;
    } wide_parts[] = {
        {&tile->room, lane_room_count(d)},  {&tile->forced_room, copies * d->M},
        {&tile->v_repeated, copies * d->M}, {&tile->phi, TILE * tile->stride},
        {&tile->u, TILE * tile->stride},    {&tile->u_bias, d->clipped ? TILE * tile->stride : 0},
        {&tile->back, TILE * d->rank},      {&tile->sum_V, units * d->M},
        {&tile->sum_W, units * inner},      {&tile->sum_b, units}};
    for (size_t i = 0; i < sizeof wide_parts / sizeof *wide_parts; i++) {
        *wide_parts[i].slot = scratch == NULL ? NULL : (wide *)(scratch + used);
        used += ROWS * wide_parts[i].count;
    }
    const struct {
        vector **slot;
        size_t count;
    } parts[] = {{&tile->sum_left, d->M * d->rank},
                 {&tile->sum_h, d->M},
                 {&tile->sum_A, d->M},
                 {&tile->sum_C, d->M * d->K},
                 {&tile->sum_B, d->N * d->M},
                 {&tile->sum_flow, d->M * d->N},
                 {&tile->v, TILE * d->M},
                 {&tile->inner, TILE * d->rank},
                 {&tile->back_room, d->rank},
                 {&tile->y, TILE * d->N},
                 {&tile->pulled, TILE * d->M},
                 {&tile->w, d->M},
                 {&tile->v_now, d->M},
                 {&tile->terms, 3 * d->M + 2 * d->N}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].slot = scratch == NULL ? NULL : scratch + used;
        used += parts[i].count;
    }
    tile->sums = ROWS * units * (d->M + inner + 1) + d->M * (d->rank + 2 + d->K + 2 * d->N);
    if (!d->clipped)
        tile->u_bias = tile->u;
    if (ROWS == 1)
        tile->v_repeated = (wide *)tile->v;
    return used;
}

static size_t lane_scratch_count(const ant_model_dims *d)
{
    ant_model_layout layout;
    lane_tile tile;
    ant_model_layout_make(d, &layout);
    const size_t backward = tile_place(&layout, NULL, &tile), forward = room_place(d, NULL, NULL);
    return (backward > forward ? backward : forward) * LANES;
}

/*
 * The sums and a tile, without what is copied or left free: sums of gradients depend on this number, so it
 * stays as it is, and is the same with one row in a vector and with two.
 */
static size_t lane_slot_count(const ant_model_dims *d)
{
    ant_model_layout layout;
    ant_model_layout_make(d, &layout);
    const size_t row = 2 * d->M + (d->clipped ? 3 : 2) * d->L + 2 * d->rank + d->N;
    return (TILE * row + 5 * d->M + 2 * d->N + ANT_FN(ant_sums_count)(&layout)) * LANES;
}

/* phi of BLOCK_STEPS steps for `rows` vectors of units; from column to column of V are `stride_V` numbers. */
static ALWAYS_INLINE void hidden_block(const size_t rows, size_t M, const real *V, size_t stride_V,
                                       const real *b, bool clipped, const wide *forced, size_t stride,
                                       wide *phi, wide *sums)
{
    wide acc[BLOCK_ROWS][BLOCK_STEPS];
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < BLOCK_STEPS; i++)
            acc[r][i] = clipped ? (wide){0} : weights_at(b + r * ROWS);
    }
    for (size_t m = 0; m < M; m++) {
        wide weight[BLOCK_ROWS];
        for (size_t r = 0; r < rows; r++)
            weight[r] = weights_at(V + m * stride_V + r * ROWS);
        for (size_t i = 0; i < BLOCK_STEPS; i++) {
            for (size_t r = 0; r < rows; r++)
                acc[r][i] += weight[r] * forced[i * M + m];
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < BLOCK_STEPS; i++) {
            phi[i * stride + r] = activity(clipped, acc[r][i], weights_at(b + r * ROWS));
            if (clipped)
                sums[i * stride + r] = acc[r][i];
        }
    }
}

/* The same for the `rows` vectors of a tile of V. */
static ALWAYS_INLINE void hidden_blocks(size_t rows, size_t M, const real *V, const real *b,
                                        const bool clipped, const wide *forced, size_t stride, wide *phi,
                                        wide *sums)
{
    const division parts = divide(rows, BLOCK_ROWS);
    for (size_t r = 0, end; r < rows; r = end) {
        const real *from = V + r * ROWS, *bias = b + r * ROWS;
        end = part_end(&parts, r);
        switch (end - r) {
        case 1:
            hidden_block(1, M, from, rows * ROWS, bias, clipped, forced, stride, phi + r, sums + r);
            break;
#if VECTOR_BYTES == 64 || defined(ANT_LANE_ROWS)
        case 2:
            hidden_block(2, M, from, rows * ROWS, bias, clipped, forced, stride, phi + r, sums + r);
            break;
        case 3:
            hidden_block(3, M, from, rows * ROWS, bias, clipped, forced, stride, phi + r, sums + r);
            break;
#endif
        default:
            hidden_block(BLOCK_ROWS, M, from, rows * ROWS, bias, clipped, forced, stride, phi + r, sums + r);
            break;
        }
    }
}

/* phi of `count` steps, and V z~ of clipped units in the place of u. */
static void hidden_tile(const ant_model_dims *d, const lane_weights *w, size_t count, const lane_tile *tile)
{
    const size_t stride = tile->stride;
    const division tiles = divide(wides(d->L), TILE_ROWS);
    size_t i = 0;
    for (; i + BLOCK_STEPS <= count && d->L >= SHORT_ROWS; i += BLOCK_STEPS) {
        const wide *forced = tile->forced + i * d->M;
        for (size_t begin = 0, end; begin < wides(d->L); begin = end) {
            end = part_end(&tiles, begin);
            const real *V = w->V + begin * ROWS * d->M, *b = w->b + begin * ROWS;
            wide *phi = tile->phi + i * stride + begin, *sums = tile->u + i * stride + begin;
            if (d->clipped)
                hidden_blocks(end - begin, d->M, V, b, true, forced, stride, phi, sums);
            else
                hidden_blocks(end - begin, d->M, V, b, false, forced, stride, phi, sums);
        }
    }
    for (; i < count; i++)
        hidden(d, w, tile->forced + i * d->M, tile->phi + i * stride, tile->u + i * stride);
}

static ALWAYS_INLINE void hidden_back_rows(const size_t rows, bool two_sums, size_t inner, const real *W,
                                           const real *b, bool clipped, const wide *v, const wide *phi,
                                           wide *u, wide *u_bias)
{
    wide back[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        back[r] = (wide){0};
    tile_multiply(rows, two_sums, inner, W, false, v, back);
    for (size_t r = 0; r < rows; r++) {
        if (clipped) {
            const wide sum = u[r];
            u_bias[r] = wide_masked(sum + weights_at(b + r * ROWS) > 0, back[r]);
            u[r] = u_bias[r] - wide_masked(sum > 0, back[r]);
        } else {
            u[r] = wide_masked(phi[r] > 0, back[r]);
        }
    }
}

/* u and u_bias of one step.  v: (M), or WL^T v (rank), repeated */
static void hidden_back(const ant_model_dims *d, const lane_weights *w, const wide *v, const wide *phi,
                        wide *u, wide *u_bias)
{
    const size_t inner = d->rank > 0 ? d->rank : d->M;
    const division tiles = divide(wides(d->L), TILE_ROWS);
    const bool two_sums = d->L < SHORT_ROWS;
    for (size_t begin = 0, end; begin < wides(d->L); begin = end) {
        end = part_end(&tiles, begin);
        const real *W = w->W_transposed + begin * ROWS * inner, *b = w->b + begin * ROWS;
        if (d->clipped) {
            WITH_ROWS(end - begin, hidden_back_rows, two_sums, inner, W, b, true, v, phi + begin, u + begin,
                      u_bias + begin)
        } else {
            WITH_ROWS(end - begin, hidden_back_rows, two_sums, inner, W, b, false, v, phi + begin, u + begin,
                      u_bias + begin)
        }
    }
}

/* sums (wides(L)) += the rows of `units` (count, stride). */
static void add_units(size_t count, const wide *units, size_t stride, size_t length, wide *sums)
{
    enum { TOGETHER = 4 }; /* stride is a multiple of it, and what is read beyond `length` is not kept */
    for (size_t c = 0; c < length; c += TOGETHER) {
        wide sum[TOGETHER] = {{0}};
        for (size_t i = 0; i < TOGETHER && c + i < length; i++)
            sum[i] = sums[c + i];
        for (size_t t = 0; t < count; t++) {
            for (size_t i = 0; i < TOGETHER; i++)
                sum[i] += units[t * stride + c + i];
        }
        for (size_t i = 0; i < TOGETHER && c + i < length; i++)
            sums[c + i] = sum[i];
    }
}

/* The gradient products of `count` steps from index `first`. */
static void tile_sum(const solve_call *p, const group *g, const lane_tile *tile, size_t first, size_t count)
{
    const ant_model_dims *d = &p->layout->dims;
    const vector *forced = (const vector *)g->forced + first * d->M, *z = (const vector *)g->z + first * d->M;
    const vector *error = (const vector *)g->error + first * d->N, *s = (const vector *)g->s + first * d->K;
    add_outer_blocks(count, tile->u, tile->stride, d->L, tile->forced, d->M, tile->sum_V);
    if (d->rank > 0) {
        add_outer(count, tile->v, d->M, tile->inner, d->rank, tile->sum_left);
        add_outer_blocks(count, tile->phi, tile->stride, d->L, tile->back, d->rank, tile->sum_W);
    } else {
        add_outer_blocks(count, tile->phi, tile->stride, d->L, tile->v_repeated, d->M, tile->sum_W);
    }
    add_units(count, tile->u_bias, tile->stride, wides(d->L), tile->sum_b);
    add_rows_up(count, NULL, tile->v, d->M, tile->sum_h);
    add_rows_up(count, tile->v, forced, d->M, tile->sum_A);
    if (d->K > 0)
        add_outer(count, tile->v, d->M, s, d->K, tile->sum_C);
    add_outer(count, tile->y, d->N, z, d->M, tile->sum_B);
    if (p->teacher == ANT_TEACHER_FLOW)
        add_outer(count, tile->pulled, d->M, error, d->N, tile->sum_flow);
    for (size_t i = 0; i < count * d->M && g->pulled != NULL; i++)
        ((vector *)g->pulled)[first * d->M + i] += tile->pulled[i];
}

/* total (ant_sums_count) += the sums of all lanes. */
static void collapse(const ant_model_layout *layout, const lane_tile *tile, double *total)
{
    const ant_model_dims *d = &layout->dims;
    const struct {
        const vector *sums;
        size_t to, count;
    } parts[] = {{tile->sum_left, d->rank > 0 ? layout->WL : 0, d->M * d->rank},
                 {tile->sum_h, layout->h, d->M},
                 {tile->sum_A, layout->Abar, d->M},
                 {tile->sum_C, d->K > 0 ? layout->C : 0, d->M * d->K},
                 {tile->sum_B, layout->B, d->N * d->M},
                 {tile->sum_flow, layout->total, d->M * d->N}};
    collapse_blocks(tile->sum_V, d->L, d->M, total + layout->V, d->M, 1);
    if (d->rank > 0)
        collapse_blocks(tile->sum_W, d->L, d->rank, total + layout->WR, 1, d->L);
    else
        collapse_blocks(tile->sum_W, d->L, d->M, total + layout->W, 1, d->L);
    collapse_blocks(tile->sum_b, d->L, 1, total + layout->b, 1, 1);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        for (size_t i = 0; i < parts[k].count; i++)
            total[parts[k].to + i] += vector_sum(parts[k].sums[i]);
    }
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
    vector *sums = tile->sum_B;
    own_product(p, pattern, false, error, q);
    own_product(p, pattern, false, p_minus, u_minus);
    own_product(p, pattern, true, q, g);
    for (size_t j = 0; j < M; j++)
        m[j] = -w_minus[j];
    add_product(M, N, weights->B_transposed, all_repeated(N, p_minus, tile->room), m);
    for (size_t n = 0; n < N; n++)
        r[n] = error[n];
    add_product(N, M, weights->B_negative, all_repeated(M, q, tile->room), r);
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
    add_product(d->N, d->M, w->pinv_transposed, all_repeated(d->M, pulled, tile->room), y);
    replace_product(p, pattern, true, pulled, y);
    if (p->teacher == ANT_TEACHER_FLOW)
        add_terms(p, w, pattern, y, pulled, x, error, tile);
    for (size_t n = 0; n < d->N; n++)
        y[n] -= c * error[n];
    add_product(d->M, d->N, w->B_transposed, all_repeated(d->N, y, tile->room), tile->v_now);
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
    add_product(d->N, d->M, w->pinv_transposed, all_repeated(d->M, pulled, tile->room), y);
    add_product(d->M, d->N, w->B_transposed, all_repeated(d->N, y, tile->room), tile->v_now);
    for (size_t m = 0; m < d->M; m++)
        pulled[m] = -pulled[m];
    for (size_t n = 0; n < d->N && p->teacher == ANT_TEACHER_STOP; n++)
        y[n] = -c * error[n];
}

/* w = J_F(z~)^T v for one step, storing in row k what the products need; phi is there. */
static void step_back(const ant_model_dims *d, const lane_weights *w, size_t k, lane_tile *tile)
{
    vector *v = tile->v + k * d->M;
    const wide *phi = tile->phi + k * tile->stride, *arrives;
    wide *u = tile->u + k * tile->stride;
    memcpy(v, tile->v_now, d->M * sizeof *v);
    arrives = all_repeated(d->M, v, tile->v_repeated + k * d->M);
    if (d->rank > 0) {
        vector *inner = tile->inner + k * d->rank;
        memset(inner, 0, d->rank * sizeof *inner);
        add_product_joined(d->rank, d->L, w->W, phi, inner);
        memset(tile->back_room, 0, d->rank * sizeof *tile->back_room);
        add_product(d->rank, d->M, w->left_transposed, arrives, tile->back_room);
        for (size_t i = 0; i < d->rank; i++)
            tile->back[k * d->rank + i] = repeated(tile->back_room[i]);
        arrives = tile->back + k * d->rank;
    }
    hidden_back(d, w, arrives, phi, u, tile->u_bias + k * tile->stride);
    for (size_t m = 0; m < d->M; m++)
        tile->w[m] = w->A1[m] * v[m];
    add_product_joined(d->M, d->L, w->V_transposed, u, tile->w);
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
    add_outer(1, tile->y, d->N, (const vector *)g->z + g->length * d->M, d->M, tile->sum_B);
    for (size_t m = 0; m < d->M; m++)
        tile->v_now[m] += inject[m];
}

static pass_result lane_backward(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                 real *scratch, double *sums)
{
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M, N = d->N;
    const vector *forced = (const vector *)g->forced, *error = (const vector *)g->error;
    const vector *a = (const vector *)g->strength, *weight = (const vector *)g->weight;
    const vector *inject_last = (const vector *)g->inject_last;
    lane_weights w;
    lane_tile tile;
    weights_place(d, packed, &w);
    tile_place(p->layout, (vector *)scratch, &tile);
    memset(tile.sum_V, 0, tile.sums * sizeof(vector));
    begin_back(p, &w, g, loss, &tile);
    vector size = {0};
    pass_result result = {0};
    for (size_t end = g->length; end > 0 && !result.merged;) {
        const size_t steps = end < TILE ? end : TILE, first = end - steps;
        tile.forced = all_repeated(steps * M, forced + first * M, tile.forced_room);
        hidden_tile(d, &w, steps, &tile);
        for (size_t i = end; i-- > first;) {
            step_back(d, &w, i - first, &tile);
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
    collapse(p->layout, &tile, sums);
    return result;
}

#endif
