/*
 * piece_forward.h - the forward pass of the piece kernels: states, signs of hidden units, errors.  Part of
 * piece_simd_tmpl.c.
 */

/* Sizes of the hidden layer; constants after inlining where they are common. */
typedef struct shape {
    size_t lv, words;
    bool clipped;
} shape;

/* |V zeta~ + b|, and |V zeta~| behind it when clipped, to `sums` (units); the bits of the signs to `now`. */
static ALWAYS_INLINE void hidden(const size_t M, const shape k, const piece_weights *w, const real *forced,
                                 vector *sums, uint64_t *now)
{
    const size_t half = k.words / 2, second = k.words * WORD / 2 / LANES;
    for (size_t q = 0; q < k.words; q++)
        now[q] = 0;
    for (size_t at = 0; at < k.lv; at += WIDE_TILE) {
        vector acc[WIDE_TILE];
        const size_t word = at * LANES / WORD, shift = at * LANES % WORD;
        for (size_t c = 0; c < WIDE_TILE; c++)
            acc[c] = k.clipped ? (vector){0} : w->b[at + c];
        for (size_t i = 0; i < M; i++) {
            for (size_t c = 0; c < WIDE_TILE; c++)
                acc[c] += forced[i] * w->V[i * k.lv + at + c];
        }
        for (size_t c = 0; c < WIDE_TILE; c++) {
            if (k.clipped) {
                now[half + word] |= positive_bits(acc[c]) << (shift + c * LANES);
                sums[second + at + c] = magnitude(acc[c]);
                acc[c] += w->b[at + c];
            }
            now[word] |= positive_bits(acc[c]) << (shift + c * LANES);
            sums[at + c] = magnitude(acc[c]);
        }
    }
}

/* e = x - B z for rows first .. last-1 of the segment, without those that no gradient uses. */
static ALWAYS_INLINE void observe(const size_t M, const solve_call *p, const piece_weights *w, group *g,
                                  size_t first, size_t last)
{
    const size_t N = w->N;
    const bool fixed = __builtin_constant_p(M), gaps = g->pattern != NULL;
    if (p->teacher == ANT_TEACHER_STOP && g->begin + first <= p->warmup)
        first = p->warmup + 1 - g->begin;
    for (size_t c = 0; c < w->nv; c++) {
        const size_t at = c * LANES, count = N - at < LANES ? N - at : LANES;
        vector local[SMALL];
        for (size_t k = 0; k < M && fixed; k++)
            local[k] = w->read_columns[k * w->nv + c];
        for (size_t i = first; i < last; i++) {
            vector part[2] = {{0}, {0}}; /* each addition depends on the one before */
            for (size_t k = 0; k < M; k++)
                part[k % 2] += g->z[i * M + k] * (fixed ? local[k] : w->read_columns[k * w->nv + c]);
            const vector x = load_lanes(g->x + i * N + at, count), error = x - (part[0] + part[1]);
            const vector_mask seen = x == x; /* NOLINT(misc-redundant-expression): NaN */
            store_lanes(g->error + i * N + at, gaps ? masked(seen, error) : error, count);
        }
    }
}

/* observe, with constant sizes for common M. */
static NEVER_INLINE void piece_observe(const solve_call *p, const real *packed, group *g, size_t first,
                                       size_t last)
{
    piece_weights w;
    piece_place(&p->layout->dims, packed, &w);
    switch (w.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        observe(m, p, &w, g, first, last);                                                                   \
        break;
        COMMON_SIZES(CASE)
#undef CASE
    default:
        observe(w.M, p, &w, g, first, last);
    }
}

/*
 * How many units may have switched in `steps` steps before dense products are faster: the vector operations
 * of a dense step over those of a switch, from the measurements in docs/notebook/cpu-kernels.md.
 */
static size_t most_switches(const piece_weights *w, size_t steps)
{
    const size_t dense = 6 * w->M * w->lv + 150, each = 3 * w->M * w->mv + 10;
    const size_t fresh = (steps / TILE + 1) * w->units;
    return steps * dense / each + fresh;
}

