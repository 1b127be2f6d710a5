/*
 * patterns_tmpl.c - the patterns of a batch with missing values, and their B_o+ (patterns.h).
 *
 * B_o+ of full rank is found through the inverse of the smaller Gram matrix, which costs far less than
 * singular values, and improved by one step of Newton's iteration P <- 2P - P B_o P.  Where B_o is close to
 * singular, it is found by singular values, with the rank of spec 2.
 */
#include "solve/patterns.h"

#include "model/svd.h"

#include <string.h>

typedef ANT_FN(ant_patterns) patterns_t;

enum {
    WORD = 64,
    BLOCK = 32,  /* rows that are searched for missing values together */
    DIRECT = 10, /* the most variables of which all patterns are in a table */
};
static const uint32_t NEW = UINT32_MAX;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* 2^N - 1 patterns lack something; beyond 24 variables the number of rows is the limit. */
size_t ANT_FN(ant_patterns_capacity)(size_t N, size_t rows, size_t most)
{
    const size_t of_sizes = N < 24 ? ((size_t)1 << N) - 1 : SIZE_MAX;
    return least(least(of_sizes, rows), most);
}

void ANT_FN(ant_patterns_carve)(patterns_t *q, ant_arena *arena, size_t M, size_t N, size_t rows,
                                size_t batch, size_t most, size_t turned)
{
    const size_t k = least(M, N);
    q->M = M;
    q->N = N;
    q->rows = rows;
    q->batch = batch;
    q->capacity = ANT_FN(ant_patterns_capacity)(N, rows * batch, most);
    q->words = (N + WORD - 1) / WORD;
    for (q->buckets = 4; q->buckets <= 2 * q->capacity;)
        q->buckets *= 2;
    q->of_row = ant_arena_take(arena, batch * rows, sizeof *q->of_row);
    q->gappy = ant_arena_take(arena, batch, sizeof *q->gappy);
    q->bits = ant_arena_take(arena, (q->capacity + 1) * q->words, sizeof *q->bits);
    q->missing = ant_arena_take(arena, q->capacity, sizeof *q->missing);
    q->empty = ant_arena_take(arena, q->capacity, sizeof *q->empty);
    q->under = ant_arena_take(arena, q->capacity, sizeof *q->under);
    q->over = ant_arena_take(arena, q->capacity, sizeof *q->over);
    q->simple = ant_arena_take(arena, q->capacity + 1, sizeof *q->simple);
    q->made = ant_arena_take(arena, q->capacity, sizeof *q->made);
    q->hard = ant_arena_take(arena, q->words, sizeof *q->hard);
    q->turned_count = turned;
    q->turned = ant_arena_take(arena, q->capacity * turned, sizeof *q->turned);
    q->pinv = ant_arena_take(arena, q->capacity * M * N, sizeof *q->pinv);
    q->table = ant_arena_take(arena, q->buckets, sizeof *q->table);
    q->direct = ant_arena_take(arena, N <= DIRECT ? (size_t)1 << N : 0, sizeof *q->direct);
    q->gram = ant_arena_take(arena, k * k, sizeof *q->gram);
    q->inverse = ant_arena_take(arena, k * k, sizeof *q->inverse);
    q->p64 = ant_arena_take(arena, M * N, sizeof *q->p64);
    q->product = ant_arena_take(arena, M * N, sizeof *q->product);
    q->terms = ant_arena_take(arena, M + ANT_FN(ant_pattern_terms)(M, N), sizeof *q->terms);
    ANT_FN(ant_forcing_carve)(&q->rest, arena, M, N);
}

/* ---- B_o+ ---------------------------------------------------------------------------------------------- */

