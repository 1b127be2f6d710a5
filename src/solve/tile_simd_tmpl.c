/*
 * tile_simd_tmpl.c - products on tiles of steps (tile.h), once per instruction set.
 *
 * A product keeps ROWS x GROUP vectors in registers: every vector of x that is loaded is used for ROWS
 * outputs, every weight for GROUP vectors.
 */
#include "solve/tile.h"
#include "solve/vector.h"

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)
#define TEXT(level)         #level
#define TEXT_OF(level)      TEXT(level)

enum {
    VECTORS = ANT_TILE / LANES,         /* of a row */
    ROWS = 4,                           /* outputs at a time */
    GROUP = VECTOR_BYTES == 64 ? 4 : 2, /* vectors at a time; 16 registers in use, or 8 */
};

/* y_r += sum_k weight(r, k) x_k for `rows` outputs, weight(r, k) = W[r * row_step + k * step]. */
static ALWAYS_INLINE void multiply_rows(int rows, const real *W, size_t row_step, size_t step, size_t count,
                                        const real *x, real *y)
{
    for (int v = 0; v < VECTORS; v += GROUP) {
        vector sum[ROWS][GROUP];
        for (int r = 0; r < rows; r++) {
            for (int g = 0; g < GROUP; g++)
                sum[r][g] = ((const vector *)(y + r * ANT_TILE))[v + g];
        }
        for (size_t k = 0; k < count; k++) {
            const vector *in = (const vector *)(x + k * ANT_TILE) + v;
            for (int r = 0; r < rows; r++) {
                const vector weight = splat(W[(size_t)r * row_step + k * step]);
                for (int g = 0; g < GROUP; g++)
                    sum[r][g] += weight * in[g];
            }
        }
        for (int r = 0; r < rows; r++) {
            for (int g = 0; g < GROUP; g++)
                ((vector *)(y + r * ANT_TILE))[v + g] = sum[r][g];
        }
    }
}

static void multiply_by(const real *W, size_t row_step, size_t step, size_t outputs, size_t inputs,
                        const real *x, real *y)
{
    size_t r = 0;
    for (; r + ROWS <= outputs; r += ROWS)
        multiply_rows(ROWS, W + r * row_step, row_step, step, inputs, x, y + r * ANT_TILE);
    for (; r < outputs; r++)
        multiply_rows(1, W + r * row_step, row_step, step, inputs, x, y + r * ANT_TILE);
}

static void multiply(const real *W, size_t rows, size_t cols, const real *x, real *y)
{
    multiply_by(W, cols, 1, rows, cols, x, y);
}

static void multiply_back(const real *W, size_t rows, size_t cols, const real *dy, real *dx)
{
    multiply_by(W, 1, cols, cols, rows, dy, dx);
}

/* rows x cols sums, held in registers over the whole tile of steps. */
static ALWAYS_INLINE void outer_tile(int rows, int cols, const real *dy, const real *x, size_t stride,
                                     real *dW)
{
    vector sum[ROWS][ROWS];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++)
            sum[i][j] = *(const vector *)(dW + ((size_t)i * stride + (size_t)j) * LANES);
    }
    for (int v = 0; v < VECTORS; v++) {
        for (int i = 0; i < rows; i++) {
            const vector left = ((const vector *)(dy + i * ANT_TILE))[v];
            for (int j = 0; j < cols; j++)
                sum[i][j] += left * ((const vector *)(x + j * ANT_TILE))[v];
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++)
            *(vector *)(dW + ((size_t)i * stride + (size_t)j) * LANES) = sum[i][j];
    }
}

static ALWAYS_INLINE void outer_rows(int rows, const real *dy, const real *x, size_t cols, real *dW)
{
    size_t j = 0;
    for (; j + ROWS <= cols; j += ROWS)
        outer_tile(rows, ROWS, dy, x + j * ANT_TILE, cols, dW + j * LANES);
    for (; j < cols; j++)
        outer_tile(rows, 1, dy, x + j * ANT_TILE, cols, dW + j * LANES);
}

static void outer(const real *dy, size_t rows, const real *x, size_t cols, real *dW)
{
    size_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        outer_rows(ROWS, dy + i * ANT_TILE, x, cols, dW + i * cols * LANES);
    for (; i < rows; i++)
        outer_rows(1, dy + i * ANT_TILE, x, cols, dW + i * cols * LANES);
}

static void sum_rows(const real *dy, size_t rows, real *db)
{
    for (size_t i = 0; i < rows; i++) {
        vector sum = *(const vector *)(db + i * LANES);
        for (int v = 0; v < VECTORS; v++)
            sum += ((const vector *)(dy + i * ANT_TILE))[v];
        *(vector *)(db + i * LANES) = sum;
    }
}

static void relu_all(size_t rows, real *y)
{
    for (size_t i = 0; i < rows * VECTORS; i++)
        ((vector *)y)[i] = relu(((vector *)y)[i]);
}

static void relu_back(size_t rows, const real *y, real *dy)
{
    for (size_t i = 0; i < rows * VECTORS; i++)
        ((vector *)dy)[i] = masked(((const vector *)y)[i] > 0, ((vector *)dy)[i]);
}

static ALWAYS_INLINE void dots_tile(int rows, int cols, const real *a, const real *b, size_t stride,
                                    real *out)
{
    vector sum[ROWS][ROWS] = {{{0}}};
    for (int v = 0; v < VECTORS; v++) {
        for (int i = 0; i < rows; i++) {
            const vector left = ((const vector *)(a + i * ANT_TILE))[v];
            for (int j = 0; j < cols; j++)
                sum[i][j] += left * ((const vector *)(b + j * ANT_TILE))[v];
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++)
            out[(size_t)i * stride + (size_t)j] = (real)vector_sum(sum[i][j]);
    }
}

