/*
 * tile.h - linear layers on a tile of ANT_TILE steps.
 *
 * An array of features is stored as (features, ANT_TILE), time last, so that a vector instruction takes
 * several steps at once and no product has a horizontal sum.  Steps past the end of a sequence are padding;
 * what fills a tile must set their contributions to zero.
 *
 * Gradients of weights are sums over time: each has one partial sum per lane, (count, lanes), and only
 * `collapse` adds the lanes, in double.  Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_TILE_H
#define ANT_SOLVE_TILE_H

#include "base/machine.h"
#include "base/real.h"

#include <stddef.h>

enum { ANT_TILE = 64 };

typedef struct ANT_FN(ant_tile_kernels) {
    const char *name; /* "tile avx512" */
    size_t lanes;
    /* y += W x.  W: (rows, cols); x: (cols, ANT_TILE); y: (rows, ANT_TILE). */
    void (*multiply)(const real *W, size_t rows, size_t cols, const real *x, real *y);
    /* dx += W^T dy. */
    void (*multiply_back)(const real *W, size_t rows, size_t cols, const real *dy, real *dx);
    /* dW += dy x^T.  dW: (rows * cols, lanes). */
    void (*outer)(const real *dy, size_t rows, const real *x, size_t cols, real *dW);
    /* db += sums of the rows of dy.  db: (rows, lanes). */
    void (*sum_rows)(const real *dy, size_t rows, real *db);
    /* y = phi(y), and dy = dy where phi(y) > 0, else 0.  (rows, ANT_TILE) */
    void (*relu)(size_t rows, real *y);
    void (*relu_back)(size_t rows, const real *y, real *dy);
    /* out_ij = sum over the tile of a_i b_j.  a: (rows, ANT_TILE); b: (cols, ANT_TILE). */
    void (*dots)(const real *a, size_t rows, const real *b, size_t cols, real *out);
    /* y = e^x and y = 1 / (1 + e^-x); x is clamped where e^x would leave the range.  (rows, ANT_TILE) */
    void (*exponential)(size_t rows, const real *x, real *y);
    void (*sigmoid)(size_t rows, const real *x, real *y);
    /*
     * A kernel between any two steps of the tile, weighted by the decays between them.  With D_tr the
     * product of decay_k over r < k <= t, and 0 for t < r:
     *
     *     later     out[t][r] += D_tr kernel[t][r]
     *     earlier   out[r][t] += D_tr kernel[r][t]
     *
     * decay: (ANT_TILE); kernel, out: (ANT_TILE, ANT_TILE).
     */
    void (*decay_later)(const real *decay, const real *kernel, real *out);
    void (*decay_earlier)(const real *decay, const real *kernel, real *out);
    /* out_i += sum over the lanes of sums_i.  sums: (count, lanes); out: (count). */
    void (*collapse)(const real *sums, size_t count, double *out);
} ANT_FN(ant_tile_kernels);

const ANT_FN(ant_tile_kernels) * ANT_FN(ant_tile_kernels_of)(ant_cpu_level level);

/* Every step of row i = value_i.  values: (rows); y: (rows, ANT_TILE). */
static inline void ANT_FN(ant_tile_fill)(const real *values, size_t rows, real *y)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t t = 0; t < ANT_TILE; t++)
            y[i * ANT_TILE + t] = values[i];
    }
}

/* Time-first rows as a tile, padded with zeros.  x: (count, features); y: (features, ANT_TILE). */
static inline void ANT_FN(ant_tile_load)(const real *x, size_t count, size_t features, real *y)
{
    for (size_t i = 0; i < features; i++) {
        for (size_t t = 0; t < ANT_TILE; t++)
            y[i * ANT_TILE + t] = t < count ? x[t * features + i] : 0;
    }
}

/* The inverse of load.  y: (features, ANT_TILE); x: (count, features). */
static inline void ANT_FN(ant_tile_store)(const real *y, size_t count, size_t features, real *x)
{
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < features; i++)
            x[t * features + i] = y[i * ANT_TILE + t];
    }
}

#endif
