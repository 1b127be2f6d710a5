/*
 * piece_gap_sums.h - what incomplete rows of the piece kernels give to dB (piece_gaps.h).  Part of
 * piece_simd_tmpl.c.
 *
 * Of a simple pattern B_o+ x_o = E B+ x, so that in the terms of ant_pattern_add (patterns.h) p = B+^T w'
 * and g = B+^T q with w' = E a w and q = E B+ e.  The row gives
 *
 *     -p (zeta + q)^T + g m^T = -B+^T (w' (zeta + q)^T - q m^T),    m = a w - w'
 *
 * and all rows have the factor B+^T: what is in brackets is added where complete rows have a w zeta^T.  Both
 * projections are known from the passes: q = (zeta~ - zeta) / a.
 */

/* One row, or several of the same pattern. */
typedef struct gap_terms {
    uint32_t pattern;
    const real *pulled, *z, *error; /* (M): a w; (M): zeta; (N): e */
} gap_terms;

/*
 * dB of a row through its own B_o+, as outer products of a column (N) and a row (M): in the terms of
 * ant_pattern_add (patterns.h)
 *     -a p (zeta + q)^T + g (a m)^T + r (a u)^T
 * The first has both what passes through the error and through B_o+.  Returns how many of them are added at
 * left (3, nv) and right (3, mv).
 */
static ALWAYS_INLINE size_t gap_row(const size_t M, const size_t nv, const solve_call *p,
                                    const piece_weights *w, gap_terms of, vector *left, vector *right)
{
    const size_t N = w->N, mv = vectors(M + 1, LANES);
    const piece_pattern y = pattern_at(p, w, of.pattern);
    vector *p_minus = left, *g_column = left + nv, *q = right + mv, *m = q; /* q: until it is not needed */
    size_t count = 1;
    weigh(M, nv, y.pull_rows, of.pulled, p_minus);
    weigh(N, mv, y.pull, of.error, q);
    for (size_t c = 0; c < nv; c++)
        p_minus[c] = -p_minus[c];
    for (size_t c = 0; c < mv; c++)
        right[c] = row_vector(of.z, c) + q[c];
    if (p->patterns->over[of.pattern - 1]) {
        vector *r = left + 2 * nv, *u = right + 2 * mv;
        weigh(M, nv, w->read_columns, (const real *)q, r);
        for (size_t n = 0; n < N; n++) {
            const bool missing = ANT_FN(ant_pattern_lacks)(p->patterns, of.pattern, n);
            ((real *)r)[n] =
                missing ? 0 : ((const real *)r)[n] - of.error[n]; /* -r, as u has the sign of -p */
        }
        weigh(N, mv, y.pull, (const real *)p_minus, u);
        count = 3;
    }
    for (size_t c = 0; c < nv; c++)
        g_column[c] = (vector){0};
    if (p->patterns->under[of.pattern - 1]) {
        weigh(M, nv, y.pull_rows, (const real *)q, g_column);
        weigh(N, mv, w->read, (const real *)p_minus, m);
        for (size_t c = 0; c < mv; c++)
            m[c] += row_vector(of.pulled, c);
        count = count < 2 ? 2 : count;
    }
    return count;
}

/*
 * w' and -q to left (2, nv), zeta + q and m to right (2, mv), of row k of a tile, which is complete or of a
 * simple pattern.  kept: w' of incomplete rows of the tile, (TILE, nv); NULL: not kept
 */
static ALWAYS_INLINE void simple_row(const size_t M, const size_t nv, const solve_call *p,
                                     const piece_weights *w, const group *g, size_t first, size_t k,
                                     const real *pulled, const vector *kept, vector *left, vector *right)
{
    const size_t mv = vectors(M + 1, LANES);
    const uint32_t pattern = g->pattern[first + k];
    const real scale = (real)(1.0 / p->strength[g->begin + first + k]);
    const real *z = g->z + (first + k) * M, *forced = g->forced + (first + k) * M;
    for (size_t c = 0; c < nv; c++) {
        right[c] = row_vector(pulled, c);
        left[c] = pattern != 0 && kept != NULL ? kept[k * nv + c] : (vector){0};
        left[c] = pattern == 0 ? masked((vector_mask)w->seen[c], right[c]) : left[c];
        left[nv + c] = scale * (row_vector(z, c) - row_vector(forced, c));
    }
    if (pattern != 0 && kept == NULL) {
        for (size_t c = 0; c < nv; c++) /* beyond M is what follows in memory */
            right[c] = masked((vector_mask)w->seen[c], right[c]);
        add_seen(M, nv, p, w, pattern, right, left);
    }
    for (size_t c = 0; c < mv; c++) {
        right[c] = row_vector(z, c) - (c < nv ? left[nv + c] : (vector){0});
        right[mv + c] = row_vector(pulled, c) - (c < nv ? left[c] : (vector){0});
    }
}

