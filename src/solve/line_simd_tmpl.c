/*
 * line_simd_tmpl.c - kernels for one segment at a time, with vectors over hidden and latent units.
 *
 * The time of a step is the latency of its chain: P_a z, V z~, W phi and back.  Everything else (errors,
 * teacher, the hidden activity of the backward pass, all parameter gradients) is computed outside of this
 * chain; the gradients of a tile of steps are matrix products in registers.
 */
#include "solve/kernel.h"
#include "solve/vector.h"

#include <string.h>

enum { TILE = 16 };   /* time steps whose gradients are taken together */
enum { FLUSH = 128 }; /* tiles between two additions of the running sums into double */
enum { OUTER_COLS = LANES * sizeof(real) == 64 ? 4 : 2 }; /* wide vectors of a gradient in registers */
enum { PULL = 8 };                                        /* observed variables scaled at a time */

/* For each j < columns: the numbers source[j * next + i * step], i < rows, padded to whole vectors. */
static real *pack_columns(real *out, size_t columns, size_t rows, size_t width, const real *source,
                          size_t next, size_t step)
{
    const size_t padded = vectors(rows, width) * width;
    for (size_t j = 0; j < columns; j++) {
        for (size_t i = 0; i < padded; i++)
            *out++ = i < rows ? source[j * next + i * step] : 0;
    }
    return out;
}

/* The columns of P_a - I = -a B+ B. */
static real *pack_projector(real *out, const solve_call *p, size_t width, double a)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N, padded = vectors(M, width) * width;
    for (size_t j = 0; j < M; j++) {
        for (size_t i = 0; i < padded; i++) {
            double sum = 0.0;
            for (size_t n = 0; n < N && i < M; n++)
                sum += p->forcing->pinv64[i * N + n] * p->forcing->b64[n * M + j];
            *out++ = (real)(-a * sum);
        }
    }
    return out;
}

#include "solve/largest.h"

/* sums[i * row + j * col] += a[i, j].  a: (rows, stride) with `cols` in use */
static void add_matrix(const real *a, size_t rows, size_t cols, size_t stride, double *sums, size_t row,
                       size_t col)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            sums[i * row + j * col] += (double)a[i * stride + j];
    }
}

/* Run `function(count, offset, ...)` over `total` wide vectors in tiles of at most 8, as constants. */
#define WIDE_TILES(total, function, ...)                                                                     \
    do {                                                                                                     \
        size_t wide_at = 0;                                                                                  \
        for (; wide_at + 8 <= (total); wide_at += 8)                                                         \
            function(8, wide_at, __VA_ARGS__);                                                               \
        if ((total)-wide_at >= 4) {                                                                          \
            function(4, wide_at, __VA_ARGS__);                                                               \
            wide_at += 4;                                                                                    \
        }                                                                                                    \
        if ((total)-wide_at >= 2) {                                                                          \
            function(2, wide_at, __VA_ARGS__);                                                               \
            wide_at += 2;                                                                                    \
        }                                                                                                    \
        if ((total)-wide_at >= 1)                                                                            \
            function(1, wide_at, __VA_ARGS__);                                                               \
    } while (0)

static ALWAYS_INLINE void wide_tile(const size_t count, size_t stride, size_t depth, const vector *w,
                                    const real *x, vector *acc)
{
    for (size_t k = 0; k < depth; k++) {
        for (size_t c = 0; c < count; c++)
            acc[c] += x[k] * w[k * stride + c];
    }
}

/* 16 bytes of reals, which hold several horizontal sums. */
typedef real quad __attribute__((vector_size(16)));
enum { QUAD = 16 / sizeof(real) };
#if VECTOR_BYTES == 64
typedef real half __attribute__((vector_size(32)));
#endif

/* The sums of lanes that are QUAD apart. */
static ALWAYS_INLINE quad fold(vector x)
{
#if VECTOR_BYTES == 64 && ANT_REAL == 32
    const half y = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                   __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    return __builtin_shufflevector(y, y, 0, 1, 2, 3) + __builtin_shufflevector(y, y, 4, 5, 6, 7);
#elif VECTOR_BYTES == 64
    const half y = __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
    return __builtin_shufflevector(y, y, 0, 1) + __builtin_shufflevector(y, y, 2, 3);
#elif VECTOR_BYTES == 32 && ANT_REAL == 32
    return __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#elif VECTOR_BYTES == 32
    return __builtin_shufflevector(x, x, 0, 1) + __builtin_shufflevector(x, x, 2, 3);
#else
    return x;
#endif
}

