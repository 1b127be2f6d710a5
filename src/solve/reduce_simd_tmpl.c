/*
 * reduce_simd_tmpl.c - loops over many observed variables (reduce.h), once per instruction set.
 *
 * Vectors run over variables, and a tile of rows or latent units shares each of them in registers.
 */
#include "solve/kernel.h"
#include "solve/reduce.h"
#include "solve/vector.h"

enum {
    ROWS = 4,
    COLS = VECTOR_BYTES == 64 ? 4 : 2, /* vectors or latent units at a time; 16 sums in registers, or 8 */
};

/* `count` reals from memory of any alignment, then zeros. */
static ALWAYS_INLINE vector load(const real *from, const size_t count)
{
    return count >= LANES ? (vector) * (const vector_loose *)from : load_lanes(from, count);
}

/* The next `count` variables.  Sizes that come first are constants after inlining. */
static ALWAYS_INLINE void project_step(const size_t rows, const size_t cols, const size_t count, size_t N,
                                       const real *x, const real *u, size_t stride, vector (*sum)[COLS])
{
    vector left[ROWS];
    for (size_t r = 0; r < rows; r++)
        left[r] = load(x + r * N, count);
    for (size_t c = 0; c < cols; c++) {
        const vector right = *(const vector *)(u + c * stride);
        for (size_t r = 0; r < rows; r++)
            sum[r][c] += left[r] * right;
    }
}

static ALWAYS_INLINE void project_tile(const size_t rows, const size_t cols, size_t M, size_t N,
                                       const real *x, const real *u, size_t stride, real *out)
{
    vector sum[ROWS][COLS];
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            sum[r][c] = (vector){0};
    }
    size_t n = 0;
    for (; n + LANES <= N; n += LANES)
        project_step(rows, cols, LANES, N, x + n, u + n, stride, sum);
    if (n < N)
        project_step(rows, cols, N - n, N, x + n, u + n, stride, sum);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            out[r * M + c] = (real)vector_sum(sum[r][c]);
    }
}

static void project(size_t M, size_t N, size_t rows, const real *x, const real *u, size_t stride, real *out)
{
    for (; rows > 0; rows -= rows < ROWS ? 1 : ROWS) {
        const size_t now = rows < ROWS ? 1 : ROWS;
        size_t m = 0;
        for (; m + COLS <= M; m += COLS) {
            if (now == ROWS)
                project_tile(ROWS, COLS, M, N, x, u + m * stride, stride, out + m);
            else
                project_tile(1, COLS, M, N, x, u + m * stride, stride, out + m);
        }
        for (; m < M; m++) {
            if (now == ROWS)
                project_tile(ROWS, 1, M, N, x, u + m * stride, stride, out + m);
            else
                project_tile(1, 1, M, N, x, u + m * stride, stride, out + m);
        }
        x += now * N;
        out += now * M;
    }
}

static ALWAYS_INLINE void rest_tile(const size_t rows, const size_t cols, size_t M, size_t N, size_t count,
                                    const real *x, const real *short_x, const real *u, size_t stride,
                                    real *out, size_t width)
{
    vector sum[ROWS][COLS];
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            sum[r][c] = load(x + r * N + c * LANES, cols > 1 ? LANES : count);
    }
    for (size_t m = 0; m < M; m++) {
        for (size_t c = 0; c < cols; c++) {
            const vector right = *(const vector *)(u + m * stride + c * LANES);
            for (size_t r = 0; r < rows; r++)
                sum[r][c] -= short_x[r * M + m] * right;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            *(vector *)(out + r * width + c * LANES) = sum[r][c];
    }
}

static void rest(size_t M, size_t N, size_t rows, size_t count, const real *x, const real *short_x,
                 const real *u, size_t stride, real *out, size_t width)
{
    while (rows > 0) {
        const size_t now = rows < ROWS ? 1 : ROWS;
        size_t n = 0;
        for (; n + COLS * LANES <= count; n += COLS * LANES) {
            if (now == ROWS)
                rest_tile(ROWS, COLS, M, N, count - n, x + n, short_x, u + n, stride, out + n, width);
            else
                rest_tile(1, COLS, M, N, count - n, x + n, short_x, u + n, stride, out + n, width);
        }
        for (; n < count; n += LANES) {
            if (now == ROWS)
                rest_tile(ROWS, 1, M, N, count - n, x + n, short_x, u + n, stride, out + n, width);
            else
                rest_tile(1, 1, M, N, count - n, x + n, short_x, u + n, stride, out + n, width);
        }
        x += now * N;
        short_x += now * M;
        out += now * width;
        rows -= now;
    }
}

static ALWAYS_INLINE void outer_tile(const size_t units, const size_t cols, size_t rows, size_t width,
                                     const real *left, size_t left_stride, const real *right, size_t stride,
                                     real *sums)
{
    vector sum[ROWS][COLS];
    for (size_t m = 0; m < units; m++) {
        for (size_t c = 0; c < cols; c++)
            sum[m][c] = *(const vector *)(sums + m * width + c * LANES);
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            const vector row = *(const vector *)(right + r * stride + c * LANES);
            for (size_t m = 0; m < units; m++)
                sum[m][c] += left[r * left_stride + m] * row;
        }
    }
    for (size_t m = 0; m < units; m++) {
        for (size_t c = 0; c < cols; c++)
            *(vector *)(sums + m * width + c * LANES) = sum[m][c];
    }
}

static void outer(size_t M, size_t rows, size_t width, const real *left, size_t left_stride,
                  const real *right, size_t stride, real *sums)
{
    size_t n = 0;
    for (; n + COLS * LANES <= width; n += COLS * LANES) {
        size_t m = 0;
        for (; m + ROWS <= M; m += ROWS)
            outer_tile(ROWS, COLS, rows, width, left + m, left_stride, right + n, stride,
                       sums + m * width + n);
        for (; m < M; m++)
            outer_tile(1, COLS, rows, width, left + m, left_stride, right + n, stride, sums + m * width + n);
    }
    for (; n < width; n += LANES) {
        size_t m = 0;
        for (; m + ROWS <= M; m += ROWS)
            outer_tile(ROWS, 1, rows, width, left + m, left_stride, right + n, stride, sums + m * width + n);
        for (; m < M; m++)
            outer_tile(1, 1, rows, width, left + m, left_stride, right + n, stride, sums + m * width + n);
    }
}

static double square(size_t count, const real *x)
{
    enum { CHAINS = 4, MANY = 16 }; /* vectors of a chain that are added before they go over to double */
    double total = 0.0;
    for (size_t at = 0; at < count;) {
        const size_t end = count - at < CHAINS * MANY * LANES ? count : at + CHAINS * MANY * LANES;
        vector sum[CHAINS] = {{0}, {0}, {0}, {0}};
        for (; at + CHAINS * LANES <= end; at += CHAINS * LANES) {
            for (size_t k = 0; k < CHAINS; k++)
                sum[k] += *(const vector *)(x + at + k * LANES) * *(const vector *)(x + at + k * LANES);
        }
        for (; at < end; at += LANES)
            sum[0] += *(const vector *)(x + at) * *(const vector *)(x + at);
        total += vector_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
    return total;
}

const ANT_FN(ant_reduce_kernels) ANT_LEVEL(ant_reduce);
const ANT_FN(ant_reduce_kernels) ANT_LEVEL(ant_reduce) = {
    .lanes = LANES,
    .project = project,
    .rest = rest,
    .outer = outer,
    .square = square,
};