/* Add the outer products of simple patterns that have been collected. */
static size_t simple_flush(const piece_weights *w, const piece_buffers *t, size_t used)
{
    outer(w->N, used, (real *)t->gap_left, w->nv * LANES, (real *)t->gap_right, w->mv * LANES, w->mv,
          t->forcing);
    return 0;
}

/* Add the outer products that have been collected. */
static size_t gap_flush(const piece_weights *w, const piece_buffers *t, size_t used)
{
    outer(w->N, used, (real *)t->gap_left, w->nv * LANES, (real *)t->gap_right, w->mv * LANES, w->mv,
          t->gaps);
    return 0;
}

/*
 * dB is linear in a w zeta^T and in a w e^T, so many rows of one pattern are M at most: row m has the m-th
 * axis for a w, and row m of both sums for zeta and e.  list: the rows, counted from `first`; pulled: from
 * row `first` on; t->gap_left and t->gap_right are empty, before and after
 */
static ALWAYS_INLINE void gap_run(const size_t M, const size_t nv, const solve_call *p,
                                  const piece_weights *w, const piece_buffers *t, const group *g,
                                  size_t first, const uint32_t *list, size_t count, const real *pulled,
                                  size_t stride)
{
    const size_t N = w->N, mv = vectors(M + 1, LANES), ms = mv * LANES, ns = nv * LANES;
    real *rows = (real *)t->run_errors, *axis = (real *)t->row;
    size_t used = 0;
    memset(t->run_states, 0, M * mv * sizeof *t->run_states);
    memset(t->run_pulls, 0, N * mv * sizeof *t->run_pulls);
    outer_listed(M, list, count, pulled, stride, g->z + first * M, M, mv, t->run_states);
    outer_listed(N, list, count, g->error + first * N, N, pulled, stride, mv, t->run_pulls);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++)
            rows[m * ns + n] = ((const real *)t->run_pulls)[n * ms + m];
        for (size_t k = 0; k < ms; k++)
            axis[k] = k == m;
        const gap_terms of = {g->pattern[first + list[0]], axis, (const real *)(t->run_states + m * mv),
                              rows + m * ns};
        used += gap_row(M, nv, p, w, of, t->gap_left + used * nv, t->gap_right + used * mv);
        if (used + 3 > GAP_ROWS)
            used = gap_flush(w, t, used);
    }
    gap_flush(w, t, used);
}

/*
 * Rows at the start of a list that have the same pattern, if they are more than `many`, else 0.  One branch,
 * which is not taken where patterns change from row to row.
 */
static ALWAYS_INLINE size_t long_run(const group *g, size_t first, const uint32_t *list, size_t count,
                                     size_t many)
{
    const uint32_t *pattern = g->pattern + first, of = pattern[list[0]];
    size_t end = 1;
    if (count <= many)
        return 0;
    if ((pattern[list[1]] != of) | (pattern[list[many / 2]] != of) | (pattern[list[many]] != of))
        return 0;
    while (end < count && pattern[list[end]] == of)
        end++;
    return end > many ? end : 0;
}

/*
 * The forced rows among `count` from `first` on that are incomplete and of simple patterns, or of others; of
 * simple patterns with the complete ones, if `all`.  Returns how many.  Without a branch, as nothing predicts
 * which rows are incomplete.
 */
static size_t list_rows(const solve_call *p, const group *g, size_t first, size_t count, bool simple,
                        bool all, uint32_t *list)
{
    size_t rows = 0;
    for (size_t k = 0; k < count; k++) {
        const uint32_t pattern = g->pattern[first + k];
        const bool forced = p->strength[g->begin + first + k] != 0.0;
        list[rows] = (uint32_t)k;
        rows += forced & (simple ? is_simple(p, pattern) | (all & (pattern == 0)) : is_other(p, pattern));
    }
    return rows;
}

/* Rows among `count` from `first` on that lack nothing. */
static size_t complete_rows(const group *g, size_t first, size_t count)
{
    size_t complete = 0;
    for (size_t k = 0; k < count; k++)
        complete += g->pattern[first + k] == 0;
    return complete;
}

/* The sums of incomplete rows of simple patterns; returns how many rows are added with that.  kept:
 * simple_row */
