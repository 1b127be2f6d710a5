/*
 * line_body.h - the line kernels for one width of latent vectors; line_simd_tmpl.c includes it once per
 * width, with SMALL (a vector type), SMALL_WIDTH (its lanes) and NAME(x) defined.
 *
 * "Wide" vectors run over hidden units (L), small ones over latent units (M), observed ones (N) or the
 * rank.  Products with few columns are sums of columns times a broadcast number; the two products over all
 * hidden units are dot products, whose horizontal sums are taken several at a time.
 */

#include "solve/line_weights.h"

/* acc_c += sum_k x_k w[k, c]; `chains` independent sums hide the latency of the additions. */
static ALWAYS_INLINE void NAME(add_columns)(const size_t count, const size_t chains, size_t stride,
                                            size_t depth, const SMALL *w, const real *x, SMALL *acc)
{
    SMALL part[8][4];
    size_t k = 0;
    for (size_t q = 0; q < chains; q++) {
        for (size_t c = 0; c < count; c++)
            part[q][c] = (SMALL){0};
    }
    for (; k + chains <= depth; k += chains) {
        for (size_t q = 0; q < chains; q++) {
            for (size_t c = 0; c < count; c++)
                part[q][c] += x[k + q] * w[(k + q) * stride + c];
        }
    }
    for (; k < depth; k++) {
        for (size_t c = 0; c < count; c++)
            part[0][c] += x[k] * w[k * stride + c];
    }
    for (size_t step = chains / 2; step > 0; step /= 2) {
        for (size_t q = 0; q < step; q++) {
            for (size_t c = 0; c < count; c++)
                part[q][c] += part[q + step][c];
        }
    }
    for (size_t c = 0; c < count; c++)
        acc[c] += part[0][c];
}

/* out += sum_k x_k w[k, :] over `count` small vectors, which are more than one. */
static ALWAYS_INLINE void NAME(add_many)(size_t count, size_t depth, const SMALL *w, const real *x,
                                         SMALL *out)
{
    const size_t stride = count;
    for (; count >= 4; count -= 4, w += 4, out += 4)
        NAME(add_columns)(4, 2, stride, depth, w, x, out);
    if (count == 3)
        NAME(add_columns)(3, 2, stride, depth, w, x, out);
    else if (count == 2)
        NAME(add_columns)(2, 4, stride, depth, w, x, out);
    else if (count == 1)
        NAME(add_columns)(1, 8, stride, depth, w, x, out);
}

/* Not in every place where their number is known at run time only. */
static NEVER_INLINE void NAME(add_unknown)(size_t count, size_t depth, const SMALL *w, const real *x,
                                           SMALL *out)
{
    NAME(add_many)(count, depth, w, x, out);
}

/* out += sum_k x_k w[k, :] over `count` small vectors. */
static ALWAYS_INLINE void NAME(product)(size_t count, size_t depth, const SMALL *w, const real *x, SMALL *out)
{
    if (count != 1 && __builtin_constant_p(count))
        NAME(add_many)(count, depth, w, x, out);
    else if (count != 1)
        NAME(add_unknown)(count, depth, w, x, out);
    else if (depth >= 24)
        NAME(add_columns)(1, 8, 1, depth, w, x, out);
    else if (depth >= 8)
        NAME(add_columns)(1, 4, 1, depth, w, x, out);
    else
        NAME(add_columns)(1, 2, 1, depth, w, x, out);
}

/* Buffers of one step, each padded to whole vectors. */
typedef struct NAME(buffers) {
    SMALL *z, *forced, *next, *error, *inner, *v, *w, *y; /* (mv), nv for error and y, rv for inner */
    SMALL *terms;                                         /* of ant_pattern_add */
    vector *phi;                                          /* (lv) */
    /* Backward only: a tile of time, and the running sums. */
    vector *tile_phi, *tile_sum, *tile_u, *tile_u_bias;            /* (TILE, lv) */
    SMALL *tile_v, *tile_inner, *tile_back, *tile_y, *tile_pulled; /* (TILE, mv | rv | rv | nv | mv) */
    vector *W, *V, *b;                                             /* (M or rank, lv), (M, lv), (lv) */
    SMALL *A, *h, *left, *C, *B, *G; /* (mv), (mv), (r, mv), (K, mv), (N, mv), (N, mv) */
    size_t sums_begin, sums_end;     /* in reals from the start of the scratch */
} NAME(buffers);

