/*
 * lane_forward.h - steps of the lane kernels: hidden units, forcing, the forward pass.  For the lane kernels
 * only.
 */
#ifndef ANT_SOLVE_LANE_FORWARD_H
#define ANT_SOLVE_LANE_FORWARD_H

#include "solve/lane_weights.h"

/* What the forward pass needs beside the group. */
typedef struct lane_room {
    wide *room;          /* (lane_room_count): a vector of the latent or observed space, repeated */
    wide *forced;        /* (M): z~, repeated */
    wide *phi;           /* (wides(L)) */
    vector *next, *pull; /* (M) */
    vector *inner;       /* (rank): WR phi */
} lane_room;

/* Vectors of the longest column that is repeated. */
static size_t lane_room_count(const ant_model_dims *d)
{
    const size_t a = d->M > d->N ? d->M : d->N, b = d->K > d->rank ? d->K : d->rank;
    return a > b ? a : b;
}

/* Lay out (scratch == NULL counts) and return the number of vectors; those of several rows first. */
static size_t room_place(const ant_model_dims *d, vector *scratch, lane_room *r)
{
    wide *wide_next = (wide *)scratch;
    const size_t repeated_count = lane_room_count(d), units = wides(d->L);
    const size_t used = ROWS * (repeated_count + d->M + units);
    if (scratch != NULL)
        *r = (lane_room){.room = wide_next,
                         .forced = wide_next + repeated_count,
                         .phi = wide_next + repeated_count + d->M,
                         .next = scratch + used,
                         .pull = scratch + used + d->M,
                         .inner = scratch + used + 2 * d->M};
    return used + 2 * d->M + d->rank;
}

/* phi of a hidden unit: `sum` holds V z~ when clipped, else V z~ + b. */
static ALWAYS_INLINE wide activity(bool clipped, wide sum, wide b)
{
    if (clipped) {
        const wide with = sum + b;
        return wide_masked(with > 0, with) - wide_masked(sum > 0, sum);
    }
    return wide_masked(sum > 0, sum);
}

/* sums: V z~ of clipped units; NULL: not requested */
static ALWAYS_INLINE void hidden_rows(const size_t rows, bool two_sums, size_t depth, const real *w,
                                      const real *b, bool clipped, const wide *x, wide *phi, wide *sums)
{
    wide acc[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        acc[r] = clipped ? (wide){0} : weights_at(b + r * ROWS);
    tile_multiply(rows, two_sums, depth, w, false, x, acc);
    for (size_t r = 0; r < rows; r++) {
        phi[r] = activity(clipped, acc[r], weights_at(b + r * ROWS));
        if (clipped && sums != NULL)
            sums[r] = acc[r];
    }
}

/* phi = phi(V z~ + b) of the plain or the clipped model.  forced: (M), repeated; phi, sums: (wides(L)) */
static void hidden(const ant_model_dims *d, const lane_weights *w, const wide *forced, wide *phi, wide *sums)
{
    const division tiles = divide(wides(d->L), TILE_ROWS);
    const bool two_sums = d->L < SHORT_ROWS;
    for (size_t begin = 0, end; begin < wides(d->L); begin = end) {
        end = part_end(&tiles, begin);
        const real *V = w->V + begin * ROWS * d->M, *b = w->b + begin * ROWS;
        if (d->clipped) {
            wide *kept = sums == NULL ? NULL : sums + begin;
            WITH_ROWS(end - begin, hidden_rows, two_sums, d->M, V, b, true, forced, phi + begin, kept)
        } else {
            WITH_ROWS(end - begin, hidden_rows, two_sums, d->M, V, b, false, forced, phi + begin, NULL)
        }
    }
}

/* One step of all lanes: z~ -> next. */
static void step(const ant_model_dims *d, const lane_weights *w, const vector *forced, const vector *s,
                 const lane_room *r)
{
    vector *next = r->next;
    for (size_t m = 0; m < d->M; m++)
        next[m] = w->A1[m] * forced[m] + w->h[m];
    if (d->K > 0)
        add_product(d->M, d->K, w->C, all_repeated(d->K, s, r->room), next);
    hidden(d, w, all_repeated(d->M, forced, r->forced), r->phi, NULL);
    if (d->rank > 0) {
        memset(r->inner, 0, d->rank * sizeof *r->inner);
        add_product_joined(d->rank, d->L, w->W, r->phi, r->inner);
        add_product(d->M, d->rank, w->left, all_repeated(d->rank, r->inner, r->room), next);
    } else {
        add_product_joined(d->M, d->L, w->W, r->phi, next);
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

/* e = x - B z, 0 where x is missing;  z~ = z + a B+ e unless `forced` is NULL.  pull: (M), room: scratch */
static void observe(const solve_call *p, const lane_weights *w, const uint32_t *pattern, const vector *x,
                    const vector *z, vector a, vector *error, vector *forced, const lane_room *r)
{
    const ant_model_dims *d = &p->layout->dims;
    vector *pull = r->pull;
    for (size_t n = 0; n < d->N; n++)
        error[n] = x[n];
    add_product(d->N, d->M, w->B_negative, all_repeated(d->M, z, r->room), error);
    for (size_t n = 0; n < d->N && pattern != NULL; n++)
        error[n] = masked(x[n] == x[n], error[n]); /* NOLINT(misc-redundant-expression): NaN */
    if (forced == NULL)
        return;
    memset(pull, 0, d->M * sizeof *pull);
    add_product(d->M, d->N, w->pinv, all_repeated(d->N, error, r->room), pull);
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
    lane_room room = {0};
    room_place(d, (vector *)scratch, &room);
    vector size = {0};
    pass_result result = {.steps = g->length};
    for (size_t i = 0; i < g->length; i++) {
        observe(p, &w, patterns_at(g, i), x + i * N, z + i * M, a[i], error + i * N, forced + i * M, &room);
        step(d, &w, forced + i * M, s + i * d->K, &room);
        vector difference = {0}, *stored = z + (i + 1) * M;
        if (merge >= 0.0) {
            for (size_t m = 0; m < M; m++)
                difference = grow(difference, room.next[m] - stored[m]);
            result.difference = vector_largest(difference);
            if (result.difference <= merge) {
                result.merged = true;
                result.steps = i + 1;
                break;
            }
        }
        for (size_t m = 0; m < M; m++) {
            stored[m] = room.next[m];
            size = grow(size, room.next[m]);
        }
    }
    if (!result.merged)
        observe(p, &w, patterns_at(g, g->length), x + g->length * N, z + g->length * M, (vector){0},
                error + g->length * N, NULL, &room);
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

#endif