static void dots(const real *a, size_t rows, const real *b, size_t cols, real *out)
{
    for (size_t i = 0; i < rows; i += ROWS) {
        for (size_t j = 0; j < cols; j += ROWS) {
            const real *left = a + i * ANT_TILE, *right = b + j * ANT_TILE;
            if (i + ROWS <= rows && j + ROWS <= cols) {
                dots_tile(ROWS, ROWS, left, right, cols, out + i * cols + j);
                continue;
            }
            for (size_t k = i; k < rows && k < i + ROWS; k++) {
                for (size_t l = j; l < cols && l < j + ROWS; l++)
                    dots_tile(1, 1, a + k * ANT_TILE, b + l * ANT_TILE, cols, out + k * cols + l);
            }
        }
    }
}

/*
 * e^x = 2^k e^r with k the whole number nearest to x / ln 2, and e^r, |r| <= ln 2 / 2, by its Taylor series:
 * the first term that is left out is below rounding.  Adding 1.5 2^(mantissa bits) to x / ln 2 leaves k in
 * the lowest bits, from where it is shifted into the exponent.  NaN stays NaN.
 */
#if ANT_REAL == 32
enum { MANTISSA = 23, TERMS = 8 };
#define MAGIC    R(12582912.0)
#define LN2      R(0.693359375) /* few bits: k LN2 is exact */
#define LN2_LOW  R(-2.12194440e-4)
#define FARTHEST R(87.0)
#else
enum { MANTISSA = 52, TERMS = 14 };
#define MAGIC    R(6755399441055744.0)
#define LN2      R(6.93147180369123816490e-01)
#define LN2_LOW  R(1.90821492927058770002e-10)
#define FARTHEST R(708.0)
#endif
#define INVERSE_LN2 R(1.44269504088896340736)

static ALWAYS_INLINE vector choose(vector_mask mask, vector yes, vector no)
{
    return (vector)(((vector_mask)yes & mask) | ((vector_mask)no & ~mask));
}

static ALWAYS_INLINE vector exponential_of(vector given)
{
    static const real inverse_factorial[] = {R(1.0),
                                             R(1.0),
                                             R(1.0) / 2,
                                             R(1.0) / 6,
                                             R(1.0) / 24,
                                             R(1.0) / 120,
                                             R(1.0) / 720,
                                             R(1.0) / 5040,
                                             R(1.0) / 40320,
                                             R(1.0) / 362880,
                                             R(1.0) / 3628800,
                                             R(1.0) / 39916800,
                                             R(1.0) / 479001600,
                                             R(1.0) / R(6227020800.0)};
    const vector most = splat(FARTHEST);
    vector x = choose(given > most, most, given);
    x = choose(x < -most, -most, x);
    const vector shifted = x * splat(INVERSE_LN2) + splat(MAGIC), k = shifted - splat(MAGIC);
    const vector rest = (x - k * splat(LN2)) - k * splat(LN2_LOW);
    vector sum = splat(inverse_factorial[TERMS - 1]);
    for (int i = TERMS - 2; i >= 0; i--)
        sum = sum * rest + splat(inverse_factorial[i]);
    const vector scaled = (vector)((vector_mask)sum + ((vector_mask)shifted << MANTISSA));
    return choose(given == given, scaled, given); /* NOLINT(misc-redundant-expression): NaN */
}

static void exponential(size_t rows, const real *x, real *y)
{
    for (size_t i = 0; i < rows * VECTORS; i++)
        ((vector *)y)[i] = exponential_of(((const vector *)x)[i]);
}

static void sigmoid(size_t rows, const real *x, real *y)
{
    for (size_t i = 0; i < rows * VECTORS; i++)
        ((vector *)y)[i] = splat(1) / (splat(1) + exponential_of(-((const vector *)x)[i]));
}

/* One row of either: weights = factor weights with a new 1 at `place`, out += weights o kernel. */
static ALWAYS_INLINE void decay_row(real factor, size_t place, const real *kernel, real *weights, real *out)
{
    for (int v = 0; v < VECTORS; v++)
        ((vector *)weights)[v] *= splat(factor);
    weights[place] = 1;
    for (int v = 0; v < VECTORS; v++)
        ((vector *)out)[v] += ((vector *)weights)[v] * ((const vector *)kernel)[v];
}

static void decay_later(const real *decay, const real *kernel, real *out)
{
    vector weights[VECTORS] = {{0}};
    for (size_t t = 0; t < ANT_TILE; t++)
        decay_row(decay[t], t, kernel + t * ANT_TILE, (real *)weights, out + t * ANT_TILE);
}

static void decay_earlier(const real *decay, const real *kernel, real *out)
{
    vector weights[VECTORS] = {{0}};
    for (size_t r = ANT_TILE; r-- > 0;)
        decay_row(r + 1 < ANT_TILE ? decay[r + 1] : 0, r, kernel + r * ANT_TILE, (real *)weights,
                  out + r * ANT_TILE);
}

static void collapse(const real *sums, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] += vector_sum(((const vector *)sums)[i]);
}

const ANT_FN(ant_tile_kernels) EXPAND(ANT_FN(ant_tile), ANT_SIMD) = {
    .name = "tile " TEXT_OF(ANT_SIMD),
    .lanes = LANES,
    .multiply = multiply,
    .multiply_back = multiply_back,
    .outer = outer,
    .sum_rows = sum_rows,
    .relu = relu_all,
    .relu_back = relu_back,
    .dots = dots,
    .exponential = exponential,
    .sigmoid = sigmoid,
    .decay_later = decay_later,
    .decay_earlier = decay_earlier,
    .collapse = collapse,
};
