/*
 * piece_gaps.h - rows of the piece kernels that lack variables (spec 12).  Part of piece_simd_tmpl.c.
 *
 * In the coordinates of the kernel (piece_weights.h) the first N axes span the rows of B, for N <= M and full
 * rank.  Of a `simple` pattern (patterns.h), G is an orthonormal basis of what the missing rows of B add to
 * the span of the others, and H one of that span itself.  E = I - G G^T = H H^T on the first N axes, and 0
 * beyond, projects onto what is observed: Q^T B_o+ x_o = E Q^T B+ x with 0 for what is missing, so forcing is
 *     zeta~ = zeta + E d,    d = a (Q^T B+ x - zeta)
 * E is symmetric, so that v = w - E a w backward.  Where N axes are one vector, E is stored as a matrix: a
 * few products without a sum over lanes.  Else G or H is stored, whichever has fewer vectors: of hundreds of
 * patterns matrices would not stay in the cache.
 *
 * Otherwise, with P = Q^T B_o+ and R = B Q, forcing is
 *     zeta~ = zeta + a P (x_o - R_o zeta) = zeta - a S zeta + a P x_o,    S = P R_o.
 * A row without any value has a = 0.
 */

/* What is kept of one pattern, in ant_patterns.turned. */
typedef struct piece_pattern {
    vector *project;   /* (M, mv): S, for M <= PROJECTED */
    vector *pull;      /* (N, mv): column n of P, 0 for what is missing */
    vector *pull_rows; /* (M, nv): row m of P */
} piece_pattern;

/* What is kept of a simple pattern, before those of all others. */
typedef struct piece_basis {
    const vector *vectors; /* (seen_depth, 1): E where nv is 1; else (rank, nv): G or H */
    size_t rank;
    bool few; /* H: fewer are observed than missing */
} piece_basis;

/* Vectors of S. */
static ALWAYS_INLINE size_t projection_count(const piece_weights *w)
{
    return w->M <= PROJECTED ? w->M * w->mv : 0;
}

/* `count` vectors in reals, so that what follows them is aligned. */
static size_t whole_count(size_t count)
{
    const size_t whole = ANT_ARENA_ALIGN / sizeof(real);
    return vectors(count * LANES, whole) * whole;
}

/* Rows of E where N axes are one vector; a constant where M is one, so those beyond N are 0. */
static ALWAYS_INLINE size_t seen_depth(const size_t M)
{
    return M < LANES ? M : LANES;
}

/* Reals of E or a basis, and of the matrices of a pattern that is not simple. */
static ALWAYS_INLINE size_t basis_count(const size_t M, const size_t nv, const piece_weights *w)
{
    return whole_count(nv == 1 ? seen_depth(M) : w->N / 2 * nv);
}

static size_t matrix_count(const piece_weights *w)
{
    return whole_count(projection_count(w) + w->N * w->mv + w->M * w->nv);
}

static size_t piece_pattern_count(const ant_model_dims *d)
{
    piece_weights w;
    piece_place(d, NULL, &w);
    return basis_count(w.M, w.nv, &w) + matrix_count(&w);
}

static ALWAYS_INLINE piece_pattern pattern_at(const solve_call *p, const piece_weights *w, uint32_t pattern)
{
    const ANT_FN(ant_patterns) *q = p->patterns;
    vector *at =
        (vector *)(q->turned + q->capacity * basis_count(w->M, w->nv, w) + (pattern - 1) * matrix_count(w));
    vector *pull = at + projection_count(w);
    return (piece_pattern){.project = at, .pull = pull, .pull_rows = pull + w->N * w->mv};
}

static ALWAYS_INLINE bool is_simple(const solve_call *p, uint32_t pattern)
{
    return p->patterns->simple[pattern];
}

/* Whether it has a B_o+ of its own. */
static ALWAYS_INLINE bool is_other(const solve_call *p, uint32_t pattern)
{
    return pattern != 0 && !is_simple(p, pattern) && !ANT_FN(ant_pattern_empty)(p->patterns, pattern);
}

static ALWAYS_INLINE piece_basis basis_at(const size_t M, const size_t nv, const solve_call *p,
                                          const piece_weights *w, uint32_t pattern)
{
    const ANT_FN(ant_patterns) *q = p->patterns;
    const size_t missing = q->missing[pattern - 1], seen = w->N - missing;
    const bool few = seen < missing;
    return (piece_basis){.vectors = (const vector *)(q->turned + (pattern - 1) * basis_count(M, nv, w)),
                         .rank = few ? seen : missing,
                         .few = few};
}

/* Doubles in vectors of the machine's width: bases are made in double. */
typedef double wide __attribute__((vector_size(VECTOR_BYTES)));
enum { WIDE = VECTOR_BYTES / sizeof(double) };