/* to += factor from, over `count` numbers. */
static void add_scaled(size_t count, double factor, const double *from, double *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

static void scale_row(size_t count, double factor, double *row)
{
    for (size_t i = 0; i < count; i++)
        row[i] *= factor;
}

/* out (n, M) = a b by rows, which the compiler makes vectors of.  a: (n, n); b: (n, M) */
static void multiply_rows(size_t n, size_t M, const double *a, const double *b, double *out)
{
    memset(out, 0, n * M * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            add_scaled(M, a[i * n + k], b + k * M, out + i * M);
    }
}

/* out (n, n) = a b^T, with four sums side by side, as each addition depends on the one before.  a, b: (n, M)
 */
static void multiply_dots(size_t n, size_t M, const double *a, const double *b, double *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const double *x = a + i * M, *y = b + j * M;
            double part[4] = {0.0, 0.0, 0.0, 0.0};
            size_t m = 0;
            for (; m + 4 <= M; m += 4) {
                for (size_t q = 0; q < 4; q++)
                    part[q] += x[m + q] * y[m + q];
            }
            for (; m < M; m++)
                part[0] += x[m] * y[m];
            out[i * n + j] = (part[0] + part[1]) + (part[2] + part[3]);
        }
    }
}

/*
 * The inverse of a symmetric positive definite matrix by Cholesky's factors, in place of gram.  False when a
 * pivot shows that it is close to singular.  gram, inverse: (k, k)
 */
static bool invert(size_t k, double *gram, double *inverse)
{
    const double smallest = 1e-8; /* of a pivot to its diagonal; one step of Newton makes up for this loss */
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = gram[i * k + j];
            for (size_t l = 0; l < j; l++)
                sum -= gram[i * k + l] * gram[j * k + l];
            if (i == j && !(sum > smallest * gram[i * k + i]))
                return false;
            gram[i * k + j] = i == j ? sqrt(sum) : sum / gram[j * k + j];
        }
    }
    for (size_t i = 0; i < k; i++) { /* all columns at once: L Y = I */
        for (size_t c = 0; c < k; c++)
            inverse[i * k + c] = i == c;
        for (size_t l = 0; l < i; l++)
            add_scaled(k, -gram[i * k + l], inverse + l * k, inverse + i * k);
        scale_row(k, 1.0 / gram[i * k + i], inverse + i * k);
    }
    for (size_t i = k; i-- > 0;) { /* L^T X = Y */
        for (size_t l = i + 1; l < k; l++)
            add_scaled(k, -gram[l * k + i], inverse + l * k, inverse + i * k);
        scale_row(k, 1.0 / gram[i * k + i], inverse + i * k);
    }
    return true;
}

/* Where B P or P B is this close to I, one step of Newton's iteration reaches the rounding of double. */
static const double close_enough = 1e-7;

/* 2 I - a in place; false when a is not close to I.  a: (k, k) */
static bool reflect(size_t k, double *a)
{
    bool good = true;
    for (size_t i = 0; i < k * k; i++) {
        const double unit = i % (k + 1) == 0;
        good = good && fabs(a[i] - unit) < close_enough;
        a[i] = 2.0 * unit - a[i];
    }
    return good;
}

/* B+ of full rank.  B: (n, M); pinv: (M, n), transposed for n <= M.  False: B is close to singular. */
static bool pinv_by_gram(const patterns_t *q, size_t n, const double *B, double *pinv)
{
    const size_t M = q->M, k = least(n, M);
    double *first = q->product; /* (M, n), or its transpose */
    if (n <= M) {               /* B^T (B B^T)^-1 */
        multiply_dots(n, M, B, B, q->gram);
        if (!invert(k, q->gram, q->inverse))
            return false;
        multiply_rows(n, M, q->inverse, B, first);
        multiply_dots(n, M, first, B, q->gram); /* (B P)^T */
        if (!reflect(k, q->gram))
            return false;
        multiply_rows(n, M, q->gram, first, pinv);
    } else { /* (B^T B)^-1 B^T */
        ant_multiply(M, n, M, B, 1, M, B, M, 1, q->gram);
        if (!invert(k, q->gram, q->inverse))
            return false;
        ant_multiply(M, M, n, q->inverse, M, 1, B, 1, M, first);
        ant_multiply(M, n, M, first, n, 1, B, M, 1, q->gram);
        if (!reflect(k, q->gram))
            return false;
        ant_multiply(M, M, n, q->gram, M, 1, first, n, 1, pinv);
    }
    return true;
}