/* Lane r of the result is the sum over all lanes of acc[r], r < QUAD. */
static ALWAYS_INLINE quad sums_of(const vector *acc)
{
    const quad a = fold(acc[0]), b = fold(acc[1]);
#if ANT_REAL == 32
    const quad c = fold(acc[2]), d = fold(acc[3]);
    const quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
    return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
#endif
}

static ALWAYS_INLINE void dots_tile(const size_t rows, size_t lv, const vector *w, const vector *x, real *out)
{
    vector acc[QUAD];
    for (size_t r = 0; r < QUAD; r++)
        acc[r] = (vector){0};
    for (size_t c = 0; c < lv; c++) {
        for (size_t r = 0; r < rows; r++)
            acc[r] += w[r * lv + c] * x[c];
    }
    *(quad *)out += sums_of(acc);
}

/* out_r += w_r . x for `rows` rows; `out` has room for a multiple of QUAD.  w: (rows, lv); x: (lv) */
static ALWAYS_INLINE void wide_dots(size_t rows, size_t lv, const vector *w, const vector *x, real *out)
{
    for (; rows >= QUAD; rows -= QUAD, w += QUAD * lv, out += QUAD)
        dots_tile(QUAD, lv, w, x, out);
    if (rows == 1)
        dots_tile(1, lv, w, x, out);
    else if (rows == 2)
        dots_tile(2, lv, w, x, out);
    else if (rows == 3)
        dots_tile(QUAD > 2 ? 3 : 2, lv, w, x, out);
}

static ALWAYS_INLINE void hidden_tile(const size_t count, size_t at, bool clipped, size_t lv, size_t M,
                                      const vector *V, const vector *b, const real *forced, vector *phi,
                                      vector *sum)
{
    vector acc[8];
    for (size_t c = 0; c < count; c++)
        acc[c] = clipped ? (vector){0} : b[at + c];
    wide_tile(count, lv, M, V + at, forced, acc);
    for (size_t c = 0; c < count; c++) {
        if (clipped && sum != NULL)
            sum[at + c] = acc[c];
        phi[at + c] = clipped ? relu(acc[c] + b[at + c]) - relu(acc[c]) : relu(acc[c]);
    }
}

/* phi = phi(V z~ + b) of the plain or the clipped model; then V z~ goes to `sum` unless it is NULL.  (lv)
 * each */
static ALWAYS_INLINE void wide_hidden(const ant_model_dims *d, size_t lv, const vector *V, const vector *b,
                                      const real *forced, vector *phi, vector *sum)
{
    if (d->clipped)
        WIDE_TILES(lv, hidden_tile, true, lv, d->M, V, b, forced, phi, sum);
    else
        WIDE_TILES(lv, hidden_tile, false, lv, d->M, V, b, forced, phi, sum);
}

enum { STEPS = 4 }; /* time steps that share one read of V in the backward pass */

static ALWAYS_INLINE void hidden_steps(const size_t count, size_t at, bool clipped, size_t lv, size_t M,
                                       const vector *V, const vector *b, const real *forced, vector *phi,
                                       vector *sum)
{
    vector acc[STEPS][4];
    for (size_t q = 0; q < STEPS; q++) {
        for (size_t c = 0; c < count; c++)
            acc[q][c] = clipped ? (vector){0} : b[at + c];
    }
    for (size_t m = 0; m < M; m++) {
        for (size_t c = 0; c < count; c++) {
            const vector column = V[m * lv + at + c];
            for (size_t q = 0; q < STEPS; q++)
                acc[q][c] += forced[q * M + m] * column;
        }
    }
    for (size_t q = 0; q < STEPS; q++) {
        for (size_t c = 0; c < count; c++) {
            const vector x = acc[q][c];
            if (clipped)
                sum[q * lv + at + c] = x;
            phi[q * lv + at + c] = clipped ? relu(x + b[at + c]) - relu(x) : relu(x);
        }
    }
}