/* sum of a b over `count` vectors */
static ALWAYS_INLINE double wide_dot(size_t count, const wide *a, const wide *b)
{
    wide sum = a[0] * b[0];
    for (size_t c = 1; c < count; c++)
        sum += a[c] * b[c];
    double part[2] = {0.0, 0.0};
    for (size_t i = 0; i < WIDE; i++)
        part[i % 2] += sum[i];
    return part[0] + part[1];
}

/*
 * The last of `known + 1` rows without its part along the others, which are orthonormal, and of length 1;
 * twice where much is missing.
 */
static ALWAYS_INLINE void orthonormalise(size_t count, size_t known, wide *rows)
{
    wide *x = rows + known * count;
    const double before = wide_dot(count, x, x);
    double after = before;
    for (int turn = 0; turn < 2 && known > 0; turn++) {
        for (size_t k = 0; k < known; k++) {
            const double dot = wide_dot(count, rows + k * count, x);
            for (size_t c = 0; c < count; c++)
                x[c] -= dot * rows[k * count + c];
        }
        after = wide_dot(count, x, x);
        if (after > 0.01 * before)
            break;
    }
    const double scale = 1.0 / sqrt(after);
    for (size_t c = 0; c < count; c++)
        x[c] *= scale;
}

/* E = I - G G^T or H H^T from a basis.  basis: (rank, count); row: (count) scratch */
static ALWAYS_INLINE void pack_projection(const size_t count, size_t N, piece_basis b, const wide *basis,
                                          wide *row)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t c = 0; c < count; c++)
            row[c] = (wide){0};
        ((double *)row)[i] = b.few ? 0.0 : -1.0;
        for (size_t k = 0; k < b.rank; k++) {
            const double at = ((const double *)(basis + k * count))[i];
            for (size_t c = 0; c < count; c++)
                row[c] += at * basis[k * count + c];
        }
        real *to = (real *)(uintptr_t)(b.vectors + i);
        for (size_t m = 0; m < N; m++)
            to[m] = (real)(b.few ? ((const double *)row)[m] : -((const double *)row)[m]);
    }
}

/*
 * The basis of a simple pattern: of the columns of B+ that are missing, or of the rows of B that are
 * observed. source: (2, N, count) both; rows: (N / 2 + 1, count) scratch
 */
static ALWAYS_INLINE void pack_basis_of(const size_t count, const solve_call *p, const piece_weights *w,
                                        uint32_t pattern, const wide *source, wide *rows)
{
    const size_t N = w->N, ns = w->nv * LANES;
    const piece_basis b = basis_at(w->M, w->nv, p, w, pattern);
    const wide *from = source + (b.few ? N * count : 0);
    size_t known = 0;
    for (size_t n = 0; n < N && known < b.rank; n++) {
        if (ANT_FN(ant_pattern_lacks)(p->patterns, pattern, n) == b.few)
            continue;
        for (size_t c = 0; c < count; c++)
            rows[known * count + c] = from[n * count + c];
        orthonormalise(count, known++, rows);
    }
    real *to = (real *)(uintptr_t)b.vectors;
    memset(to, 0, basis_count(w->M, w->nv, w) * sizeof *to);
    if (w->nv == 1)
        pack_projection(count, N, b, rows, rows + known * count);
    for (size_t k = 0; k < known && w->nv > 1; k++) {
        for (size_t i = 0; i < ns && i < count * WIDE; i++)
            to[k * ns + i] = (real)((const double *)(rows + k * count))[i];
    }
}

