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

enum { WORD = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* 2^N - 1 patterns lack something; beyond 24 variables the number of rows is the limit. */
static size_t most_patterns(size_t N, size_t rows, size_t most)
{
    const size_t of_sizes = N < 24 ? ((size_t)1 << N) - 1 : SIZE_MAX;
    return least(least(of_sizes, rows), most);
}

void ANT_FN(ant_patterns_carve)(patterns_t *q, ant_arena *arena, size_t M, size_t N, size_t rows,
                                size_t batch, size_t most)
{
    const size_t k = least(M, N);
    q->M = M;
    q->N = N;
    q->rows = rows;
    q->batch = batch;
    q->capacity = most_patterns(N, rows * batch, most);
    q->words = (N + WORD - 1) / WORD;
    for (q->slots = 4; q->slots <= 2 * q->capacity;)
        q->slots *= 2;
    q->of_row = ant_arena_take(arena, batch * rows, sizeof *q->of_row);
    q->gappy = ant_arena_take(arena, batch, sizeof *q->gappy);
    q->bits = ant_arena_take(arena, (q->capacity + 1) * q->words, sizeof *q->bits);
    q->empty = ant_arena_take(arena, q->capacity, sizeof *q->empty);
    q->pinv = ant_arena_take(arena, q->capacity * M * N, sizeof *q->pinv);
    q->table = ant_arena_take(arena, q->slots, sizeof *q->table);
    q->gram = ant_arena_take(arena, k * k, sizeof *q->gram);
    q->inverse = ant_arena_take(arena, k * k, sizeof *q->inverse);
    q->p64 = ant_arena_take(arena, M * N, sizeof *q->p64);
    q->product = ant_arena_take(arena, M * N, sizeof *q->product);
    q->terms = ant_arena_take(arena, M + ANT_FN(ant_pattern_terms)(M, N), sizeof *q->terms);
    ANT_FN(ant_forcing_carve)(&q->rest, arena, M, N);
}

/* ---- B_o+ ---------------------------------------------------------------------------------------------- */

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
    for (size_t c = 0; c < k; c++) { /* column c: L y = e_c, then L^T x = y */
        for (size_t i = 0; i < k; i++) {
            double sum = i == c;
            for (size_t l = 0; l < i; l++)
                sum -= gram[i * k + l] * inverse[l * k + c];
            inverse[i * k + c] = sum / gram[i * k + i];
        }
        for (size_t i = k; i-- > 0;) {
            double sum = inverse[i * k + c];
            for (size_t l = i + 1; l < k; l++)
                sum -= gram[l * k + i] * inverse[l * k + c];
            inverse[i * k + c] = sum / gram[i * k + i];
        }
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

/* B+ of full rank.  B: (n, M); pinv: (M, n).  False: B is close to singular. */
static bool pinv_by_gram(const patterns_t *q, size_t n, const double *B, double *pinv)
{
    const size_t M = q->M, k = least(n, M);
    double *first = q->product; /* (M, n) */
    if (n <= M) {               /* B^T (B B^T)^-1 */
        ant_multiply(n, M, n, B, M, 1, B, 1, M, q->gram);
        if (!invert(k, q->gram, q->inverse))
            return false;
        ant_multiply(M, n, n, B, 1, M, q->inverse, n, 1, first);
        ant_multiply(n, M, n, B, M, 1, first, n, 1, q->gram);
        if (!reflect(k, q->gram))
            return false;
        ant_multiply(M, n, n, first, n, 1, q->gram, n, 1, pinv);
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
    q->empty[k] = n == 0;
    if (n == 0)
        return ANTLER_OK;
    if (!pinv_by_gram(q, n, r->b64, q->p64)) {
        ANT_TRY(ant_svd(n, M, r->b64, r->u, r->sigma, r->vt, r->work));
        ant_svd_pinv(n, M, r->u, r->sigma, r->vt, q->p64);
    }
    for (size_t i = 0, column = 0; i < N; i++) {
        if (is_missing(bits, i))
            continue;
        for (size_t m = 0; m < M; m++)
            pinv[m * N + i] = (real)q->p64[m * n + column];
        column++;
    }
    return ANTLER_OK;
}

/* ---- the patterns of a batch --------------------------------------------------------------------------- */

/* The bits of what a row lacks; returns how many values it has.  x: (N); bits: (words) */
static size_t read_bits(const patterns_t *q, const real *x, uint64_t *bits)
{
    size_t missing = 0;
    memset(bits, 0, q->words * sizeof *bits);
    for (size_t n = 0; n < q->N; n++) {
        const bool lost = x[n] != x[n]; /* NaN */
        missing += lost;
        bits[n / WORD] |= (uint64_t)lost << n % WORD;
    }
    return q->N - missing;
}

static size_t slot_of(const patterns_t *q, const uint64_t *bits)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < q->words; i++)
        hash = (hash ^ bits[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (q->slots - 1);
}

/* 1 + the pattern with these bits, which is added where it is new. */
static antler_status find_pattern(patterns_t *q, const ANT_FN(ant_forcing) * f, const uint64_t *bits,
                                  uint32_t *pattern)
{
    const size_t bytes = q->words * sizeof *bits;
    size_t slot = slot_of(q, bits);
    while (q->table[slot] != 0 && memcmp(q->bits + (q->table[slot] - 1) * q->words, bits, bytes) != 0)
        slot = (slot + 1) & (q->slots - 1);
    if (q->table[slot] == 0) {
        ANT_CHECK(q->count < q->capacity, ANTLER_ERROR_ARGUMENT,
                  "more than %zu patterns of missing values, for which the plan has memory", q->capacity);
        memcpy(q->bits + q->count * q->words, bits, bytes);
        ANT_TRY(find_pinv(q, f, q->count));
        q->table[slot] = (uint32_t)++q->count;
    }
    *pattern = q->table[slot];
    return ANTLER_OK;
}

antler_status ANT_FN(ant_patterns_find)(patterns_t *q, const ANT_FN(ant_forcing) * f, const real *const *x,
                                        size_t warmup)
{
    uint64_t *bits = q->bits + q->capacity * q->words;
    q->count = q->values = 0;
    memset(q->table, 0, q->slots * sizeof *q->table);
    for (size_t i = 0; i < q->batch; i++) {
        uint32_t *of_row = q->of_row + i * q->rows;
        q->gappy[i] = false;
        for (size_t t = 0; t < q->rows; t++) {
            const size_t observed = read_bits(q, x[i] + t * q->N, bits);
            of_row[t] = 0;
            q->values += t > warmup ? observed : 0;
            if (observed == q->N)
                continue;
            q->gappy[i] = true;
            ANT_TRY(find_pattern(q, f, bits, &of_row[t]));
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
