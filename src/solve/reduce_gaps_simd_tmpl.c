/*
 * reduce_gaps_simd_tmpl.c - loops over rows that lack some of many variables (reduce.h), once per instruction
 * set.
 *
 * Of the small matrices each lane has that of another row, so that nothing waits for sums across lanes.
 */
#include "solve/kernel.h"
#include "solve/reduce.h"
#include "solve/vector.h"

#include <string.h>

enum { WORD = 64, UNITS = 8 };

/* The next `count` values; the bits of those that are missing. */
static ALWAYS_INLINE uint64_t clean_step(const size_t count, const real *x, real *out)
{
    const vector now = count == LANES ? (vector) * (const vector_loose *)x : load_lanes(x, count);
    const vector_mask there = now == now; /* NOLINT(misc-redundant-expression): NaN */
    if (count == LANES)
        *(vector_loose *)out = (vector_loose)masked(there, now);
    else
        store_lanes(out, masked(there, now), count);
    return positive_bits(masked(~there, splat(1)));
}

static size_t clean(size_t N, const real *x, real *out, uint64_t *bits, size_t words)
{
    size_t missing = 0, n = 0;
    memset(bits, 0, words * sizeof *bits);
    for (; n + LANES <= N; n += LANES)
        bits[n / WORD] |= clean_step(LANES, x + n, out + n) << n % WORD;
    if (n < N)
        bits[n / WORD] |= clean_step(N - n, x + n, out + n) << n % WORD;
    for (size_t w = 0; w < words; w++)
        missing += (size_t)__builtin_popcountll(bits[w]);
    return missing;
}

/* The first few of a word without branches, which nothing could predict where few values are missing. */
static size_t list(size_t words, const uint64_t *bits, uint32_t base, uint32_t *index)
{
    uint32_t *end = index;
    for (size_t w = 0; w < words; w++, base += WORD) {
        uint64_t left = bits[w];
        uint32_t *at = end;
        end += __builtin_popcountll(left);
        for (size_t k = 0; k < ANT_REDUCE_SLACK; k++) {
            *at++ = base + (uint32_t)__builtin_ctzll(left | UINT64_C(1) << (WORD - 1));
            left &= left - 1;
        }
        for (; at < end; left &= left - 1)
            *at++ = base + (uint32_t)__builtin_ctzll(left);
    }
    return (size_t)(end - index);
}

static void blank(size_t count, real *x)
{
    for (size_t i = 0; i < count; i += LANES) {
        const vector now = *(const vector *)(x + i);
        *(vector *)(x + i) = masked(now == now, now); /* NOLINT(misc-redundant-expression): NaN */
    }
}

/* Row i of a triangle that is stored by rows. */
static ALWAYS_INLINE size_t row_at(size_t i)
{
    return i * (i + 1) / 2;
}

/* Vector c of rows first .. first+units-1 of sum_k u_k u_k^T. */
static ALWAYS_INLINE void gram_tile(const size_t units, size_t first, size_t c, size_t wide, size_t count,
                                    const uint32_t *index, const real *u, real *out)
{
    vector sum[UNITS];
    for (size_t i = 0; i < units; i++)
        sum[i] = (vector){0};
    for (size_t k = 0; k < count; k++) {
        const real *row = u + index[k] * wide;
        const vector right = *(const vector *)(row + c);
        for (size_t i = 0; i < units; i++)
            sum[i] += row[first + i] * right;
    }
    for (size_t i = 0; i < units; i++)
        *(vector *)(out + (first + i) * wide + c) = sum[i];
}

static void gram(size_t M, size_t wide, size_t count, const uint32_t *index, const real *u, real *out)
{
    size_t i = 0;
    for (; i + UNITS <= M; i += UNITS) {
        for (size_t c = 0; c < i + UNITS; c += LANES)
            gram_tile(UNITS, i, c, wide, count, index, u, out);
    }
    for (; i + UNITS / 2 <= M; i += UNITS / 2) {
        for (size_t c = 0; c < i + UNITS / 2; c += LANES)
            gram_tile(UNITS / 2, i, c, wide, count, index, u, out);
    }
    for (; i < M; i++) {
        for (size_t c = 0; c < i + 1; c += LANES)
            gram_tile(1, i, c, wide, count, index, u, out);
    }
}

static ALWAYS_INLINE vector root(vector x)
{
    vector out;
    for (size_t i = 0; i < LANES; i++)
        out[i] = r_sqrt(x[i]);
    return out;
}