static size_t NAME(buffers_place)(const ant_model_dims *d, real *scratch, NAME(buffers) * t)
{
    const size_t mv = vectors(d->M, SMALL_WIDTH), nv = vectors(d->N, SMALL_WIDTH);
    const size_t rv = vectors(d->rank, SMALL_WIDTH), lv = vectors(d->L, LANES);
    const size_t inner = d->rank > 0 ? d->rank : d->M, clipped = d->clipped ? TILE : 0;
    size_t used = 0;
    const struct {
        vector **slot;
        size_t count;
    } wide[] = {{&t->phi, lv},
                {&t->tile_phi, TILE * lv},
                {&t->tile_sum, clipped * lv},
                {&t->tile_u, TILE * lv},
                {&t->tile_u_bias, clipped * lv},
                {&t->W, inner * lv},
                {&t->V, d->M * lv},
                {&t->b, lv}};
    const size_t first_sum = 5;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        if (i == first_sum)
            t->sums_begin = used;
        *wide[i].slot = scratch == NULL ? NULL : (vector *)(scratch + used);
        used += wide[i].count * LANES;
    }
    const struct {
        SMALL **slot;
        size_t count;
    } small[] = {{&t->A, mv},
                 {&t->h, mv},
                 {&t->left, d->rank * mv},
                 {&t->C, d->K * mv},
                 {&t->B, d->N * mv},
                 {&t->G, d->N * mv},
                 {&t->z, mv},
                 {&t->forced, mv},
                 {&t->next, mv},
                 {&t->error, nv},
                 {&t->inner, rv},
                 {&t->v, mv},
                 {&t->w, mv},
                 {&t->y, nv},
                 {&t->tile_v, TILE * mv},
                 {&t->tile_inner, TILE * rv},
                 {&t->tile_back, TILE * rv},
                 {&t->tile_y, TILE * nv},
                 {&t->tile_pulled, TILE * mv},
                 {&t->terms, vectors(ANT_FN(ant_pattern_terms)(d->M, d->N), SMALL_WIDTH)}};
    const size_t after_sums = 6;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        if (i == after_sums)
            t->sums_end = used;
        *small[i].slot = scratch == NULL ? NULL : (SMALL *)(scratch + used);
        used += small[i].count * SMALL_WIDTH;
    }
    if (!d->clipped) {
        t->tile_sum = t->tile_phi;
        t->tile_u_bias = t->tile_u;
    }
    return used;
}

static size_t NAME(scratch_count)(const ant_model_dims *d)
{
    NAME(buffers) t;
    return NAME(buffers_place)(d, NULL, &t);
}

/* out = (pull + (P_a - I) z) + z, with the projector that belongs to a; for a = 0 it is the identity. */
static ALWAYS_INLINE void NAME(force)(size_t M, const NAME(weights) * w, real a, const SMALL *z, SMALL *out)
{
    if (a != 0)
        NAME(product)(w->mv, M, a == 1 ? w->project_full : w->project, (const real *)z, out);
    for (size_t c = 0; c < w->mv; c++)
        out[c] += z[c];
}

/* error = x - B z */
static ALWAYS_INLINE void NAME(observe)(const ant_model_dims *d, const NAME(weights) * w, const real *x,
                                        const SMALL *z, SMALL *error, real *kept)
{
    for (size_t c = 0; c < w->nv; c++)
        error[c] = (SMALL){0};
    NAME(product)(w->nv, d->M, w->B, (const real *)z, error);
    for (size_t n = 0; n < d->N; n++)
        kept[n] = x[n] - ((const real *)error)[n];
}

