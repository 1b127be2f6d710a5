/*
 * piece_weights.h - the weights of the piece kernels in their own coordinates.  Part of piece_simd_tmpl.c.
 *
 * The latent space is turned by an orthogonal Q: its first columns are the right singular vectors of B, the
 * others complete the basis; z = Q zeta.  There B+ B is diagonal, so forcing acts on each coordinate alone,
 *     zeta~ = keep_a o zeta + a Q^T B+ x,    keep_a = 1 - a in the row space of B, else 1.
 * The clipped model W [phi(V z + b) - phi(V z)] is a plain one with twice the units: -W, V, 0 come second.
 */

/* Wide vectors whose sums are held in registers; hidden units are padded to whole tiles of them. */
enum { WIDE_TILE = 4, WORD = 64 };

typedef struct piece_weights {
    size_t M, N, K, L, rank;
    size_t mv, nv, lv;   /* vectors per M + 1, N and L; lv is a multiple of WIDE_TILE */
    size_t units, words; /* hidden units with padding, twice when clipped; words of bits for them */
    bool clipped;
    vector *V, *b;                        /* (M, lv): column i of V Q; (lv) */
    vector *columns;                      /* (units, mv): column l of Q^T W */
    vector *rows;                         /* (units, mv): row l of V Q, then b_l */
    vector *affine;                       /* (M + 1, mv): columns of Q^T diag(A) Q - I, then Q^T h */
    vector *affine_rows;                  /* (M, mv): its rows */
    vector *keep_none, *keep_full, *keep; /* (mv): for a = 0, 1 and alpha; 0 from place M on */
    vector *pull_full, *pull;             /* (N, mv): column n of Q^T B+, and alpha times it */
    vector *read, *read_columns;          /* (N, mv): row n of B Q; (M, nv): column i of it */
    vector *inputs;                       /* (K, mv): column k of Q^T C */
    vector *left;                         /* (rank, mv): column k of Q^T WL */
    vector *basis, *basis_rows;           /* (M, mv): column i of Q; row m of Q */
    vector *one, *inside;                 /* (mv): 1 at place M; all bits set in places below M */
    vector *seen;                         /* (nv): all bits set in places below N */
    vector *bases;                        /* scratch of pack_patterns (piece_gaps.h) */
} piece_weights;

/* Vectors that hold 2.5 N + 1 rows of N doubles, each of whole vectors. */
static size_t basis_scratch(size_t N)
{
    return (2 * N + N / 2 + 1) * vectors(N * sizeof(double), VECTOR_BYTES);
}

static size_t piece_place(const ant_model_dims *d, const real *packed, piece_weights *w)
{
    const size_t mv = vectors(d->M + 1, LANES), nv = vectors(d->N, LANES);
    const size_t lv = vectors(d->L, WIDE_TILE * LANES) * WIDE_TILE, parts = d->clipped ? 2 : 1;
    *w = (piece_weights){.M = d->M, .N = d->N, .K = d->K, .L = d->L, .rank = d->rank, .clipped = d->clipped};
    w->mv = mv;
    w->nv = nv;
    w->lv = lv;
    w->words = vectors(lv * LANES, WORD) * parts;
    w->units = w->words * WORD;
    const struct {
        vector **slot;
        size_t count;
    } part[] = {{&w->V, d->M * lv},
                {&w->b, lv},
                {&w->columns, w->units * mv},
                {&w->rows, w->units * mv},
                {&w->affine, (d->M + 1) * mv},
                {&w->affine_rows, d->M * mv},
                {&w->keep_none, mv},
                {&w->keep_full, mv},
                {&w->keep, mv},
                {&w->pull_full, d->N * mv},
                {&w->pull, d->N * mv},
                {&w->read, d->N * mv},
                {&w->read_columns, d->M * nv},
                {&w->inputs, d->K * mv},
                {&w->left, d->rank * mv},
                {&w->basis, d->M * mv},
                {&w->basis_rows, d->M * mv},
                {&w->one, mv},
                {&w->inside, mv},
                {&w->seen, nv},
                {&w->bases, basis_scratch(d->N)}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        *part[i].slot = packed == NULL ? NULL : (vector *)(uintptr_t)(packed + used); /* only pack writes */
        used += part[i].count * LANES;
    }
    return used;
}

static size_t piece_packed_count(const ant_model_dims *d)
{
    piece_weights w;
    return piece_place(d, NULL, &w);
}

/* out = sum_m x[m * stride] w[m, :] over `depth` rows of `mv` vectors. */
static void combine(size_t depth, size_t mv, const vector *w, const real *x, size_t stride, vector *out)
{
    for (size_t c = 0; c < mv; c++) {
        vector even = {0}, odd = {0};
        size_t m = 0;
        for (; m + 2 <= depth; m += 2) {
            even += x[m * stride] * w[m * mv + c];
            odd += x[(m + 1) * stride] * w[(m + 1) * mv + c];
        }
        if (m < depth)
            even += x[m * stride] * w[m * mv + c];
        out[c] = even + odd;
    }
}

