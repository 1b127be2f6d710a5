/*
 * lane_products.h - the products of the lane kernels: packed matrix times a column of vectors, for one step
 * or for several at once, and sums of outer products over time.  All keep a tile in registers; tile sizes are
 * constants after inlining.  For the lane kernels only.
 *
 * Every number is one chain of multiply-adds, in the order of the columns or of the steps.  So tile sizes,
 * and how many rows a vector holds, change no bit.
 */
#ifndef ANT_SOLVE_LANE_PRODUCTS_H
#define ANT_SOLVE_LANE_PRODUCTS_H

#include "solve/lane_wide.h"

#include <stdbool.h>

#if VECTOR_BYTES == 64 || defined(ANT_LANE_ROWS) /* 32 registers */
enum { TILE_ROWS = 16, BLOCK_ROWS = 4, SUM_COLS = 6 };
#else
enum { TILE_ROWS = 8, BLOCK_ROWS = 2, SUM_COLS = 3 };
#endif
enum {
    BLOCK_STEPS = 4, /* steps of a product that are computed together */
    SUM_ROWS = 4,    /* rows of a gradient that are kept in registers */
    AHEAD = 64,      /* vectors of sums that are fetched before they are needed */
    SHORT_ROWS = 4,  /* products with fewer rows have two sums per row */
};

/* `count` things in parts of at most `most` and nearly equal sizes. */
typedef struct division {
    size_t each, larger; /* the first `larger` parts have one more than `each` */
} division;

static ALWAYS_INLINE division divide(size_t count, size_t most)
{
    const size_t parts = (count + most - 1) / most;
    return parts == 0 ? (division){1, 0} : (division){count / parts, count % parts};
}

/* Where the part that begins at `begin` ends. */
static ALWAYS_INLINE size_t part_end(const division *d, size_t begin)
{
    return begin + d->each + (begin < d->larger * (d->each + 1) ? 1 : 0);
}

enum { COLUMNS = ROWS < 2 ? 2 : ROWS }; /* of a product, in a turn of its loop */

/*
 * What column k + i of a matrix is multiplied with; k a multiple of COLUMNS, i a constant below.  x: every
 * lane repeated; `joined`: as products leave it, ROWS rows in a vector
 */
static ALWAYS_INLINE wide factor(const bool joined, const wide *x, size_t k, const size_t i)
{
    if (ROWS == 1 || !joined)
        return x[k + i];
    return row_repeated(x[k / ROWS], i);
}

/* acc_r += w[r] x */
static ALWAYS_INLINE void add_column(const size_t rows, const real *w, wide x, wide *acc)
{
    for (size_t r = 0; r < rows; r++)
        acc[r] += weights_at(w + r * ROWS) * x;
}

/* The same as tile_multiply for few rows: two sums of each, as each addition waits for the last. */
static ALWAYS_INLINE void short_multiply(const size_t rows, size_t depth, const real *w, const bool joined,
                                         const wide *x, wide *acc)
{
    wide odd[SHORT_ROWS] = {{0}};
    const size_t stride = rows * ROWS;
    size_t k = 0;
    for (; k + COLUMNS <= depth; k += COLUMNS, w += COLUMNS * stride) {
        for (size_t i = 0; i < COLUMNS; i++)
            add_column(rows, w + i * stride, factor(joined, x, k, i), i % 2 == 0 ? acc : odd);
    }
    const size_t left = depth - k;
    for (size_t i = 0; i + 1 < COLUMNS; i++) {
        if (i < left / 2 * 2)
            add_column(rows, w + i * stride, factor(joined, x, k, i), i % 2 == 0 ? acc : odd);
    }
    for (size_t r = 0; r < rows; r++)
        acc[r] += odd[r];
    for (size_t i = 0; i + 1 < COLUMNS; i += 2) {
        if (i + 1 == left)
            add_column(rows, w + i * stride, factor(joined, x, k, i), acc);
    }
}

/*
 * acc_r += sum_k w[k, r] x_k for a tile of `rows` (a constant after inlining) vectors of rows.  two_sums: a
 * matrix of fewer than SHORT_ROWS rows
 */