/* t->forced = P_a z + a B+ x */
static ALWAYS_INLINE void NAME(teach)(const ant_model_dims *d, const NAME(weights) * w,
                                      const NAME(buffers) * t, real a, const real *x)
{
    real pull[PULL];
    for (size_t c = 0; c < w->mv; c++)
        t->forced[c] = (SMALL){0};
    for (size_t first = 0; first < d->N && a != 0; first += PULL) {
        const size_t count = d->N - first < PULL ? d->N - first : PULL;
        for (size_t n = 0; n < count; n++)
            pull[n] = a * x[first + n];
        NAME(product)(w->mv, count, w->pinv + first * w->mv, pull, t->forced);
    }
    NAME(force)(d->M, w, a, t->z, t->forced);
}

/* The same of an incomplete row, z + a B_o+ e.  pinv: (M, N); x: (N); error: (N), set to 0 where x is missing
 */
static void NAME(teach_incomplete)(const ant_model_dims *d, const NAME(weights) * w, const NAME(buffers) * t,
                                   const real *pinv, real a, const real *x, real *error)
{
    real *forced = (real *)t->forced;
    for (size_t c = 0; c < w->mv; c++)
        t->forced[c] = t->z[c];
    for (size_t n = 0; n < d->N; n++)
        error[n] = x[n] == x[n] ? error[n] : 0;
    for (size_t m = 0; m < d->M; m++) {
        real sum = 0;
        for (size_t n = 0; n < d->N; n++)
            sum += pinv[m * d->N + n] * error[n];
        forced[m] += a * sum;
    }
}

/* One step from t->forced: fills t->next. */
static ALWAYS_INLINE void NAME(step)(const ant_model_dims *d, const NAME(weights) * w,
                                     const NAME(buffers) * t, const real *s)
{
    for (size_t c = 0; c < w->mv; c++)
        t->next[c] = w->A1[c] * t->forced[c] + w->h[c];
    if (d->K > 0)
        NAME(product)(w->mv, d->K, w->C, s, t->next);
    wide_hidden(d, w->lv, w->V_wide, w->b, (const real *)t->forced, t->phi, NULL);
    if (d->rank > 0) {
        for (size_t c = 0; c < w->rv; c++)
            t->inner[c] = (SMALL){0};
        wide_dots(d->rank, w->lv, w->W_wide, t->phi, (real *)t->inner);
        NAME(product)(w->mv, d->rank, w->left, (const real *)t->inner, t->next);
    } else {
        wide_dots(d->M, w->lv, w->W_wide, t->phi, (real *)t->next);
    }
    for (size_t c = 0; c < w->mv; c++)
        t->next[c] += t->forced[c];
}