static double factor(size_t M, real *g)
{
    vector *l = (vector *)g, least = splat(1);
    for (size_t j = 0; j < M; j++) {
        vector *own = l + row_at(j);
        const vector_mask smaller = own[j] < least;
        least = masked(smaller, own[j]) + masked(~smaller, least);
        own[j] = 1 / root(masked(own[j] > 0, own[j]) + masked(~(own[j] > 0), splat(1)));
        for (size_t i = j + 1; i < M; i++)
            l[row_at(i) + j] *= own[j];
        for (size_t i = j + 1; i < M; i++) {
            const vector factor = l[row_at(i) + j];
            for (size_t k = j + 1; k <= i; k++)
                l[row_at(i) + k] -= factor * l[row_at(k) + j];
        }
    }
    double pivot = 1.0;
    for (size_t i = 0; i < LANES; i++)
        pivot = (double)least[i] < pivot ? (double)least[i] : pivot;
    return pivot;
}

static void solve(size_t M, const real *l, real *v)
{
    const vector *L = (const vector *)l;
    vector *x = (vector *)v;
    for (size_t j = 0; j < M; j++) {
        x[j] *= L[row_at(j) + j];
        for (size_t i = j + 1; i < M; i++)
            x[i] -= L[row_at(i) + j] * x[j];
    }
    for (size_t j = M; j-- > 0;) {
        x[j] *= L[row_at(j) + j];
        for (size_t i = 0; i < j; i++)
            x[i] -= L[row_at(j) + i] * x[j];
    }
}

static double apply(size_t M, const real *l, real *v)
{
    const vector *L = (const vector *)l;
    vector *x = (vector *)v, square = {0};
    for (size_t j = 0; j < M; j++) { /* L^T v, of which those before j are not needed any more */
        vector sum = x[j] / L[row_at(j) + j];
        for (size_t i = j + 1; i < M; i++)
            sum += L[row_at(i) + j] * x[i];
        x[j] = sum;
        square += sum * sum;
    }
    for (size_t i = M; i-- > 0;) { /* L times it */
        vector sum = x[i] / L[row_at(i) + i];
        for (size_t j = 0; j < i; j++)
            sum += L[row_at(i) + j] * x[j];
        x[i] = sum;
    }
    return vector_sum(square);
}

/* u . a; u, a: (wide) */
static ALWAYS_INLINE real dot(const size_t wide, const real *u, const real *a)
{
    vector sum = {0};
    for (size_t c = 0; c < wide; c += LANES)
        sum += *(const vector *)(u + c) * *(const vector *)(a + c);
#if VECTOR_BYTES == 64 && ANT_REAL == 32
    return _mm512_reduce_add_ps((__m512)sum);
#elif VECTOR_BYTES == 64
    return _mm512_reduce_add_pd((__m512d)sum);
#else
    return (real)vector_sum(sum);
#endif
}

/* sums += (u . left) right */
static ALWAYS_INLINE void fill_row(const size_t wide, const real *u, const real *left, const real *right,
                                   real *sums)
{
    const real factor = dot(wide, u, left);
    for (size_t c = 0; c < wide; c += LANES)
        *(vector *)(sums + c) += factor * *(const vector *)(right + c);
}

static ALWAYS_INLINE void fill_all(const size_t wide, const bool both, size_t count, const uint32_t *index,
                                   const real *u, const real *const rows[4], real *sums)
{
    for (size_t i = 0; i < count; i++) {
        const size_t at = index[i] % ANT_REDUCE_BLOCK * wide, row = index[i] / ANT_REDUCE_BLOCK * wide;
        fill_row(wide, u + at, rows[0] + row, rows[1] + row, sums + at);
        if (both)
            fill_row(wide, u + at, rows[2] + row, rows[3] + row, sums + at);
    }
}

static void fill(size_t wide, bool both, size_t count, const uint32_t *index, const real *u,
                 const real *const rows[4], real *sums)
{
    if (wide == LANES && both) /* constants after inlining */
        fill_all(LANES, true, count, index, u, rows, sums);
    else if (wide == 2 * LANES && both)
        fill_all(2 * LANES, true, count, index, u, rows, sums);
    else
        fill_all(wide, both, count, index, u, rows, sums);
}

const ANT_FN(ant_reduce_gap_kernels) ANT_LEVEL(ant_reduce_gaps);
const ANT_FN(ant_reduce_gap_kernels) ANT_LEVEL(ant_reduce_gaps) = {
    .lanes = LANES,
    .clean = clean,
    .list = list,
    .blank = blank,
    .gram = gram,
    .factor = factor,
    .solve = solve,
    .apply = apply,
    .fill = fill,
};