/* wide_hidden for `count` steps.  forced: (count, M); phi, sum: (count, lv) */
static void wide_hidden_tile(const ant_model_dims *d, size_t count, size_t lv, const vector *V,
                             const vector *b, const real *forced, vector *phi, vector *sum)
{
    for (; count >= STEPS; count -= STEPS, forced += STEPS * d->M, phi += STEPS * lv, sum += STEPS * lv) {
        size_t at = 0;
        for (; at + 4 <= lv; at += 4) {
            if (d->clipped)
                hidden_steps(4, at, true, lv, d->M, V, b, forced, phi, sum);
            else
                hidden_steps(4, at, false, lv, d->M, V, b, forced, phi, sum);
        }
        for (; at < lv; at++)
            hidden_steps(1, at, d->clipped, lv, d->M, V, b, forced, phi, sum);
    }
    for (; count > 0; count--, forced += d->M, phi += lv, sum += lv)
        wide_hidden(d, lv, V, b, forced, phi, d->clipped ? sum : NULL);
}

static ALWAYS_INLINE void back_tile(const size_t count, size_t at, bool clipped, size_t lv, size_t depth,
                                    const vector *W, const vector *b, const real *v, const vector *sum,
                                    vector *u, vector *u_bias)
{
    vector acc[8];
    for (size_t c = 0; c < count; c++)
        acc[c] = (vector){0};
    wide_tile(count, lv, depth, W + at, v, acc);
    for (size_t c = 0; c < count; c++) {
        if (clipped) {
            u_bias[at + c] = masked(sum[at + c] + b[at + c] > 0, acc[c]);
            u[at + c] = u_bias[at + c] - masked(sum[at + c] > 0, acc[c]);
        } else {
            u[at + c] = masked(sum[at + c] > 0, acc[c]);
        }
    }
}

/* u = phi' o W^T v; `sum` holds phi, or V z~ when clipped. */
static ALWAYS_INLINE void wide_back(const ant_model_dims *d, size_t lv, size_t depth, const vector *W,
                                    const vector *b, const real *v, const vector *sum, vector *u,
                                    vector *u_bias)
{
    if (d->clipped)
        WIDE_TILES(lv, back_tile, true, lv, depth, W, b, v, sum, u, u_bias);
    else
        WIDE_TILES(lv, back_tile, false, lv, depth, W, b, v, sum, u, u_bias);
}

static ALWAYS_INLINE void outer_tile(const size_t rows, const size_t cols, size_t count, const real *left,
                                     size_t left_stride, const vector *right, size_t lv, vector *sums)
{
    vector acc[5][4];
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            acc[r][c] = sums[r * lv + c];
    }
    for (size_t k = 0; k < count; k++) {
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < cols; c++)
                acc[r][c] += left[k * left_stride + r] * right[k * lv + c];
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            sums[r * lv + c] = acc[r][c];
    }
}

static ALWAYS_INLINE void outer_rows(const size_t rows, size_t count, const real *left, size_t left_stride,
                                     const vector *right, size_t lv, vector *sums)
{
    size_t c = 0;
    for (; c + OUTER_COLS <= lv; c += OUTER_COLS)
        outer_tile(rows, OUTER_COLS, count, left, left_stride, right + c, lv, sums + c);
    for (; c < lv; c++)
        outer_tile(rows, 1, count, left, left_stride, right + c, lv, sums + c);
}

/* sums (rows, lv) += left^T right over `count` steps.  left: (count, left_stride); right: (count, lv) */
static void wide_outer(size_t count, const real *left, size_t rows, size_t left_stride, const vector *right,
                       size_t lv, vector *sums)
{
    size_t r = 0;
    for (; r + 5 <= rows; r += 5)
        outer_rows(5, count, left + r, left_stride, right, lv, sums + r * lv);
    switch (rows - r) {
    case 4:
        outer_rows(4, count, left + r, left_stride, right, lv, sums + r * lv);
        break;
    case 3:
        outer_rows(3, count, left + r, left_stride, right, lv, sums + r * lv);
        break;
    case 2:
        outer_rows(2, count, left + r, left_stride, right, lv, sums + r * lv);
        break;
    case 1:
        outer_rows(1, count, left + r, left_stride, right, lv, sums + r * lv);
        break;
    default:
        break;
    }
}