/* `dims` are those of the call, with those that are known at compile time as constants. */
static ALWAYS_INLINE pass_result NAME(forward_for)(const ant_model_dims dims, const solve_call *p,
                                                   const real *packed, group *g, double merge, real *scratch)
{
    const ant_model_dims *d = &dims;
    const size_t M = d->M, N = d->N;
    NAME(weights) w;
    NAME(buffers) t;
    NAME(place)(&p->layout->dims, packed, &w);
    NAME(buffers_place)(&p->layout->dims, scratch, &t);
    w.mv = vectors(M, SMALL_WIDTH);
    memset(t.z, 0, w.mv * sizeof *t.z);
    memcpy(t.z, g->z, M * sizeof(real));
    pass_result result = {.steps = g->length};
    for (size_t i = 0; i < g->length; i++) {
        NAME(observe)(d, &w, g->x + i * N, t.z, t.error, g->error + i * N);
        if (g->pattern == NULL || g->pattern[i] == 0)
            NAME(teach)(d, &w, &t, g->strength[i], g->x + i * N);
        else
            NAME(teach_incomplete)
        (d, &w, &t, ANT_FN(ant_pattern_pinv)(p->patterns, g->pattern[i]), g->strength[i], g->x + i * N,
         g->error + i * N);
        NAME(step)(d, &w, &t, g->s + i * d->K);
        copy_reals(g->forced + i * M, (const real *)t.forced, M);
        real *stored = g->z + (i + 1) * M;
        if (merge >= 0.0) {
            result.difference = ANT_FN(ant_largest_difference)((const real *)t.next, stored, M);
            if (result.difference <= merge) {
                result.merged = true;
                result.steps = i + 1;
                return result;
            }
        }
        copy_reals(stored, (const real *)t.next, M);
        for (size_t c = 0; c < w.mv; c++)
            t.z[c] = t.next[c];
    }
    NAME(observe)(d, &w, g->x + g->length * N, t.z, t.error, g->error + g->length * N);
    for (size_t n = 0; n < N && g->pattern != NULL && g->pattern[g->length] != 0; n++)
        g->error[g->length * N + n] = isnan(g->x[g->length * N + n]) ? 0 : g->error[g->length * N + n];
    result.size = largest_of(g->z, (g->length + 1) * M);
    return result;
}

/* sums[j, :] += sum over `count` steps of left_j right, for a tile of rows.  right: small vectors */
static ALWAYS_INLINE void NAME(outer)(size_t count, const real *left, size_t rows, size_t left_stride,
                                      const real *right, size_t right_stride, size_t vectors_each,
                                      SMALL *sums)
{
    for (size_t j = 0; j < rows; j++) {
        for (size_t c = 0; c < vectors_each; c++) {
            SMALL sum = sums[j * vectors_each + c];
            for (size_t k = 0; k < count; k++)
                sum += left[k * left_stride + j] *
                       *(const NAME(loose) *)(right + k * right_stride + c * SMALL_WIDTH);
            sums[j * vectors_each + c] = sum;
        }
    }
}

/* The gradient products of `count` steps from index `first`. */
static void NAME(tile_sum)(const solve_call *p, const NAME(weights) * w, const group *g,
                           const NAME(buffers) * t, size_t first, size_t count)
{
    const ant_model_dims *d = &p->layout->dims;
    const size_t M = d->M, N = d->N, ms = w->mv * SMALL_WIDTH, ns = w->nv * SMALL_WIDTH;
    const real *v = (const real *)t->tile_v, *forced = g->forced + first * M;
    if (d->rank > 0) {
        const size_t rs = w->rv * SMALL_WIDTH;
        wide_outer(count, (const real *)t->tile_back, d->rank, rs, t->tile_phi, w->lv, t->W);
        NAME(outer)(count, (const real *)t->tile_inner, d->rank, rs, v, ms, w->mv, t->left);
    } else {
        wide_outer(count, v, M, ms, t->tile_phi, w->lv, t->W);
    }
    wide_outer(count, forced, M, M, t->tile_u, w->lv, t->V);
    for (size_t k = 0; k < count; k++) {
        for (size_t c = 0; c < w->lv; c++)
            t->b[c] += t->tile_u_bias[k * w->lv + c];
        for (size_t c = 0; c < w->mv; c++) {
            const SMALL row = t->tile_v[k * w->mv + c];
            t->h[c] += row;
            t->A[c] += row * *(const NAME(loose) *)(forced + k * M + c * SMALL_WIDTH);
        }
    }
    if (d->K > 0)
        NAME(outer)(count, g->s + first * d->K, d->K, d->K, v, ms, w->mv, t->C);
    NAME(outer)(count, (const real *)t->tile_y, N, ns, g->z + first * M, M, w->mv, t->B);
    if (p->teacher == ANT_TEACHER_FLOW)
        NAME(outer)(count, g->error + first * N, N, N, (const real *)t->tile_pulled, ms, w->mv, t->G);
    for (size_t k = 0; k < count && g->pulled != NULL; k++) {
        for (size_t m = 0; m < M; m++)
            g->pulled[(first + k) * M + m] += ((const real *)t->tile_pulled)[k * ms + m];
    }
}