/* Complete `known` orthonormal rows to a basis, each time with the axis that is farthest from their span. */
static void complete_basis(size_t M, size_t known, double *q)
{
    for (size_t k = known; k < M; k++) {
        size_t axis = 0;
        double least = 2.0;
        for (size_t m = 0; m < M; m++) {
            double inside = 0.0;
            for (size_t i = 0; i < k; i++)
                inside += q[i * M + m] * q[i * M + m];
            if (inside < least) {
                least = inside;
                axis = m;
            }
        }
        double *row = q + k * M;
        for (size_t m = 0; m < M; m++)
            row[m] = m == axis;
        for (int pass = 0; pass < 2; pass++) { /* twice is enough for full accuracy */
            for (size_t i = 0; i < k; i++) {
                double dot = 0.0;
                for (size_t m = 0; m < M; m++)
                    dot += q[i * M + m] * row[m];
                for (size_t m = 0; m < M; m++)
                    row[m] -= dot * q[i * M + m];
            }
        }
        double square = 0.0;
        for (size_t m = 0; m < M; m++)
            square += row[m] * row[m];
        for (size_t m = 0; m < M; m++)
            row[m] /= sqrt(square);
    }
}

/* Q and what forcing does in its coordinates. */
static void pack_basis(const solve_call *p, const piece_weights *w)
{
    const ANT_FN(ant_forcing) *f = p->forcing;
    const size_t M = w->M, N = w->N, ms = w->mv * LANES, known = M < N ? M : N;
    double *q = f->terms; /* (M, M): row i is column i of Q */
    memcpy(q, f->vt, known * M * sizeof *q);
    complete_basis(M, known, q);
    const double floor = (double)(M > N ? M : N) * DBL_EPSILON * f->sigma[0];
    real *basis = (real *)w->basis, *rows = (real *)w->basis_rows;
    real *none = (real *)w->keep_none, *full = (real *)w->keep_full, *keep = (real *)w->keep;
    for (size_t i = 0; i < M; i++) {
        const bool seen = i < known && f->sigma[i] > floor;
        none[i] = 1;
        full[i] = seen ? 0 : 1;
        keep[i] = seen ? (real)(1.0 - p->alpha) : 1;
        for (size_t m = 0; m < M; m++)
            rows[m * ms + i] = basis[i * ms + m] = (real)q[i * M + m];
    }
    for (size_t n = 0; n < N; n++) {
        combine(M, w->mv, w->basis_rows, f->pinv + n, N, w->pull_full + n * w->mv);
        combine(M, w->mv, w->basis_rows, f->B + n * M, 1, w->read + n * w->mv);
        for (size_t c = 0; c < w->mv; c++)
            w->pull[n * w->mv + c] = (real)p->alpha * w->pull_full[n * w->mv + c];
        for (size_t i = 0; i < M; i++)
            ((real *)w->read_columns)[i * w->nv * LANES + n] = ((const real *)w->read)[n * ms + i];
    }
    ((real *)w->one)[M] = 1;
    memset(w->inside, 0xff, M * sizeof(real));
    memset(w->seen, 0xff, N * sizeof(real));
}

/* Hidden unit l: its column of Q^T W, its row of V Q and b, and its lane among the wide vectors. */
static void pack_unit(const solve_call *p, const piece_weights *w, size_t l)
{
    const ant_model_layout *y = p->layout;
    const real *theta = p->parameters;
    const size_t M = w->M, mv = w->mv;
    vector *column = w->columns + l * mv, *row = w->rows + l * mv;
    if (w->rank > 0)
        combine(w->rank, mv, w->left, theta + y->WR + l, w->L, column);
    else
        combine(M, mv, w->basis_rows, theta + y->W + l, w->L, column);
    combine(M, mv, w->basis_rows, theta + y->V + l * M, 1, row);
    for (size_t i = 0; i < M; i++)
        ((real *)w->V)[i * w->lv * LANES + l] = ((const real *)row)[i];
    if (w->clipped) {
        const size_t second = l + w->units / 2;
        for (size_t c = 0; c < mv; c++) {
            w->columns[second * mv + c] = -column[c];
            w->rows[second * mv + c] = row[c];
        }
    }
    ((real *)row)[M] = theta[y->b + l];
    ((real *)w->b)[l] = theta[y->b + l];
}

/* Row of a group's z: from the model's coordinates to those of the kernel, and back. */
static void piece_enter(const ant_model_dims *d, const real *packed, const real *z, real *zeta)
{
    piece_weights w;
    piece_place(d, packed, &w);
    for (size_t i = 0; i < d->M; i++) {
        real sum = 0;
        for (size_t m = 0; m < d->M; m++)
            sum += ((const real *)w.basis)[i * w.mv * LANES + m] * z[m];
        zeta[i] = sum;
    }
}

static void piece_leave(const ant_model_dims *d, const real *packed, const real *zeta, real *z)
{
    piece_weights w;
    piece_place(d, packed, &w);
    for (size_t m = 0; m < d->M; m++) {
        real sum = 0;
        for (size_t i = 0; i < d->M; i++)
            sum += ((const real *)w.basis_rows)[m * w.mv * LANES + i] * zeta[i];
        z[m] = sum;
    }
}

/* Multiply J - I, c and the contribution of each unit to them by `factor`. */
static void piece_lengthen(const ant_model_dims *d, real *packed, double factor)
{
    piece_weights w;
    piece_place(d, packed, &w);
    for (size_t k = 0; k < w.units * w.mv; k++)
        w.columns[k] *= (real)factor;
    for (size_t k = 0; k < (w.M + 1) * w.mv; k++)
        w.affine[k] *= (real)factor;
    for (size_t k = 0; k < w.M * w.mv; k++)
        w.affine_rows[k] *= (real)factor;
    for (size_t k = 0; k < w.K * w.mv; k++)
        w.inputs[k] *= (real)factor;
}