static ALWAYS_INLINE void tile_multiply(const size_t rows, bool two_sums, size_t depth, const real *w,
                                        const bool joined, const wide *x, wide *acc)
{
    const size_t stride = rows * ROWS;
    size_t k = 0;
    if (rows < SHORT_ROWS && two_sums) {
        short_multiply(rows, depth, w, joined, x, acc);
        return;
    }
    for (; k + COLUMNS <= depth; k += COLUMNS, w += COLUMNS * stride) {
        for (size_t i = 0; i < COLUMNS; i++)
            add_column(rows, w + i * stride, factor(joined, x, k, i), acc);
    }
    for (size_t i = 0; i + 1 < COLUMNS; i++) {
        if (k + i < depth)
            add_column(rows, w + i * stride, factor(joined, x, k, i), acc);
    }
}

/* `left` rows of `out` are there from here on; the last vector may hold more. */
static ALWAYS_INLINE void add_rows(const size_t rows, bool two_sums, size_t depth, const real *w,
                                   const bool joined, const wide *x, size_t left, vector *out)
{
    wide acc[TILE_ROWS];
    for (size_t r = 0; r < rows; r++)
        acc[r] = rows_load(out + r * ROWS, left - r * ROWS);
    tile_multiply(rows, two_sums, depth, w, joined, x, acc);
    for (size_t r = 0; r < rows; r++)
        rows_store(out + r * ROWS, acc[r], left - r * ROWS);
}

/* Call `function(rows, ...)` with `rows` as a constant. */
#define ROWS_CASE(rows, function, ...)                                                                       \
    case rows:                                                                                               \
        function(rows, __VA_ARGS__);                                                                         \
        break;
#if VECTOR_BYTES == 64 || defined(ANT_LANE_ROWS)
#define MORE_ROWS(function, ...)                                                                             \
    ROWS_CASE(8, function, __VA_ARGS__)                                                                      \
    ROWS_CASE(9, function, __VA_ARGS__)                                                                      \
    ROWS_CASE(10, function, __VA_ARGS__)                                                                     \
    ROWS_CASE(11, function, __VA_ARGS__)                                                                     \
    ROWS_CASE(12, function, __VA_ARGS__)                                                                     \
    ROWS_CASE(13, function, __VA_ARGS__)                                                                     \
    ROWS_CASE(14, function, __VA_ARGS__)                                                                     \
    ROWS_CASE(15, function, __VA_ARGS__)
