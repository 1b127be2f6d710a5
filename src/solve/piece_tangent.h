/*
 * piece_tangent.h - the derivative of a segment: D = dz_end / dz_start.  Part of piece_simd_tmpl.c.
 *
 * The masks of the forward pass say which units are on, so J follows from step to step as in the other
 * passes, and tangent vectors go through it: x <- J keep o x.  Forcing makes most directions vanish, so D is
 * kept as X C with X (M, rank), the vectors that go through the steps, and C (rank, M).  X begins as the M
 * unit vectors.  After 1, 2, 4, 8 .. tiles an orthogonal basis takes the place of X, without the directions
 * that give less than rounding to D.  When none is left, the segment has forgotten its start, and D is 0.
 */

enum { TANGENTS = 16 };   /* the largest M for which D is computed */
enum { TANGENT_ROW = 9 }; /* vectors of M + 1 places, at most */

typedef struct tangents {
    size_t rank;
    double C[TANGENTS][TANGENTS]; /* (rank, M) */
    double X[TANGENTS][TANGENTS]; /* (rank, M): row j is vector j; between two tiles */
} tangents;

/* A unit that has switched changes the columns of J - I. */
static ALWAYS_INLINE void turn_columns(const size_t M, const size_t mv, const piece_weights *w,
                                       const uint64_t *now, size_t unit, vector *J)
{
    const real sign = sign_of(now, unit), *row = (const real *)(w->rows + unit * mv);
    for (size_t c = 0; c < mv; c++) {
        const vector change = sign * w->columns[unit * mv + c];
        for (size_t j = 0; j < M; j++)
            J[j * mv + c] += row[j] * change;
    }
}

/* x <- P_a x and x <- J x at step i.  x: (mv) */
static ALWAYS_INLINE void tangent_step(const size_t M, const size_t mv, const solve_call *p,
                                       const piece_weights *w, const piece_buffers *t, const group *g,
                                       size_t i, const vector *J, vector *x)
{
    double a;
    const uint32_t pattern = forced_pattern(p, g, i, &a);
    const vector *keep = pattern != 0 ? w->keep_none : keep_for(w, a);
    vector out[TANGENT_ROW];
    for (size_t c = 0; c < mv; c++)
        out[c] = x[c] = keep[c] * x[c];
    if (pattern != 0) {
        for (size_t c = 0; c < mv; c++)
            t->row[c] = (real)a * x[c];
        subtract_seen(M, mv, p, w, t, pattern, t->run_errors, out);
        for (size_t c = 0; c < mv; c++)
            x[c] = out[c];
    }
    mix(M, mv, J, (const real *)x, out);
    for (size_t c = 0; c < mv; c++)
        x[c] = out[c];
}

/* The first `rank` of t->tangents through steps first .. end-1. */
static ALWAYS_INLINE void tile_tangents(const size_t M, const solve_call *p, const piece_weights *w,
                                        const piece_buffers *t, const group *g, size_t rank, size_t first,
                                        size_t end)
{
    static const uint64_t none[ANT_MASK_WORDS];
    const size_t mv = vectors(M + 1, LANES);
    vector local_J[SMALL], *J = __builtin_constant_p(M) ? local_J : t->jacobian;
    for (size_t j = 0; j < M * mv; j++)
        J[j] = w->affine[j];
    const uint64_t *before = none;
    for (size_t i = first; i < end; i++) {
        const uint64_t *now = g->masks + i * w->words;
        for (size_t q = 0; q < w->words; q += 2) {
            for (switched s = switched_at(w->words, q, before, now); switched_left(&s);)
                turn_columns(M, mv, w, now, switched_next(&s), J);
        }
        before = now;
        for (size_t j = 0; j < rank; j++)
            tangent_step(M, mv, p, w, t, g, i, J, t->tangents + j * mv);
    }
}

/* Between the vectors of a tile and rows of doubles. */
static void read_tangents(const piece_weights *w, const piece_buffers *t, tangents *d)
{
    for (size_t j = 0; j < d->rank; j++) {
        for (size_t m = 0; m < w->M; m++)
            d->X[j][m] = (double)((const real *)(t->tangents + j * w->mv))[m];
    }
}

static void write_tangents(const piece_weights *w, const piece_buffers *t, const tangents *d)
{
    memset(t->tangents, 0, d->rank * w->mv * sizeof *t->tangents);
    for (size_t j = 0; j < d->rank; j++) {
        for (size_t m = 0; m < w->M; m++)
            ((real *)(t->tangents + j * w->mv))[m] = (real)d->X[j][m];
    }
}

static double dot(size_t count, const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Give row j of C the largest value 1 and X the rest, so that the size of X_j is its part in D. */
static void balance(size_t M, tangents *d)
{
    for (size_t j = 0; j < d->rank; j++) {
        double largest = 0.0;
        for (size_t m = 0; m < M; m++)
            largest = fmax(largest, fabs(d->C[j][m]));
        for (size_t m = 0; m < M && largest > 0.0; m++) {
            d->X[j][m] *= largest;
            d->C[j][m] /= largest;
        }
    }
}

/* X C by a basis of X that begins with its largest vectors and leaves out what is below rounding. */
static void compress(size_t M, tangents *d)
{
    tangents n = {.rank = 0};
    balance(M, d);
    while (n.rank < d->rank) {
        size_t best = 0;
        double square = 0.0;
        for (size_t j = 0; j < d->rank; j++) {
            const double own = dot(M, d->X[j], d->X[j]);
            best = own > square ? j : best;
            square = own > square ? own : square;
        }
        if (square <= (double)REAL_EPSILON * (double)REAL_EPSILON)
            break;
        double *unit = n.X[n.rank], *row = n.C[n.rank];
        for (size_t m = 0; m < M; m++)
            unit[m] = d->X[best][m] / sqrt(square);
        for (size_t j = 0; j < d->rank; j++) {
            const double along = dot(M, unit, d->X[j]);
            for (size_t m = 0; m < M; m++) {
                row[m] += along * d->C[j][m];
                d->X[j][m] -= along * unit[m];
            }
        }
        n.rank++;
    }
    *d = n;
}

/* D to g->map; false: it is 0, or not finite and left out. */
static bool store_map(size_t M, const tangents *d, real *map)
{
    bool finite = true;
    for (size_t i = 0; i < M; i++) {
        for (size_t m = 0; m < M; m++) {
            double sum = 0.0;
            for (size_t j = 0; j < d->rank; j++)
                sum += d->X[j][i] * d->C[j][m];
            map[i * M + m] = (real)sum;
            finite = finite && isfinite((real)sum);
        }
    }
    return finite && d->rank > 0;
}

static ALWAYS_INLINE bool derive_for(const size_t M, const solve_call *p, const real *packed, group *g,
                                     real *scratch)
{
    piece_weights w;
    piece_buffers t;
    piece_place(&p->layout->dims, packed, &w);
    buffers_place(&w, scratch, &t);
    tangents d = {.rank = M};
    for (size_t m = 0; m < M; m++)
        d.X[m][m] = d.C[m][m] = 1.0;
    write_tangents(&w, &t, &d);
    for (size_t first = 0, tiles = 1; first < g->length && d.rank > 0; first += TILE, tiles++) {
        const size_t end = first + TILE < g->length ? first + TILE : g->length;
        tile_tangents(M, p, &w, &t, g, d.rank, first, end);
        if ((tiles & (tiles - 1)) != 0 && end < g->length)
            continue;
        read_tangents(&w, &t, &d);
        if (end < g->length) {
            compress(M, &d);
            write_tangents(&w, &t, &d);
        }
    }
    return store_map(M, &d, g->map);
}