static double line_square(const solve_call *p, const group *g)
{
    const size_t N = p->layout->dims.N;
    double total = 0.0;
    for (size_t begin = 1; begin <= g->length; begin += 64) {
        const size_t end = begin + 64 < g->length + 1 ? begin + 64 : g->length + 1;
        real sum = 0;
        for (size_t i = begin; i < end; i++) {
            for (size_t n = 0; n < N; n++)
                sum += g->weight[i] > 0 ? g->error[i * N + n] * g->error[i * N + n] : 0;
        }
        total += (double)sum;
    }
    return total;
}

/* The kernels for latent vectors of `bytes` bytes; M decides which is used. */
#define SMALL_TYPES(bytes)                                                                                   \
    typedef real small##bytes __attribute__((vector_size(bytes)));                                           \
    typedef real loose##bytes __attribute__((vector_size(bytes), aligned(sizeof(real))));

SMALL_TYPES(16)
#define SMALL            small16
#define SMALL_WIDTH      ((size_t)16 / sizeof(real))
#define NAME(x)          x##16
#define LINE_SIZES(CASE) COMMON_SIZES(CASE)
#include "solve/line_body.h"
#undef SMALL
#undef SMALL_WIDTH
#undef NAME
#undef LINE_SIZES
#define LINE_SIZES(CASE)
#if VECTOR_BYTES == 32
SMALL_TYPES(32)
#define SMALL       small32
#define SMALL_WIDTH ((size_t)32 / sizeof(real))
#define NAME(x)     x##32
#include "solve/line_body.h"
#undef SMALL
#undef SMALL_WIDTH
#undef NAME
#endif
#if VECTOR_BYTES >= 64
SMALL_TYPES(64)
#define SMALL       small64
#define SMALL_WIDTH ((size_t)64 / sizeof(real))
#define NAME(x)     x##64
#include "solve/line_body.h"
#undef SMALL
#undef SMALL_WIDTH
#undef NAME
#endif

/* Latent states of up to 64 bytes are held in 16-byte vectors, to which the sums of wide_dots are added
   without a store and a load; larger ones in the widest vectors. */
#if VECTOR_BYTES == 64
#define BY_WIDTH(dims, call) ((dims)->M * sizeof(real) <= 64 ? call(16) : call(64))
#elif VECTOR_BYTES == 32
#define BY_WIDTH(dims, call) ((dims)->M * sizeof(real) <= 64 ? call(16) : call(32))
#else
#define BY_WIDTH(dims, call) call(16)
#endif

static size_t line_packed_count(const ant_model_dims *d)
{
#define CALL(bytes) packed_count##bytes(d)
    return BY_WIDTH(d, CALL);
#undef CALL
}

static size_t line_scratch_count(const ant_model_dims *d)
{
#define CALL(bytes) scratch_count##bytes(d)
    return BY_WIDTH(d, CALL);
#undef CALL
}

static void line_pack(const solve_call *p, real *packed)
{
#define CALL(bytes) pack##bytes(p, packed)
    BY_WIDTH(&p->layout->dims, CALL);
#undef CALL
}

static pass_result line_forward(const solve_call *p, const real *packed, group *g, double merge, bool attempt,
                                real *scratch)
{
    (void)attempt; /* never refuses */
#define CALL(bytes) forward##bytes(p, packed, g, merge, scratch)
    return BY_WIDTH(&p->layout->dims, CALL);
#undef CALL
}

static pass_result line_backward(const solve_call *p, const real *packed, group *g, bool loss, double floor,
                                 real *scratch, double *sums)
{
#define CALL(bytes) backward##bytes(p, packed, g, loss, floor, scratch, sums)
    return BY_WIDTH(&p->layout->dims, CALL);
#undef CALL
}

const ANT_FN(ant_kernels) ANT_LEVEL(ant_line);
const ANT_FN(ant_kernels) ANT_LEVEL(ant_line) = {
    .name = "line " ANT_LEVEL_TEXT,
    .lanes = 1,
    .packed_count = line_packed_count,
    .pack = line_pack,
    .scratch_count = line_scratch_count,
    .forward = line_forward,
    .backward = line_backward,
    .square = line_square,
};