static ALWAYS_INLINE size_t simple_sums(const size_t M, const size_t nv, const solve_call *p,
                                        const piece_weights *w, const piece_buffers *t, const group *g,
                                        size_t first, size_t count, size_t complete, real *pulled,
                                        size_t stride, const vector *kept)
{
    const size_t mv = vectors(M + 1, LANES);
    uint32_t list[TILE];
    size_t used = 0;
    const bool all = p->patterns->all_simple && 8 * complete < count; /* as rows that lack nothing */
    const size_t rows = list_rows(p, g, first, count, true, all, list);
    for (size_t j = 0; j < rows; j++) {
        real *row = pulled + list[j] * stride;
        simple_row(M, nv, p, w, g, first, list[j], row, kept, t->gap_left + used * nv,
                   t->gap_right + used * mv);
        for (size_t m = 0; m < M; m++)
            row[m] = 0;
        used += 2;
        if (used + 2 > GAP_ROWS)
            used = simple_flush(w, t, used);
    }
    simple_flush(w, t, used);
    return all ? count : rows;
}

/* The sums of incomplete rows of other patterns; returns how many there are. */
static ALWAYS_INLINE size_t other_sums(const size_t M, const size_t nv, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, const group *g,
                                       size_t first, size_t count, real *pulled, size_t stride)
{
    const size_t mv = vectors(M + 1, LANES);
    uint32_t list[TILE];
    size_t used = 0;
    const size_t rows = list_rows(p, g, first, count, false, false, list);
    for (size_t j = 0; j < rows;) {
        const size_t run = long_run(g, first, list + j, rows - j, 2 * M + 2), end = j + (run > 0 ? run : 1);
        if (run > 0) {
            used = gap_flush(w, t, used);
            gap_run(M, nv, p, w, t, g, first, list + j, run, pulled, stride);
        } else {
            const size_t i = first + list[j];
            const gap_terms of = {g->pattern[i], pulled + list[j] * stride, g->z + i * M,
                                  g->error + i * w->N};
            used += gap_row(M, nv, p, w, of, t->gap_left + used * nv, t->gap_right + used * mv);
            if (used + 3 > GAP_ROWS)
                used = gap_flush(w, t, used);
        }
        for (; j < end; j++) {
            for (size_t m = 0; m < M; m++)
                pulled[list[j] * stride + m] = 0;
        }
    }
    gap_flush(w, t, used);
    return rows;
}

static ALWAYS_INLINE size_t gap_sums_for(const size_t M, const size_t nv, const solve_call *p,
                                         const piece_weights *w, const piece_buffers *t, const group *g,
                                         size_t first, size_t count, real *pulled, size_t stride,
                                         const vector *kept)
{
    size_t rows = 0;
    for (size_t at = 0; at < count; at += TILE) { /* where two threads share a sequence, there are more */
        const size_t part = count - at < TILE ? count - at : TILE;
        const size_t complete = complete_rows(g, first + at, part);
        real *row = pulled + at * stride;
        if (complete == part)
            continue;
        if (w->N <= M)
            rows += simple_sums(M, nv, p, w, t, g, first + at, part, complete, row, stride, kept);
        if (!p->patterns->all_simple)
            rows += other_sums(M, nv, p, w, t, g, first + at, part, row, stride);
    }
    return rows;
}

#define CASE(m)                                                                                              \
    static NEVER_INLINE size_t gap_sums_##m(const solve_call *p, const piece_weights *w,                     \
                                            const piece_buffers *t, const group *g, size_t first,            \
                                            size_t count, real *pulled, size_t stride, const vector *kept)   \
    {                                                                                                        \
        return gap_sums_for(m, 1, p, w, t, g, first, count, pulled, stride, kept);                           \
    }
COMMON_SIZES(CASE)
#undef CASE

/*
 * The sums of incomplete rows among first .. first+count-1, whose a w is then set to 0 for the sums of the
 * others.  Returns how many rows have been added.  pulled: a w of these rows, `stride` apart; kept:
 * simple_row
 */
static size_t gap_sums(const solve_call *p, const piece_weights *w, const piece_buffers *t, const group *g,
                       size_t first, size_t count, real *pulled, size_t stride, const vector *kept)
{
    switch (w->nv == 1 ? w->M : 0) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return gap_sums_##m(p, w, t, g, first, count, pulled, stride, kept);
        COMMON_SIZES(CASE)
#undef CASE
    default:
        return gap_sums_for(w->M, w->nv, p, w, t, g, first, count, pulled, stride, kept);
    }
}