/* to = x, 0 where it is missing.  x: (count); to: whole vectors */
static ALWAYS_INLINE void fill_missing(size_t count, const real *x, vector *to)
{
    for (size_t k = 0; k < count; k += LANES) {
        const vector row = load_lanes(x + k, count - k < LANES ? count - k : LANES);
        to[k / LANES] = masked(row == row, row); /* NOLINT(misc-redundant-expression): NaN */
    }
}

/* What the teacher adds to the forced states of steps first .. last-1. */
static ALWAYS_INLINE void tile_teach(const size_t mv, const solve_call *p, const piece_weights *w,
                                     const piece_buffers *t, const group *g, size_t first, size_t last)
{
    const real *x = g->x + first * w->N;
    const bool gaps = g->pattern != NULL, together = gaps && w->N <= mv * LANES; /* where there is room */
    if (together) {
        fill_missing((last - first) * w->N, x, t->tile_v);
        x = (const real *)t->tile_v;
    }
    for (size_t i = first; i < last; i++, x += w->N) {
        double a;
        const uint32_t pattern = forced_pattern(p, g, i, &a);
        const vector *pull = a == 1.0 ? w->pull_full : w->pull;
        const bool own = pattern != 0 && !is_simple(p, pattern);
        const size_t N = a == 0.0 || own ? 0 : w->N;
        if (gaps && !together)
            fill_missing(w->N, x, t->run_errors);
        const real *row = gaps && !together ? (const real *)t->run_errors : x;
        for (size_t c = 0; c < mv; c++) {
            vector sum = w->one[c];
            for (size_t n = 0; n < N; n++)
                sum += row[n] * pull[n * mv + c];
            t->tile_teacher[(i - first) * mv + c] = sum;
        }
        if (own)
            teach_incomplete(mv, p, w, pattern, (real)a, row, t->tile_teacher + (i - first) * mv);
    }
}

/* tile_teach, with constant sizes for up to three vectors. */
static NEVER_INLINE void teach(const solve_call *p, const piece_weights *w, const piece_buffers *t,
                               const group *g, size_t first, size_t last)
{
    if (w->mv == 1)
        tile_teach(1, p, w, t, g, first, last);
    else if (w->mv == 2)
        tile_teach(2, p, w, t, g, first, last);
    else if (w->mv == 3)
        tile_teach(3, p, w, t, g, first, last);
    else
        tile_teach(w->mv, p, w, t, g, first, last);
}

/* Units that have switched change J and, by what the earlier J has left out, the state. */
static ALWAYS_INLINE size_t switch_forward(const size_t M, const size_t mv, const shape k,
                                           const piece_weights *w, const uint64_t *before,
                                           const uint64_t *now, const real *sums, vector *J, vector *next)
{
    size_t count = 0;
    for (size_t q = 0; q < k.words; q += 2) {
        for (switched s = switched_at(k.words, q, before, now); switched_left(&s); count++) {
            const size_t unit = switched_next(&s);
            const real sign = sign_of(now, unit), *row = (const real *)(w->rows + unit * mv);
            for (size_t c = 0; c < mv; c++) {
                const vector column = w->columns[unit * mv + c], change = sign * column;
                next[c] += sums[unit] * column; /* J z~ lacks it, or has -it, of a unit that has switched */
                for (size_t j = 0; j <= M; j++)
                    J[j * mv + c] += row[j] * change;
            }
        }
    }
    return count;
}

/* Whether no place of z differs from the stored row by more than `merge`. */
static ALWAYS_INLINE bool row_met(const size_t M, const vector *z, const real *stored, real merge)
{
    uint64_t apart = 0;
    for (size_t c = 0; c * LANES < M; c++) {
        const size_t count = M - c * LANES < LANES ? M - c * LANES : LANES;
        const vector difference = magnitude(z[c] - load_lanes(stored + c * LANES, count));
        apart |= ~positive_bits(merge - difference) & ((UINT64_C(1) << count) - 1); /* NaN is apart */
    }
    return apart == 0;
}