static bool is_missing(const uint64_t *bits, size_t n)
{
    return (bits[n / WORD] >> n % WORD & 1) != 0;
}

/* B_o+ of pattern `k`, with zeros for what is missing. */
static antler_status find_pinv(patterns_t *q, const ANT_FN(ant_forcing) * f, size_t k)
{
    const size_t M = q->M, N = q->N;
    const uint64_t *bits = q->bits + k * q->words;
    ANT_FN(ant_forcing) *r = &q->rest;
    size_t n = 0;
    for (size_t i = 0; i < N; i++) {
        if (!is_missing(bits, i))
            memcpy(r->b64 + n++ * M, f->b64 + i * M, M * sizeof *r->b64);
    }
    real *pinv = q->pinv + k * M * N;
    memset(pinv, 0, M * N * sizeof *pinv);
    q->made[k] = true;
    q->under[k] = n < M;
    q->over[k] = n > M;
    if (n == 0)
        return ANTLER_OK;
    const bool quick = pinv_by_gram(q, n, r->b64, q->p64), transposed = quick && n <= M;
    if (!quick) {
        q->under[k] = q->over[k] = true; /* its rank may be below both */
        ANT_TRY(ant_svd(n, M, r->b64, r->u, r->sigma, r->vt, r->work));
        ant_svd_pinv(n, M, r->u, r->sigma, r->vt, q->p64);
    }
    for (size_t i = 0, column = 0; i < N; i++) {
        if (is_missing(bits, i))
            continue;
        for (size_t m = 0; m < M; m++)
            pinv[m * N + i] = (real)q->p64[transposed ? column * M + m : m * n + column];
        column++;
    }
    return ANTLER_OK;
}

void ANT_FN(ant_patterns_make)(patterns_t *q, const ANT_FN(ant_forcing) * f, uint32_t pattern)
{
    if (!q->made[pattern - 1]) /* B is finite, so that it cannot fail */
        (void)find_pinv(q, f, pattern - 1);
}

void ANT_FN(ant_patterns_make_all)(patterns_t *q, const ANT_FN(ant_forcing) * f)
{
    for (uint32_t k = 1; k <= q->count; k++)
        ANT_FN(ant_patterns_make)(q, f, k);
}

/*
 * The variables without which a pattern is not simple.  1 / |column n of B+| is the distance of row n of B
 * from the span of the others.  Relative to |row n|, it is what B_o+ x_o = (I - G G^T) B+ x loses to
 * rounding, with G the basis of what the missing rows add to that span and 0 for what is missing.
 */
static void find_hard(patterns_t *q, const ANT_FN(ant_forcing) * f)
{
    const size_t M = q->M, N = q->N;
    const double most = sizeof(real) == sizeof(float) ? 64.0 : 4096.0;
    const bool full = q->turned_count > 0 && N <= M && f->sigma[N - 1] > 1e-8 * f->sigma[0];
    memset(q->hard, 0, q->words * sizeof *q->hard);
    for (size_t n = 0; n < N; n++) {
        double of_pinv = 0.0, of_row = 0.0;
        for (size_t m = 0; m < M; m++) {
            of_pinv += f->pinv64[m * N + n] * f->pinv64[m * N + n];
            of_row += f->b64[n * M + m] * f->b64[n * M + m];
        }
        if (!(full && of_pinv * of_row <= most * most))
            q->hard[n / WORD] |= UINT64_C(1) << n % WORD;
    }
}

/* What is known of pattern `k` from its bits, and its B_o+ unless it is simple. */
static antler_status set_pattern(patterns_t *q, const ANT_FN(ant_forcing) * f, size_t k)
{
    const uint64_t *bits = q->bits + k * q->words;
    size_t missing = 0;
    uint64_t hard = 0;
    for (size_t w = 0; w < q->words; w++) {
        missing += (size_t)__builtin_popcountll(bits[w]);
        hard |= bits[w] & q->hard[w];
    }
    q->missing[k] = (uint32_t)missing;
    q->empty[k] = missing == q->N;
    q->simple[k + 1] = hard == 0 && missing < q->N;
    q->made[k] = false;
    q->all_simple = q->all_simple && hard == 0;
    return hard == 0 ? ANTLER_OK : find_pinv(q, f, k);
}