/* t->w = J_F(z~)^T v for one step; stores v, u and the rank's factors in row k of the tile. */
static ALWAYS_INLINE void NAME(step_back)(const ant_model_dims *d, const NAME(weights) * w,
                                          const NAME(buffers) * t, size_t k)
{
    const real *source = (const real *)t->v;
    for (size_t c = 0; c < w->mv; c++) {
        t->tile_v[k * w->mv + c] = t->v[c];
        t->w[c] = w->A1[c] * t->v[c];
    }
    if (d->rank > 0) {
        SMALL *back = t->tile_back + k * w->rv;
        for (size_t c = 0; c < w->rv; c++)
            back[c] = (SMALL){0};
        NAME(product)(w->rv, d->M, w->left_back, source, back);
        source = (const real *)back;
    }
    vector *u = t->tile_u + k * w->lv;
    wide_back(d, w->lv, d->rank > 0 ? d->rank : d->M, w->W_wide, w->b, source, t->tile_sum + k * w->lv, u,
              t->tile_u_bias + k * w->lv);
    wide_dots(d->M, w->lv, w->V_wide, u, (real *)t->w);
    for (size_t c = 0; c < w->mv; c++)
        t->w[c] += t->v[c];
}

/* t->v = P_a w - c B^T e, and in row k what dB and G need of it. */
static ALWAYS_INLINE void NAME(observe_back)(const ant_model_dims *d, bool flow, const NAME(weights) * w,
                                             const NAME(buffers) * t, real a, real c, const real *error,
                                             size_t k)
{
    SMALL *y = t->tile_y + k * w->nv;
    real *row = (real *)y, pull[PULL];
    for (size_t i = 0; i < w->mv; i++)
        t->v[i] = (SMALL){0};
    for (size_t i = 0; i < w->nv; i++)
        y[i] = (SMALL){0};
    for (size_t first = 0; first < d->N && c != 0; first += PULL) {
        const size_t count = d->N - first < PULL ? d->N - first : PULL;
        for (size_t n = 0; n < count; n++)
            pull[n] = -c * error[first + n];
        NAME(product)(w->mv, count, w->B_back + first * w->mv, pull, t->v);
    }
    NAME(force)(d->M, w, a, t->w, t->v);
    if (flow && a != 0) {
        SMALL *pulled = t->tile_pulled + k * w->mv;
        for (size_t i = 0; i < w->mv; i++)
            pulled[i] = a * t->w[i];
        NAME(product)(w->nv, d->M, w->pinv_back, (const real *)pulled, y);
    } else {
        for (size_t i = 0; i < w->mv; i++)
            t->tile_pulled[k * w->mv + i] = (SMALL){0};
    }
    for (size_t n = 0; n < d->N; n++)
        row[n] = -(row[n] + c * error[n]);
}

/* The same of an incomplete row: v = w - B^T y, y = a B_o+^T w + c e.  What B_o+ gives to dB goes to the sums
 * of the caller. */
static void NAME(observe_back_incomplete)(const solve_call *p, const NAME(weights) * w,
                                          const NAME(buffers) * t, uint32_t pattern, real a, real c,
                                          const real *error, size_t k, double *sums)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real *pinv = ANT_FN(ant_pattern_pinv)(p->patterns, pattern), *source = (const real *)t->w;
    real *row = (real *)(t->tile_y + k * w->nv);
    for (size_t i = 0; i < w->nv; i++)
        t->tile_y[k * w->nv + i] = (SMALL){0};
    for (size_t i = 0; i < w->mv; i++) {
        t->v[i] = t->w[i];
        t->tile_pulled[k * w->mv + i] = (SMALL){0};
    }
    for (size_t n = 0; n < N; n++) {
        real sum = 0;
        for (size_t m = 0; m < M; m++)
            sum += pinv[m * N + n] * source[m];
        row[n] = -(a * sum + c * error[n]);
    }
    NAME(product)(w->mv, N, w->B_back, row, t->v);
    if (p->teacher == ANT_TEACHER_FLOW)
        ANT_FN(ant_pattern_add)
    (p->patterns, pattern, p->forcing->B, source, error, (double)a, (real *)t->terms, sums + p->layout->B);
    for (size_t n = 0; n < N && p->teacher == ANT_TEACHER_STOP; n++)
        row[n] = -c * error[n];
}