#else
#define MORE_ROWS(function, ...)
#endif
#define WITH_ROWS(rows, function, ...)                                                                       \
    switch (rows) {                                                                                          \
        ROWS_CASE(1, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(2, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(3, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(4, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(5, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(6, function, __VA_ARGS__)                                                                  \
        ROWS_CASE(7, function, __VA_ARGS__)                                                                  \
        MORE_ROWS(function, __VA_ARGS__)                                                                     \
    default:                                                                                                 \
        function(TILE_ROWS, __VA_ARGS__);                                                                    \
        break;                                                                                               \
    }

/* out += W x.  x: (depth), repeated or joined; out: (rows) */
static ALWAYS_INLINE void add_product_of(size_t rows, size_t depth, const real *w, const bool joined,
                                         const wide *x, vector *out)
{
    const division tiles = divide(wides(rows), TILE_ROWS);
    const bool two_sums = rows < SHORT_ROWS;
    for (size_t begin = 0, end; begin < wides(rows); begin = end) {
        end = part_end(&tiles, begin);
        WITH_ROWS(end - begin, add_rows, two_sums, depth, w + begin * ROWS * depth, joined, x,
                  rows - begin * ROWS, out + begin * ROWS)
    }
}

static void add_product(size_t rows, size_t depth, const real *w, const wide *x, vector *out)
{
    add_product_of(rows, depth, w, false, x, out);
}

/* The same for x as products leave it.  x: (wides(depth)) */
static void add_product_joined(size_t rows, size_t depth, const real *w, const wide *x, vector *out)
{
    add_product_of(rows, depth, w, true, x, out);
}

/* sums += left^T right over `count` steps for a block, whose sums follow each other. */
static ALWAYS_INLINE void sum_block(const size_t rows, const size_t cols, size_t count, const wide *left,
                                    size_t left_stride, const wide *right, size_t right_stride, wide *sums)
{
    wide acc[SUM_ROWS][SUM_COLS];
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            acc[r][c] = sums[r * cols + c];
    }
    for (size_t i = 0; i < rows * cols; i++)
        __builtin_prefetch(sums + AHEAD + i, 1); /* beyond the end, too: it does no harm */
    for (size_t t = 0; t < count; t++) {
        for (size_t c = 0; c < cols; c++) {
            const wide x = right[t * right_stride + c];
            for (size_t r = 0; r < rows; r++)
                acc[r][c] += left[t * left_stride + r] * x;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++)
            sums[r * cols + c] = acc[r][c];
    }
}

static ALWAYS_INLINE void sum_block_rows(const size_t rows, size_t cols, size_t count, const wide *left,
                                         size_t left_stride, const wide *right, size_t right_stride,
                                         wide *sums)
{
    switch (cols) {
    case 1:
        sum_block(rows, 1, count, left, left_stride, right, right_stride, sums);
        break;
    case 2:
        sum_block(rows, 2, count, left, left_stride, right, right_stride, sums);
        break;
#if VECTOR_BYTES == 64 || defined(ANT_LANE_ROWS)
    case 3:
        sum_block(rows, 3, count, left, left_stride, right, right_stride, sums);
        break;
    case 4:
        sum_block(rows, 4, count, left, left_stride, right, right_stride, sums);
        break;
    case 5:
        sum_block(rows, 5, count, left, left_stride, right, right_stride, sums);
        break;
#endif
    default:
        sum_block(rows, SUM_COLS, count, left, left_stride, right, right_stride, sums);
        break;
    }
}

/*
 * sums += left^T right over `count` steps.  left: (count, wides(rows)), joined, from step to step
 * left_stride; right: (count, cols), repeated; sums: (rows, cols) in blocks in the order in which they are
 * computed here, so that memory is read from its begin to its end
 */
static void add_outer_blocks(size_t count, const wide *left, size_t left_stride, size_t rows,
                             const wide *right, size_t cols, wide *sums)
{
    const division row_parts = divide(wides(rows), SUM_ROWS), col_parts = divide(cols, SUM_COLS);
    for (size_t r = 0, next; r < wides(rows); r = next) {
        next = part_end(&row_parts, r);
        for (size_t c = 0, end; c < cols; c = end) {
            end = part_end(&col_parts, c);
            wide *block = sums + r * cols + (next - r) * c;
            switch (next - r) {
            case 1:
                sum_block_rows(1, end - c, count, left + r, left_stride, right + c, cols, block);
                break;
            case 2:
                sum_block_rows(2, end - c, count, left + r, left_stride, right + c, cols, block);
                break;
            case 3:
                sum_block_rows(3, end - c, count, left + r, left_stride, right + c, cols, block);
                break;
            default:
                sum_block_rows(SUM_ROWS, end - c, count, left + r, left_stride, right + c, cols, block);
                break;
            }
        }
    }
}

/* total (rows, cols; its number (i, j) is at i row_step + j col_step) += the sums over lanes of
 * add_outer_blocks. */
static void collapse_blocks(const wide *sums, size_t rows, size_t cols, double *total, size_t row_step,
                            size_t col_step)
{
    const division row_parts = divide(wides(rows), SUM_ROWS), col_parts = divide(cols, SUM_COLS);
    for (size_t r = 0, next; r < wides(rows); r = next) {
        next = part_end(&row_parts, r);
        for (size_t c = 0, end; c < cols; c = end) {
            end = part_end(&col_parts, c);
            for (size_t i = r; i < next; i++) {
                for (size_t j = c; j < end; j++, sums++) {
                    vector row[ROWS];
                    rows_store(row, *sums, ROWS);
                    for (size_t k = 0; k < ROWS && i * ROWS + k < rows; k++)
                        total[(i * ROWS + k) * row_step + j * col_step] += vector_sum(row[k]);
                }
            }
        }
    }
}

/* sums[r, c] += sum over `count` steps of left_r right_c, for a tile. */
static ALWAYS_INLINE void sum_tile(const size_t rows, const size_t cols, size_t count, const vector *left,
                                   size_t left_stride, const vector *right, size_t right_stride, vector *sums,
                                   size_t sums_stride)
{
    enum { MOST = 4 };
    vector acc[MOST][MOST];
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