/* ---- the patterns of a batch --------------------------------------------------------------------------- */

/* The bits of what a row lacks; false when it lacks nothing.  x: (N); bits: (words) */
static bool read_bits(const patterns_t *q, const real *x, uint64_t *bits)
{
    uint64_t any = 0;
    for (size_t w = 0; w < q->words; w++) {
        const size_t first = w * WORD, count = least(q->N - first, WORD);
        uint64_t word = 0;
        for (size_t n = 0; n < count; n++)
            word |= (uint64_t)(x[first + n] != x[first + n]) << n; /* NaN */
        bits[w] = word;
        any |= word;
    }
    return any != 0;
}

static bool same_bits(const patterns_t *q, size_t pattern, const uint64_t *bits)
{
    const uint64_t *other = q->bits + pattern * q->words;
    uint64_t differ = 0;
    for (size_t w = 0; w < q->words; w++)
        differ |= other[w] ^ bits[w];
    return differ == 0;
}

static size_t slot_of(const patterns_t *q, const uint64_t *bits)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < q->words; i++)
        hash = (hash ^ bits[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (q->buckets - 1);
}

/* 1 + the pattern with these bits, which is added where it is new. */
static antler_status find_pattern(patterns_t *q, const ANT_FN(ant_forcing) * f, const uint64_t *bits,
                                  uint32_t *pattern)
{
    size_t bucket = slot_of(q, bits);
    while (q->table[bucket] != 0 && !same_bits(q, q->table[bucket] - 1, bits))
        bucket = (bucket + 1) & (q->buckets - 1);
    if (q->table[bucket] == 0) {
        ANT_CHECK(q->count < q->capacity, ANTLER_ERROR_ARGUMENT,
                  "more than %zu patterns of missing values, for which the plan has memory", q->capacity);
        memcpy(q->bits + q->count * q->words, bits, q->words * sizeof *bits);
        ANT_TRY(set_pattern(q, f, q->count));
        q->table[bucket] = (uint32_t)++q->count;
    }
    *pattern = q->table[bucket];
    return ANTLER_OK;
}

/* Without a branch, so that the compiler makes vectors of it. */
bool ANT_FN(ant_any_missing)(size_t count, const real *x)
{
    int missing = 0;
    for (size_t i = 0; i < count; i++)
        missing |= x[i] != x[i]; /* NaN */
    return missing != 0;
}

/* The patterns of rows first .. end-1 of sequence i; subtracts what they lack from q->values. */
static antler_status find_rows(patterns_t *q, const ANT_FN(ant_forcing) * f, const real *x, size_t first,
                               size_t end, size_t warmup, size_t i)
{
    uint64_t *bits = q->bits + q->capacity * q->words;
    uint32_t *of_row = q->of_row + i * q->rows;
    for (size_t t = first; t < end; t++) {
        if (!read_bits(q, x + t * q->N, bits))
            continue;
        const uint32_t before = t > first ? of_row[t - 1] : 0; /* rows in a row often lack the same */
        of_row[t] = before;
        if (before == 0 || !same_bits(q, before - 1, bits))
            ANT_TRY(find_pattern(q, f, bits, &of_row[t]));
        q->values -= t > warmup ? q->missing[of_row[t] - 1] : 0;
        q->gappy[i] = true;
    }
    return ANTLER_OK;
}

/* find_rows for few variables: patterns by their bits, without branches that depend on what is missing. */
static inline antler_status find_direct_of(const size_t N, patterns_t *q, const ANT_FN(ant_forcing) * f,
                                           const real *x, size_t first, size_t end, size_t warmup, size_t i)
{
    uint32_t *of_row = q->of_row + i * q->rows;
    size_t missing = 0;
    for (size_t t = first; t < end; t++) {
        const real *row = x + t * N;
        uint64_t bits = 0;
        size_t count = 0;
        for (size_t n = 0; n < N; n++) {
            const uint64_t gone = row[n] != row[n]; /* NaN */
            bits |= gone << n;
            count += gone;
        }
        if (q->direct[bits] == NEW)
            ANT_TRY(find_pattern(q, f, &bits, &q->direct[bits]));
        of_row[t] = q->direct[bits];
        missing += t > warmup ? count : 0;
    }
    q->values -= missing;
    q->gappy[i] = true;
    return ANTLER_OK;
}

static antler_status find_direct(patterns_t *q, const ANT_FN(ant_forcing) * f, const real *x, size_t first,
                                 size_t end, size_t warmup, size_t i)
{
    return q->N == 3 ? find_direct_of(3, q, f, x, first, end, warmup, i) /* the most common */
                     : find_direct_of(q->N, q, f, x, first, end, warmup, i);
}

antler_status ANT_FN(ant_patterns_find)(patterns_t *q, const ANT_FN(ant_forcing) * f, const real *const *x,
                                        size_t warmup)
{
    q->count = q->values = 0;
    q->all_simple = true;
    q->simple[0] = false;
    find_hard(q, f);
    memset(q->table, 0, q->buckets * sizeof *q->table);
    const bool direct = q->N <= DIRECT;
    if (direct) {
        memset(q->direct, 0xff, ((size_t)1 << q->N) * sizeof *q->direct);
        q->direct[0] = 0;
    }
    for (size_t i = 0; i < q->batch; i++) {
        uint32_t *of_row = q->of_row + i * q->rows;
        q->gappy[i] = false;
        memset(of_row, 0, q->rows * sizeof *of_row);
        q->values += (q->rows - 1 - warmup) * q->N;
        for (size_t t = 0; t < q->rows; t += BLOCK) {
            const size_t end = t + BLOCK < q->rows ? t + BLOCK : q->rows;
            if (ANT_FN(ant_any_missing)((end - t) * q->N, x[i] + t * q->N))
                ANT_TRY((direct ? find_direct : find_rows)(q, f, x[i], t, end, warmup, i));
        }
    }
    ANT_CHECK(q->values > 0, ANTLER_ERROR_ARGUMENT,
              "no value of the batch is observed after the warm-up, so there is no loss; give other windows");
    return ANTLER_OK;
}

void ANT_FN(ant_pattern_add)(const patterns_t *q, uint32_t pattern, const real *B, const real *w,
                             const real *e, double scale, real *terms, double *dB)
{
    const size_t M = q->M, N = q->N;
    const real *P = ANT_FN(ant_pattern_pinv)(q, pattern);
    const uint64_t *bits = q->bits + (size_t)(pattern - 1) * q->words;
    real *p = terms, *g = p + N, *r = g + N, *along = r + N, *u = along + M, *m = u + M; /* along: q */
    if (ANT_FN(ant_pattern_empty)(q, pattern))
        return;
    for (size_t j = 0; j < M; j++) {
        along[j] = 0;
        for (size_t n = 0; n < N; n++)
            along[j] += is_missing(bits, n) ? 0 : P[j * N + n] * e[n];
    }
    for (size_t n = 0; n < N; n++) {
        p[n] = g[n] = 0;
        r[n] = is_missing(bits, n) ? 0 : e[n];
        for (size_t j = 0; j < M && !is_missing(bits, n); j++) {
            p[n] += P[j * N + n] * w[j];
            g[n] += P[j * N + n] * along[j];
            r[n] -= B[n * M + j] * along[j];
        }
    }
    for (size_t j = 0; j < M; j++) {
        u[j] = 0;
        m[j] = w[j];
        for (size_t n = 0; n < N; n++) {
            u[j] += P[j * N + n] * p[n];
            m[j] -= B[n * M + j] * p[n];
        }
    }
    for (size_t n = 0; n < N; n++) {
        for (size_t j = 0; j < M; j++)
            dB[n * M + j] += scale * ((double)r[n] * (double)u[j] + (double)g[n] * (double)m[j] -
                                      (double)p[n] * (double)along[j]);
    }
}