/*
 * An incomplete row of a simple pattern, with three variables and a state of one vector: the state z becomes
 * the forced state, and J z~ is returned.  The state waits for J and not for E: z~ = u + sum_k d_k E_k,    J
 * z~ = J u + sum_k d_k (J E)_k,    u = z, then 1 where J E, known before z, costs nine products.
 */
static ALWAYS_INLINE vector force_ahead(const size_t M, const solve_call *p, const piece_weights *w,
                                        uint32_t pattern, double a, const vector *teacher, const vector *J,
                                        vector *z)
{
    enum { VARIABLES = 3 };
    const vector *E = basis_at(M, 1, p, w, pattern).vectors;
    const vector u = w->one[0] + w->keep_none[0] * z[0], d = teacher[0] - (real)a * z[0];
    const vector both[2] = {u, d};
    const real *x = (const real *)both, *y = x + LANES;
    vector part[4] = {u, {0}, {0}, {0}}, forced[2] = {u, {0}};
    for (size_t k = 0; k <= M; k++)
        part[k % 4] += x[k] * J[k];
    for (size_t k = 0; k < VARIABLES; k++) {
        vector ahead = E[k];
        for (size_t n = 0; n < VARIABLES; n++)
            ahead += ((const real *)(E + k))[n] * J[n];
        part[(k + 2) % 4] += y[k] * ahead;
        forced[k % 2] += y[k] * E[k];
    }
    z[0] = forced[0] + forced[1];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* Steps first .. last-1 from t->z; false when it has met the stored trajectory, after result->steps steps. */
static ALWAYS_INLINE bool tile_forward(const size_t M, const shape k, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, group *g, double merge,
                                       size_t first, size_t last, pass_result *result)
{
    uint64_t before[ANT_MASK_WORDS] = {0}, now[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES);
    const bool fixed = __builtin_constant_p(M);
    vector local_J[SMALL], local_z[SMALL_ROW], *J = fixed ? local_J : t->jacobian,
                                               *z = fixed ? local_z : t->z;
    for (size_t c = 0; c < mv; c++)
        z[c] = t->z[c];
    for (size_t j = 0; j < (M + 1) * mv; j++)
        J[j] = w->affine[j];
    teach(p, w, t, g, first, last);
    for (size_t i = first; i < last; i++) {
        double a;
        const uint32_t pattern = forced_pattern(p, g, i, &a);
        const vector *teacher = t->tile_teacher + (i - first) * mv;
        const vector *keep = keep_for(w, a);
        for (size_t c = 0; c < mv && pattern == 0; c++)
            z[c] = teacher[c] + keep[c] * z[c];
        const bool ahead = LANES > 3 && mv == 1 && pattern != 0 && w->N == 3 && is_simple(p, pattern);
        vector next = {0};
        if (ahead)
            next = force_ahead(M, p, w, pattern, a, teacher, J, z);
        else if (pattern != 0)
            force_incomplete(M, mv, p, w, t, pattern, a, teacher, z);
        for (size_t c = 0; c < mv; c++)
            t->row[c] = z[c];
        store_row(M, z, g->forced + i * M);
        const real *forced = (const real *)t->row;
        hidden(M, k, w, forced, t->before_relu, now);
        if (ahead)
            z[0] = next;
        else
            mix(M + 1, mv, J, forced, z);
        result->switches += switch_forward(M, mv, k, w, before, now, (const real *)t->before_relu, J, z);
        if (w->K > 0)
            mix(w->K, mv, w->inputs, g->s + i * w->K, z);
        for (size_t q = 0; q < k.words; q++)
            g->masks[i * k.words + q] = before[q] = now[q];
        if (merge >= 0.0 && row_met(M, z, g->z + (i + 1) * M, (real)merge)) {
            for (size_t c = 0; c < mv; c++)
                t->row[c] = z[c];
            result->difference = ANT_FN(ant_largest_difference)((const real *)t->row, g->z + (i + 1) * M, M);
            result->merged = true;
            result->steps = i + 1;
            return false;
        }
        store_row(M, z, g->z + (i + 1) * M);
    }
    for (size_t c = 0; c < mv; c++)
        t->z[c] = z[c];
    return true;
}

/* Steps first .. last-1 from the row `from`; result->steps is the step at which it ended. */
static ALWAYS_INLINE pass_result advance_for(const size_t M, const shape k, const solve_call *p,
                                             const real *packed, group *g, const real *from, size_t first,
                                             size_t last, double merge, bool attempt, real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    memset(t.z, 0, w.mv * sizeof *t.z);
    copy_reals((real *)t.z, from, M);
    pass_result result = {.steps = first};
    while (result.steps < last && !result.merged && !result.refused) {
        const size_t begin = result.steps, end = (begin / TILE + 1) * TILE;
        const size_t stop = end < last ? end : last;
        result.steps = stop;
        tile_forward(M, k, p, &w, &t, g, merge, begin, stop, &result);
        if (g->error != NULL)
            piece_observe(p, packed, g, begin == 0 ? 0 : begin + 1, result.merged ? result.steps : stop + 1);
        result.refused = attempt && result.switches > most_switches(&w, result.steps - first);
    }
    if (!result.merged) { /* row `first` of g->z may be another thread's */
        const double start = largest_of(from, M);
        const double rest = largest_of(g->z + (first + 1) * M, (result.steps - first) * M);
        result.size = rest <= start || isnan(start) ? start : rest;
    }
    return result;
}

/* A function of its own for each size: one of them all would take the compiler twice as long. */
#define PIECE_ADVANCE(m, name, ...)                                                                          \
    static NEVER_INLINE pass_result name(const shape k, const solve_call *p, const real *packed, group *g,   \
                                         const real *from, size_t first, size_t last, double merge,          \
                                         bool attempt, real *scratch)                                        \
    {                                                                                                        \
        const shape own = __VA_ARGS__;                                                                       \
        (void)k;                                                                                             \
        return advance_for(m, own, p, packed, g, from, first, last, merge, attempt, scratch);                \
    }
#define CASE(m)                                                                                              \
    PIECE_ADVANCE(m, advance_one_##m, {.lv = WIDE_TILE, .words = 1})                                         \
    PIECE_ADVANCE(m, advance_two_##m,                                                                        \
                  {.lv = 2 * WIDE_TILE, .words = (2 * WIDE_TILE * LANES + WORD - 1) / WORD})                 \
    PIECE_ADVANCE(m, advance_any_##m, k)
COMMON_SIZES(CASE)
#undef CASE

/* Whether the units of a plain model fill so many tiles. */
static inline bool plain_tiles(const shape k, size_t tiles)
{
    return !k.clipped && k.lv == tiles * WIDE_TILE;
}

static pass_result piece_advance(const solve_call *p, const real *packed, group *g, const real *from,
                                 size_t first, size_t last, double merge, bool attempt, real *scratch)
{
    piece_weights w;
    piece_place(&p->layout->dims, packed, &w);
    const shape k = {.lv = w.lv, .words = w.words, .clipped = w.clipped};
    switch (w.M) {
#define CASE(m)                                                                                              \
    case m:                                                                                                  \
        return (plain_tiles(k, 1) ? advance_one_##m                                                          \
                : plain_tiles(k, 2)                                                                          \
                    ? advance_two_##m                                                                        \
                    : advance_any_##m)(k, p, packed, g, from, first, last, merge, attempt, scratch);
        COMMON_SIZES(CASE)
#undef CASE
    default:
        return advance_for(w.M, k, p, packed, g, from, first, last, merge, attempt, scratch);
    }
}

static pass_result piece_forward(const solve_call *p, const real *packed, group *g, double merge,
                                 bool attempt, real *scratch)
{
    return piece_advance(p, packed, g, g->z, 0, g->length, merge, attempt, scratch);
}
