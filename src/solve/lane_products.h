/*
 * lane_products.h - the two products of the lane kernels: packed matrix times a column of vectors, and sums
 * of outer products over time.  Both keep a tile in registers; tile sizes are constants after inlining.
 * For lane_simd_tmpl.c only.
 */
#ifndef ANT_SOLVE_LANE_PRODUCTS_H
#define ANT_SOLVE_LANE_PRODUCTS_H

#include "solve/vector.h"

#include <stddef.h>

enum { TILE_ROWS = 8 }; /* rows of a product that are kept in registers */
enum { SUM_TILE = 4 };  /* rows and columns of a gradient that are kept in registers */

/* Where the tile that begins at row `begin` ends: tiles have at most TILE_ROWS rows and nearly equal sizes.
 */
static size_t tile_end(size_t rows, size_t begin)
{
    const size_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, each = rows / tiles, larger = rows % tiles;
    return begin + each + (begin < larger * (each + 1) ? 1 : 0);
}

/* acc_r += sum_k w[k, r] x_k for a tile of `rows` (a constant after inlining) rows. */
static ALWAYS_INLINE void tile_multiply(const size_t rows, size_t depth, const real *w, const vector *x,
                                        vector *acc)
{
    size_t k = 0;
    if (rows < 4) { /* two sums, as each addition depends on the one before */
        vector odd[TILE_ROWS];
        for (size_t r = 0; r < rows; r++)
            odd[r] = (vector){0};
        for (; k + 2 <= depth; k += 2) {
            for (size_t r = 0; r < rows; r++) {
                acc[r] += w[k * rows + r] * x[k];
                odd[r] += w[(k + 1) * rows + r] * x[k + 1];
            }
        }
        for (size_t r = 0; r < rows; r++)
            acc[r] += odd[r];
    }
    for (; k < depth; k++) {
        for (size_t r = 0; r < rows; r++)
            acc[r] += w[k * rows + r] * x[k];
    }
}

static ALWAYS_INLINE void add_rows(const size_t rows, size_t depth, const real *w, const vector *x,
                                   vector *out)
{
    vector acc[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        acc[r] = out[r];
    tile_multiply(rows, depth, w, x, acc);
    for (size_t r = 0; r < rows; r++)
        out[r] = acc[r];
}

/* Call `function(rows, ...)` with `rows` as a constant. */
#define WITH_ROWS(rows, function, ...)                                                                       \
    switch (rows) {                                                                                          \
    case 1:                                                                                                  \
        function(1, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 2:                                                                                                  \
        function(2, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 3:                                                                                                  \
        function(3, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 4:                                                                                                  \
        function(4, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 5:                                                                                                  \
        function(5, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 6:                                                                                                  \
        function(6, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 7:                                                                                                  \
        function(7, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    default:                                                                                                 \
        function(8, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    }

/* out += W x.  x: (depth); out: (rows) */
static void add_product(size_t rows, size_t depth, const real *w, const vector *x, vector *out)
{
    for (size_t begin = 0, end; begin < rows; begin = end) {
        end = tile_end(rows, begin);
        WITH_ROWS(end - begin, add_rows, depth, w + begin * depth, x, out + begin)
    }
}

/* sums[r, c] += sum over `count` steps of left_r right_c, for a tile. */
static ALWAYS_INLINE void sum_tile(const size_t rows, const size_t cols, size_t count, const vector *left,
                                   size_t left_stride, const vector *right, size_t right_stride, vector *sums,
                                   size_t sums_stride)
{
    vector acc[SUM_TILE][SUM_TILE];
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            acc[r][c] = sums[r * sums_stride + c];
    }
    for (size_t t = 0; t < count; t++) {
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < cols; c++)
                acc[r][c] += left[t * left_stride + r] * right[t * right_stride + c];
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            sums[r * sums_stride + c] = acc[r][c];
    }
}

static ALWAYS_INLINE void sum_rows(const size_t rows, size_t count, const vector *left, size_t cols,
                                   size_t left_stride, const vector *right, vector *sums)
{
    size_t c = 0;
    for (; c + 4 <= cols; c += 4)
        sum_tile(rows, 4, count, left, left_stride, right + c, cols, sums + c, cols);
    switch (cols - c) {
    case 3:
        sum_tile(rows, 3, count, left, left_stride, right + c, cols, sums + c, cols);
        break;
    case 2:
        sum_tile(rows, 2, count, left, left_stride, right + c, cols, sums + c, cols);
        break;
    case 1:
        sum_tile(rows, 1, count, left, left_stride, right + c, cols, sums + c, cols);
        break;
    default:
        break;
    }
}

/* sums (rows, cols) += left^T right over `count` steps.  left: (count, rows); right: (count, cols) */
static void add_outer(size_t count, const vector *left, size_t rows, const vector *right, size_t cols,
                      vector *sums)
{
    size_t r = 0;
    for (; r + 4 <= rows; r += 4)
        sum_rows(4, count, left + r, cols, rows, right, sums + r * cols);
    switch (rows - r) {
    case 3:
        sum_rows(3, count, left + r, cols, rows, right, sums + r * cols);
        break;
    case 2:
        sum_rows(2, count, left + r, cols, rows, right, sums + r * cols);
        break;
    case 1:
        sum_rows(1, count, left + r, cols, rows, right, sums + r * cols);
        break;
    default:
        break;
    }
}

/* sums (cols) += sum over `count` steps of rows of `right` (count, cols), times `left` unless NULL. */
static void add_rows_up(size_t count, const vector *left, const vector *right, size_t cols, vector *sums)
{
    for (size_t c = 0; c < cols; c++) {
        vector sum = sums[c];
        for (size_t t = 0; t < count; t++) {
            if (left == NULL)
                sum += right[t * cols + c];
            else
                sum += left[t * cols + c] * right[t * cols + c];
        }
        sums[c] = sum;
    }
}

#endif
