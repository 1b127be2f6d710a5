/*
 * piece_gaps.h - rows of the piece kernels that lack variables (spec 12).  Part of piece_simd_tmpl.c.
 *
 * In the coordinates of the kernel (piece_weights.h), with P = Q^T B_o+ and R = B Q, forcing is
 *     zeta~ = zeta + a P (x_o - R_o zeta) = zeta - a S zeta + a P x_o,    S = P R_o.
 * S projects onto what is observed.  It is symmetric, so that v = w - a S w backward.  S is not diagonal, as
 * Q belongs to the whole B; it is multiplied at incomplete rows alone.  A row without any value has a = 0.
 */

/* What is kept of one pattern, in ant_patterns.turned. */
typedef struct piece_pattern {
    vector *project;   /* (M, mv): S, for M <= PROJECTED */
    vector *pull;      /* (N, mv): column n of P, 0 for what is missing */
    vector *pull_rows; /* (M, nv): row m of P */
} piece_pattern;

/* Vectors of S. */
static ALWAYS_INLINE size_t projection_count(const piece_weights *w)
{
    return w->M <= PROJECTED ? w->M * w->mv : 0;
}

static size_t piece_pattern_count(const ant_model_dims *d)
{
    piece_weights w;
    piece_place(d, NULL, &w);
    const size_t whole = ANT_ARENA_ALIGN / sizeof(real); /* so that every pattern is aligned */
    return vectors((projection_count(&w) + w.N * w.mv + w.M * w.nv) * LANES, whole) * whole;
}

static ALWAYS_INLINE piece_pattern pattern_at(const solve_call *p, const piece_weights *w, uint32_t pattern)
{
    vector *at = (vector *)(p->patterns->turned + (size_t)(pattern - 1) * p->patterns->turned_count);
    vector *pull = at + projection_count(w);
    return (piece_pattern){.project = at, .pull = pull, .pull_rows = pull + w->N * w->mv};
}

/* P and S of all patterns of a call. */
static void pack_patterns(const solve_call *p, const piece_weights *w)
{
    const size_t M = w->M, N = w->N, mv = w->mv, ns = w->nv * LANES;
    for (uint32_t k = 1; p->patterns != NULL && k <= p->patterns->count; k++) {
        const real *pinv = ANT_FN(ant_pattern_pinv)(p->patterns, k);
        const piece_pattern y = pattern_at(p, w, k);
        real *rows = (real *)y.pull_rows;
        memset(rows, 0, M * ns * sizeof *rows);
        for (size_t n = 0; n < N; n++) {
            combine(M, mv, w->basis_rows, pinv + n, N, y.pull + n * mv);
            for (size_t m = 0; m < M; m++)
                rows[m * ns + n] = ((const real *)(y.pull + n * mv))[m];
        }
        for (size_t m = 0; m < M && M <= PROJECTED; m++)
            combine(N, mv, w->read, rows + m * ns, 1, y.project + m * mv);
    }
}

/* The pattern of row i of a group; 0: it is complete. */
static ALWAYS_INLINE uint32_t pattern_of(const group *g, size_t i)
{
    return g->pattern == NULL ? 0 : g->pattern[i];
}

/* The pattern of row i if something of it is observed, else 0.  a: its strength, 0 where nothing is */
static ALWAYS_INLINE uint32_t forced_pattern(const solve_call *p, const group *g, size_t i, double *a)
{
    const uint32_t pattern = pattern_of(g, i);
    const bool empty = pattern != 0 && ANT_FN(ant_pattern_empty)(p->patterns, pattern);
    *a = empty ? 0.0 : p->strength[g->begin + i];
    return *a == 0.0 ? 0 : pattern;
}

/* x of a row, 0 where it is missing. */
static ALWAYS_INLINE real there(real x)
{
    return x == x ? x : 0;
}

/* out += a P x of an incomplete row.  x: (N); out: (mv) */
static ALWAYS_INLINE void teach_incomplete(const size_t mv, const solve_call *p, const piece_weights *w,
                                           uint32_t pattern, real a, const real *x, vector *out)
{
    const piece_pattern y = pattern_at(p, w, pattern);
    for (size_t c = 0; c < mv; c++) {
        vector sum = out[c];
        for (size_t n = 0; n < w->N; n++)
            sum += a * there(x[n]) * y.pull[n * mv + c];
        out[c] = sum;
    }
}

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

/* row -= S t->row.  t->gap_left: scratch */
static ALWAYS_INLINE void subtract_projected(const size_t M, const size_t mv, const solve_call *p,
                                             const piece_weights *w, const piece_buffers *t, uint32_t pattern,
                                             vector *row)
{
    const piece_pattern y = pattern_at(p, w, pattern);
    const real *from = (const real *)t->row;
    const vector *matrix = y.project;
    size_t depth = M;
    if (M > PROJECTED) { /* S = P R: of all patterns, S would not stay in the cache */
        weigh(M, w->nv, w->read_columns, from, t->gap_left);
        from = (const real *)t->gap_left;
        matrix = y.pull;
        depth = w->N;
    }
    for (size_t c = 0; c < mv; c++) {
        vector part[2] = {row[c], {0}}; /* each addition depends on the one before */
        for (size_t k = 0; k < depth; k++)
            part[k % 2] -= from[k] * matrix[k * mv + c];
        row[c] = part[0] + part[1];
    }
}