/* Add the running sums to those of the caller and set them to zero. */
static void NAME(flush)(const solve_call *p, const NAME(weights) * w, const NAME(buffers) * t, real *scratch,
                        double *sums)
{
    const ant_model_layout *y = p->layout;
    const ant_model_dims *d = &y->dims;
    const size_t ms = w->mv * SMALL_WIDTH, ls = w->lv * LANES;
    const size_t right = d->rank > 0 ? y->WR : y->W, inner = d->rank > 0 ? d->rank : d->M;
    add_matrix((const real *)t->W, inner, d->L, ls, sums + right, d->L, 1);
    add_matrix((const real *)t->V, d->M, d->L, ls, sums + y->V, 1, d->M);
    add_matrix((const real *)t->b, 1, d->L, ls, sums + y->b, 0, 1);
    add_matrix((const real *)t->A, 1, d->M, ms, sums + y->Abar, 0, 1);
    add_matrix((const real *)t->h, 1, d->M, ms, sums + y->h, 0, 1);
    if (d->rank > 0)
        add_matrix((const real *)t->left, d->rank, d->M, ms, sums + y->WL, 1, d->rank);
    if (d->K > 0)
        add_matrix((const real *)t->C, d->K, d->M, ms, sums + y->C, 1, d->K);
    add_matrix((const real *)t->B, d->N, d->M, ms, sums + y->B, d->M, 1);
    add_matrix((const real *)t->G, d->N, d->M, ms, sums + y->total, 1, d->N);
    memset(scratch + t->sums_begin, 0, (t->sums_end - t->sums_begin) * sizeof *scratch);
}

/* Hidden activity, and WR of it, of `count` steps from `first`: does not depend on the adjoint, so it is
 * computed first. */
static void NAME(tile_hidden)(const ant_model_dims *d, const NAME(weights) * w, const group *g,
                              const NAME(buffers) * t, size_t first, size_t count)
{
    wide_hidden_tile(d, count, w->lv, w->V_wide, w->b, g->forced + first * d->M, t->tile_phi, t->tile_sum);
    for (size_t k = 0; k < count && d->rank > 0; k++) {
        SMALL *inner = t->tile_inner + k * w->rv;
        for (size_t c = 0; c < w->rv; c++)
            inner[c] = (SMALL){0};
        wide_dots(d->rank, w->lv, w->W_wide, t->tile_phi + k * w->lv, (real *)inner);
    }
}

