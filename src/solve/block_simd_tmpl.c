/*
 * block_simd_tmpl.c - products on blocks of time (block.h), once per instruction set.
 *
 * A product keeps a tile of ROWS x GROUP vectors in registers: every vector of x that is loaded serves ROWS
 * outputs, every weight GROUP vectors.
 */
#include "solve/block.h"
#include "solve/vector.h"

#define PASTE(name, level)  name##_##level
#define EXPAND(name, level) PASTE(name, level)
#define TEXT(level)         #level
#define TEXT_OF(level)      TEXT(level)

enum {
    VECTORS = ANT_BLOCK / LANES,        /* of a row */
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
                sum[r][g] = ((const vector *)(y + r * ANT_BLOCK))[v + g];
        }
        for (size_t k = 0; k < count; k++) {
            const vector *in = (const vector *)(x + k * ANT_BLOCK) + v;
            for (int r = 0; r < rows; r++) {
                const vector weight = splat(W[(size_t)r * row_step + k * step]);
                for (int g = 0; g < GROUP; g++)
                    sum[r][g] += weight * in[g];
            }
        }
        for (int r = 0; r < rows; r++) {
            for (int g = 0; g < GROUP; g++)
                ((vector *)(y + r * ANT_BLOCK))[v + g] = sum[r][g];
        }
    }
}

static void multiply_by(const real *W, size_t row_step, size_t step, size_t outputs, size_t inputs,
                        const real *x, real *y)
{
    size_t r = 0;
    for (; r + ROWS <= outputs; r += ROWS)
        multiply_rows(ROWS, W + r * row_step, row_step, step, inputs, x, y + r * ANT_BLOCK);
    for (; r < outputs; r++)
        multiply_rows(1, W + r * row_step, row_step, step, inputs, x, y + r * ANT_BLOCK);
}

static void multiply(const real *W, size_t rows, size_t cols, const real *x, real *y)
{
    multiply_by(W, cols, 1, rows, cols, x, y);
}

static void multiply_back(const real *W, size_t rows, size_t cols, const real *dy, real *dx)
{
    multiply_by(W, 1, cols, cols, rows, dy, dx);
}

/* A tile of rows x cols sums, kept in registers over the whole block. */
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
            const vector left = ((const vector *)(dy + i * ANT_BLOCK))[v];
            for (int j = 0; j < cols; j++)
                sum[i][j] += left * ((const vector *)(x + j * ANT_BLOCK))[v];
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
        outer_tile(rows, ROWS, dy, x + j * ANT_BLOCK, cols, dW + j * LANES);
    for (; j < cols; j++)
        outer_tile(rows, 1, dy, x + j * ANT_BLOCK, cols, dW + j * LANES);
}

static void outer(const real *dy, size_t rows, const real *x, size_t cols, real *dW)
{
    size_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        outer_rows(ROWS, dy + i * ANT_BLOCK, x, cols, dW + i * cols * LANES);
    for (; i < rows; i++)
        outer_rows(1, dy + i * ANT_BLOCK, x, cols, dW + i * cols * LANES);
}

static void sum_rows(const real *dy, size_t rows, real *db)
{
    for (size_t i = 0; i < rows; i++) {
        vector sum = *(const vector *)(db + i * LANES);
        for (int v = 0; v < VECTORS; v++)
            sum += ((const vector *)(dy + i * ANT_BLOCK))[v];
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
        ((vector *)dy)[i] = select(((const vector *)y)[i] > 0, ((vector *)dy)[i]);
}

static void collapse(const real *sums, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] += vector_sum(((const vector *)sums)[i]);
}

const ANT_FN(ant_block_kernels) EXPAND(ANT_FN(ant_block), ANT_SIMD) = {
    .name = "block " TEXT_OF(ANT_SIMD),
    .lanes = LANES,
    .multiply = multiply,
    .multiply_back = multiply_back,
    .outer = outer,
    .sum_rows = sum_rows,
    .relu = relu_all,
    .relu_back = relu_back,
    .collapse = collapse,
};
