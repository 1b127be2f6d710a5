/*
 * piece_backward.h - the backward pass of the piece kernels: adjoints, and the sums of which piece_sums.h
 * makes gradients.  Part of piece_simd_tmpl.c.
 */

/*
 * sums[j, :] += sum over `count` steps of left_j right.  list: these steps; NULL: all from 0 on
 * left: (count, left_stride); right: reals, too
 */
static ALWAYS_INLINE void outer_rows(const size_t rows, const uint32_t *list, size_t count, const real *left,
                                     size_t left_stride, const real *right, size_t right_stride, size_t mv,
                                     vector *sums)
{
    for (size_t c = 0; c < mv; c++) {
        vector acc[4];
        for (size_t j = 0; j < rows; j++)
            acc[j] = sums[j * mv + c];
        for (size_t i = 0; i < count; i++) {
            const size_t k = list == NULL ? i : list[i];
            const vector row = row_vector(right + k * right_stride, c);
            for (size_t j = 0; j < rows; j++)
                acc[j] += left[k * left_stride + j] * row;
        }
        for (size_t j = 0; j < rows; j++)
            sums[j * mv + c] = acc[j];
    }
}

static ALWAYS_INLINE void outer_for(size_t rows, const uint32_t *list, size_t count, const real *left,
                                    size_t left_stride, const real *right, size_t right_stride, size_t mv,
                                    vector *sums)
{
    size_t j = 0;
    for (; j + 4 <= rows; j += 4)
        outer_rows(4, list, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
    for (; j + 2 <= rows; j += 2)
        outer_rows(2, list, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
    if (j < rows)
        outer_rows(1, list, count, left + j, left_stride, right, right_stride, mv, sums + j * mv);
}

static void outer(size_t rows, size_t count, const real *left, size_t left_stride, const real *right,
                  size_t right_stride, size_t mv, vector *sums)
{
    outer_for(rows, NULL, count, left, left_stride, right, right_stride, mv, sums);
}

static void outer_listed(size_t rows, const uint32_t *list, size_t count, const real *left,
                         size_t left_stride, const real *right, size_t right_stride, size_t mv, vector *sums)
{
    outer_for(rows, list, count, left, left_stride, right, right_stride, mv, sums);
}

#include "solve/piece_gap_sums.h"

/*
 * The sums of steps first .. first+count-1 that need no more than v, w, z and e.
 * v, w: rows of these steps, `stride` apart; kept: of incomplete rows (piece_gap_sums.h)
 */
static void tile_sums(const solve_call *p, const piece_weights *w, const piece_buffers *t, const group *g,
                      bool loss, size_t first, size_t count, const real *v, real *pulled, size_t stride,
                      const vector *kept)
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
        if (g->pattern != NULL && gap_sums(p, w, t, g, first, count, pulled, stride, kept) == count)
            count = 0;
        outer(M < N ? M : N, count, pulled, stride, g->z + first * M, M, mv, t->forcing);
        outer(N, count, g->error + first * N, N, pulled, stride, mv, t->pinv);
        for (size_t k = 0; k < count && g->pulled != NULL; k++) {
            for (size_t m = 0; m < M; m++)
                g->pulled[(first + k) * M + m] += pulled[k * stride + m];
        }
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

/* state: v after step i, then before it; pulled = a w; seen: (nv), E a w of an incomplete row. */
static ALWAYS_INLINE void adjoint_step(const size_t M, const size_t mv, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, const group *g,
                                       bool loss, size_t i, const vector *J, const real *v, vector *state,
                                       vector *pulled, vector *seen)
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
        subtract_seen(M, mv, p, w, t, pattern, seen, state);
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
            adjoint_step(M, mv, p, w, t, g, loss, i, J, (const real *)kept, state, pulled,
                         t->tile_teacher + (i - first) * w->nv);
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
            subtract_seen(M, mv, p, w, t, pattern, t->run_errors, state);
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
    result->difference = largest_of((const real *)t->state, M);
    result->size = result->difference <= result->size ? result->size : result->difference;
    const bool lossless = !loss || g->begin + first <= p->warmup + 1;
    result->merged = lossless && result->difference <= (loss ? (double)REAL_EPSILON * result->size : floor);
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
                  mv * LANES, t.tile_teacher);
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
    tile_sums(p, &w, &t, g, true, first, end - first, g->v + first * M, g->w + first * M, M, NULL);
}

/* Each size as a function of its own (piece_forward.h). */
#define CASE(m)                                                                                              \
    static NEVER_INLINE pass_result backward_##m(const solve_call *p, const real *packed, group *g,          \
                                                 bool loss, double floor, real *scratch, double *sums)       \
    {                                                                                                        \
        return backward_for(m, p, packed, g, loss, floor, scratch, sums);                                    \
    }
COMMON_SIZES(CASE)
#undef CASE

static pass_result piece_backward(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                  real *scratch, double *sums)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return backward_##m(p, packed, g, loss, floor, scratch, sums);
        COMMON_SIZES(CASE)
#undef CASE
    default:
        return backward_for(p->layout->dims.M, p, packed, g, loss, floor, scratch, sums);
    }
}

#define PIECE_ADJOINT(m, name, count)                                                                        \
    static NEVER_INLINE void name(size_t words, const solve_call *p, const real *packed, group *g,           \
                                  size_t first, size_t end, real *scratch, pass_result *result)              \
    {                                                                                                        \
        (void)words;                                                                                         \
        adjoint_for(m, count, p, packed, g, first, end, scratch, result);                                    \
    }
#define CASE(m)                                                                                              \
    PIECE_ADJOINT(m, adjoint_two_##m, 2)                                                                     \
    PIECE_ADJOINT(m, adjoint_any_##m, words)
COMMON_SIZES(CASE)
#undef CASE

static void piece_adjoint(const solve_call *p, const real *packed, group *g, size_t first, size_t end,
                          real *scratch, pass_result *result)
{
    const size_t words = piece_mask_words(&p->layout->dims);
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        (words == 2 ? adjoint_two_##m : adjoint_any_##m)(words, p, packed, g, first, end, scratch, result);  \
        break;
        COMMON_SIZES(CASE)
#undef CASE
    default:
        adjoint_for(p->layout->dims.M, words, p, packed, g, first, end, scratch, result);
    }
}

#define CASE(m)                                                                                              \
    static NEVER_INLINE void gather_##m(const solve_call *p, const real *packed, group *g, size_t first,     \
                                        size_t end, real *scratch)                                           \
    {                                                                                                        \
        gather_for(m, p, packed, g, first, end, scratch);                                                    \
    }
COMMON_SIZES(CASE)
#undef CASE

static void piece_gather(const solve_call *p, const real *packed, group *g, size_t first, size_t end,
                         real *scratch)
{
    switch (p->layout->dims.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        gather_##m(p, packed, g, first, end, scratch);                                                       \
        break;
        COMMON_SIZES(CASE)
#undef CASE
    default:
        gather_for(p->layout->dims.M, p, packed, g, first, end, scratch);
    }
}