static ALWAYS_INLINE pass_result NAME(backward_for)(const ant_model_dims dims, const solve_call *p,
                                                    const real *packed, group *g, bool loss, double floor,
                                                    real *scratch, double *sums)
{
    const ant_model_dims *d = &dims;
    const size_t M = d->M, N = d->N;
    NAME(weights) w;
    NAME(buffers) t;
    NAME(place)(&p->layout->dims, packed, &w);
    NAME(buffers_place)(&p->layout->dims, scratch, &t);
    w.mv = vectors(M, SMALL_WIDTH);
    memset(scratch + t.sums_begin, 0, (t.sums_end - t.sums_begin) * sizeof *scratch);
    memset(t.w, 0, w.mv * sizeof *t.w);
    const bool flow = p->teacher == ANT_TEACHER_FLOW;
    NAME(observe_back)(d, flow, &w, &t, 0, loss ? g->weight[g->length] : 0, g->error + g->length * N, 0);
    NAME(outer)(1, (const real *)t.tile_y, N, 0, g->z + g->length * M, M, w.mv, t.B);
    for (size_t m = 0; m < M; m++)
        ((real *)t.v)[m] += g->inject[m];
    pass_result result = {0};
    for (size_t end = g->length, tiles = 1; end > 0 && !result.merged; tiles++) {
        const size_t count = end < TILE ? end : TILE, first = end - count;
        NAME(tile_hidden)(d, &w, g, &t, first, count);
        for (size_t i = end; i-- > first;) {
            NAME(step_back)(d, &w, &t, i - first);
            const real c = loss ? g->weight[i] : 0;
            if (g->pattern == NULL || g->pattern[i] == 0)
                NAME(observe_back)(d, flow, &w, &t, g->strength[i], c, g->error + i * N, i - first);
            else
                NAME(observe_back_incomplete)
            (p, &w, &t, g->pattern[i], g->strength[i], c, g->error + i * N, i - first, sums);
            for (size_t m = 0; m < M && i + 1 == g->length; m++)
                ((real *)t.v)[m] += g->inject_last[m];
        }
        NAME(tile_sum)(p, &w, g, &t, first, count);
        if (tiles % FLUSH == 0)
            NAME(flush)(p, &w, &t, scratch, sums);
        result.steps += count;
        result.difference = largest_of((const real *)t.v, M);
        result.size = result.difference <= result.size ? result.size : result.difference;
        result.merged = !loss && result.difference <= floor;
        end = first;
    }
    NAME(flush)(p, &w, &t, scratch, sums);
    for (size_t m = 0; m < M; m++)
        g->border[m] = result.merged ? 0 : ((const real *)t.v)[m];
    return result;
}

/* Code with constant sizes for common plain models (full W, not clipped, no inputs). */
#define PLAIN_MODEL(m)                                                                                       \
    ((ant_model_dims){.M = (m), .N = p->layout->dims.N, .L = p->layout->dims.L, .K = 0, .rank = 0})

static bool NAME(plain)(const ant_model_dims *d)
{
    return d->K == 0 && d->rank == 0 && !d->clipped;
}

/* A function of its own for each size: in one, they would take the compiler twice as long. */
#define CASE(m)                                                                                              \
    static NEVER_INLINE pass_result NAME(forward_##m##_)(const solve_call *p, const real *packed, group *g,  \
                                                         double merge, real *scratch)                        \
    {                                                                                                        \
        return NAME(forward_for)(PLAIN_MODEL(m), p, packed, g, merge, scratch);                              \
    }                                                                                                        \
    static NEVER_INLINE pass_result NAME(backward_##m##_)(const solve_call *p, const real *packed, group *g, \
                                                          bool loss, double floor, real *scratch,            \
                                                          double *sums)                                      \
    {                                                                                                        \
        return NAME(backward_for)(PLAIN_MODEL(m), p, packed, g, loss, floor, scratch, sums);                 \
    }
LINE_SIZES(CASE)
#undef CASE

static pass_result NAME(forward)(const solve_call *p, const real *packed, group *g, double merge,
                                 real *scratch)
{
    switch (NAME(plain)(&p->layout->dims) ? p->layout->dims.M : 0) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return NAME(forward_##m##_)(p, packed, g, merge, scratch);
        LINE_SIZES(CASE)
#undef CASE
    default:
        return NAME(forward_for)(p->layout->dims, p, packed, g, merge, scratch);
    }
}

static pass_result NAME(backward)(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                  real *scratch, double *sums)
{
    switch (NAME(plain)(&p->layout->dims) ? p->layout->dims.M : 0) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return NAME(backward_##m##_)(p, packed, g, loss, floor, scratch, sums);
        LINE_SIZES(CASE)
#undef CASE
    default:
        return NAME(backward_for)(p->layout->dims, p, packed, g, loss, floor, scratch, sums);
    }
}
#undef PLAIN_MODEL
