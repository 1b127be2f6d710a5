/*
 * piece_gap_sums.h - what incomplete rows of the piece kernels give to dB (piece_gaps.h).  Part of
 * piece_simd_tmpl.c.
 */

/* out = sum_k x_k w[k, :] over `depth` rows of `width` vectors. */
static ALWAYS_INLINE void weigh(const size_t depth, const size_t width, const vector *w, const real *x,
                                vector *out)
{
    for (size_t c = 0; c < width; c++) {
        vector even = {0}, odd = {0}; /* each addition depends on the one before */
        size_t k = 0;
        for (; k + 2 <= depth; k += 2) {
            even += x[k] * w[k * width + c];
            odd += x[k + 1] * w[(k + 1) * width + c];
        }
        if (k < depth)
            even += x[k] * w[k * width + c];
        out[c] = even + odd;
    }
}

/*
 * dB of row i through its own B_o+, with a w in `pulled`, as outer products of a column (N) and a row (M): in
 * the terms of ant_pattern_add (patterns.h)
 *     -a p (zeta + q)^T + g (a m)^T + r (a u)^T
 * The first has both what passes through the error and through B_o+.  Returns how many of them are added at
 * left (3, nv) and right (3, mv).
 */
static ALWAYS_INLINE size_t gap_row(const size_t M, const size_t nv, const solve_call *p,
                                    const piece_weights *w, const group *g, size_t i, uint32_t pattern,
                                    const real *pulled, vector *left, vector *right)
{
    const size_t N = w->N, mv = vectors(M + 1, LANES);
    const piece_pattern y = pattern_at(p, w, pattern);
    const real *error = g->error + i * N;
    vector *p_minus = left, *g_column = left + nv, *q = right + mv, *m = q; /* q: until it is not needed */
    size_t count = 1;
    weigh(M, nv, y.pull_rows, pulled, p_minus);
    weigh(N, mv, y.pull, error, q);
    for (size_t c = 0; c < nv; c++)
        p_minus[c] = -p_minus[c];
    for (size_t c = 0; c < mv; c++)
        right[c] = row_vector(g->z + i * M, c) + q[c];
    if (p->patterns->over[pattern - 1]) {
        vector *r = left + 2 * nv, *u = right + 2 * mv;
        weigh(M, nv, w->read_columns, (const real *)q, r);
        for (size_t n = 0; n < N; n++) {
            const bool lost = ANT_FN(ant_pattern_lacks)(p->patterns, pattern, n);
            ((real *)r)[n] = lost ? 0 : ((const real *)r)[n] - error[n]; /* -r, as u has the sign of -p */
        }
        weigh(N, mv, y.pull, (const real *)p_minus, u);
        count = 3;
    }
    for (size_t c = 0; c < nv; c++)
        g_column[c] = (vector){0};
    if (p->patterns->narrow[pattern - 1]) {
        weigh(M, nv, y.pull_rows, (const real *)q, g_column);
        weigh(N, mv, w->read, (const real *)p_minus, m);
        for (size_t c = 0; c < mv; c++)
            m[c] += row_vector(pulled, c);
        count = count < 2 ? 2 : count;
    }
    return count;
}

static ALWAYS_INLINE size_t gap_sums_for(const size_t M, const size_t nv, const solve_call *p,
                                         const piece_weights *w, const piece_buffers *t, const group *g,
                                         size_t first, size_t count, real *pulled, size_t stride)
{
    const size_t mv = vectors(M + 1, LANES);
    size_t rows = 0, used = 0;
    for (size_t k = 0; k < count; k++) {
        double a;
        const uint32_t pattern = forced_pattern(p, g, first + k, &a);
        if (pattern == 0)
            continue;
        real *row = pulled + k * stride;
        vector *left = t->gap_left + used * nv, *right = t->gap_right + used * mv;
        used += gap_row(M, nv, p, w, g, first + k, pattern, row, left, right);
        for (size_t m = 0; m < M; m++)
            row[m] = 0;
        rows++;
        if (used + 3 > GAP_ROWS) {
            outer(w->N, used, (real *)t->gap_left, nv * LANES, (real *)t->gap_right, mv * LANES, mv, t->gaps);
            used = 0;
        }
    }
    outer(w->N, used, (real *)t->gap_left, nv * LANES, (real *)t->gap_right, mv * LANES, mv, t->gaps);
    return rows;
}

/*
 * The sums of incomplete rows among first .. first+count-1, whose a w is then set to 0 for the sums of the
 * others.  Returns how many there are.  pulled: a w of these rows, `stride` apart
 */
static size_t gap_sums(const solve_call *p, const piece_weights *w, const piece_buffers *t, const group *g,
                       size_t first, size_t count, real *pulled, size_t stride)
{
    switch (w->M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        if (w->nv == 1)                                                                                      \
            return gap_sums_for(m, 1, p, w, t, g, first, count, pulled, stride);                             \
        return gap_sums_for(m, w->nv, p, w, t, g, first, count, pulled, stride);
        PIECE_SIZES(CASE)
#undef CASE
    default:
        return gap_sums_for(w->M, w->nv, p, w, t, g, first, count, pulled, stride);
    }
}