/* P and S of a pattern that is not simple. */
static void pack_pattern_matrices(const solve_call *p, const piece_weights *w, uint32_t pattern)
{
    const size_t M = w->M, N = w->N, mv = w->mv, ns = w->nv * LANES;
    const real *pinv = ANT_FN(ant_pattern_pinv)(p->patterns, pattern);
    const piece_pattern y = pattern_at(p, w, pattern);
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

/* What forcing needs of all patterns of a call. */
static void pack_patterns(const solve_call *p, const piece_weights *w)
{
    const ANT_FN(ant_forcing) *f = p->forcing;
    const size_t N = w->N, count = vectors(N, WIDE);
    wide *source = (wide *)w->bases, *rows = source + 2 * N * count;
    for (size_t n = 0; n < N && N <= w->M; n++) {
        for (size_t i = 0; i < N; i++) {
            ((double *)source)[n * count * WIDE + i] = f->u[n * N + i] / f->sigma[i];
            ((double *)source)[(N + n) * count * WIDE + i] = f->u[n * N + i] * f->sigma[i];
        }
    }
    for (uint32_t k = 1; k <= p->patterns->count; k++) {
        if (is_other(p, k))
            pack_pattern_matrices(p, w, k);
        else if (is_simple(p, k) && count == 1)
            pack_basis_of(1, p, w, k, source, rows);
        else if (is_simple(p, k) && count == 2)
            pack_basis_of(2, p, w, k, source, rows);
        else if (is_simple(p, k))
            pack_basis_of(count, p, w, k, source, rows);
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

/* out += a P x of an incomplete row.  x: (N), 0 where it is missing; out: (mv) */
static ALWAYS_INLINE void teach_incomplete(const size_t mv, const solve_call *p, const piece_weights *w,
                                           uint32_t pattern, real a, const real *x, vector *out)
{
    const piece_pattern y = pattern_at(p, w, pattern);
    for (size_t c = 0; c < mv; c++) {
        vector sum = out[c];
        for (size_t n = 0; n < w->N; n++)
            sum += a * x[n] * y.pull[n * mv + c];
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

/* add_seen by a basis. */
static ALWAYS_INLINE void add_by_basis(const size_t nv, const piece_weights *w, piece_basis b,
                                       const vector *in, vector *out)
{
    const real whole = b.few ? 0 : 1, sign = b.few ? 1 : -1;
    vector sum[2] = {{0}, {0}};
    for (size_t k = 0; k < b.rank; k++) {
        const vector *row = b.vectors + k * nv;
        vector dot = row[0] * in[0];
        for (size_t c = 1; c < nv; c++)
            dot += row[c] * in[c];
        dot = spread_sum(dot);
        for (size_t c = 0; c < nv; c++) {
            if (nv <= 2)
                sum[c] += row[c] * dot;
            else
                out[c] += sign * row[c] * dot;
        }
    }
    for (size_t c = 0; c < nv; c++)
        out[c] += whole * masked((vector_mask)w->seen[c], in[c]) + (nv <= 2 ? sign * sum[c] : (vector){0});
}

/* out += E in.  in, out: (nv) */
static ALWAYS_INLINE void add_seen(const size_t M, const size_t nv, const solve_call *p,
                                   const piece_weights *w, uint32_t pattern, const vector *in, vector *out)
{
    const piece_basis b = basis_at(M, nv, p, w, pattern);
    if (nv == 1 && w->N == 3) /* the most common */
        mix(3, 1, b.vectors, (const real *)in, out);
    else if (nv == 1)
        mix(seen_depth(M), 1, b.vectors, (const real *)in, out);
    else if (nv == 2)
        add_by_basis(2, w, b, in, out);
    else
        add_by_basis(nv, w, b, in, out);
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

/*
 * Forcing of an incomplete row: the state becomes the forced one.  teacher: a Q^T B+ x, with 0 for what is
 * missing, or a P x_o of a pattern that is not simple, and 1 at place M.  a > 0; t->row, t->gap_left: scratch
 */
static ALWAYS_INLINE void force_incomplete(const size_t M, const size_t mv, const solve_call *p,
                                           const piece_weights *w, const piece_buffers *t, uint32_t pattern,
                                           double a, const vector *teacher, vector *row)
{
    if (!is_simple(p, pattern)) {
        for (size_t c = 0; c < mv; c++) {
            t->row[c] = (real)a * row[c];
            row[c] = teacher[c] + w->keep_none[c] * row[c];
        }
        subtract_projected(M, mv, p, w, t, pattern, row);
        return;
    }
    const size_t nv = M <= LANES ? 1 : w->nv;
    vector local[SMALL_ROW], *d = __builtin_constant_p(M) ? local : t->gap_left;
    for (size_t c = 0; c < nv; c++)
        d[c] = teacher[c] - (real)a * row[c];
    for (size_t c = 0; c < mv; c++)
        row[c] = w->one[c] + w->keep_none[c] * row[c];
    if (nv == 1)
        add_seen(M, 1, p, w, pattern, d, row);
    else
        add_seen(M, nv, p, w, pattern, d, row);
}

/* row -= E t->row or S t->row, where E t->row also goes to `seen` (nv).  t->gap_left: scratch */
static ALWAYS_INLINE void subtract_seen(const size_t M, const size_t mv, const solve_call *p,
                                        const piece_weights *w, const piece_buffers *t, uint32_t pattern,
                                        vector *seen, vector *row)
{
    if (!is_simple(p, pattern)) {
        subtract_projected(M, mv, p, w, t, pattern, row);
        return;
    }
    const size_t nv = M <= LANES ? 1 : w->nv;
    vector local[SMALL_ROW], *sum = __builtin_constant_p(M) ? local : seen;
    for (size_t c = 0; c < nv; c++)
        sum[c] = (vector){0};
    if (nv == 1)
        add_seen(M, 1, p, w, pattern, t->row, sum);
    else
        add_seen(M, nv, p, w, pattern, t->row, sum);
    for (size_t c = 0; c < nv; c++) {
        row[c] -= sum[c];
        seen[c] = sum[c];
    }
}
