/*
 * lane_weights.h - the weights of the lane kernels, packed in the order in which products read them: tile
 * after tile, within a tile column after column.  For the lane kernels only.
 */
#ifndef ANT_SOLVE_LANE_WEIGHTS_H
#define ANT_SOLVE_LANE_WEIGHTS_H

#include "solve/kernel.h"
#include "solve/lane_products.h"

typedef struct lane_weights {
    const real *A1, *h, *b;
    const real *V, *V_transposed;          /* (L, M), (M, L) */
    const real *W, *W_transposed;          /* (M, L), (L, M); with rank: WR (r, L), its transpose */
    const real *left, *left_transposed;    /* WL (M, r), (r, M); NULL without rank */
    const real *C;                         /* (M, K) */
    const real *B_negative, *B_transposed; /* (N, M), (M, N) */
    const real *pinv, *pinv_transposed;    /* (M, N), (N, M) */
} lane_weights;

/* Numbers of a packed matrix: its last vector of rows may hold one that is 0.  Parts begin at whole lines. */
static size_t packed_part(size_t rows, size_t cols)
{
    const size_t line = 64 / sizeof(real);
    return (wides(rows) * ROWS * cols + line - 1) / line * line;
}

/* Lay out (packed == NULL counts) and return the number of reals. */
static size_t weights_place(const ant_model_dims *d, const real *packed, lane_weights *w)
{
    const size_t inner = d->rank > 0 ? d->rank : d->M;
    size_t used = 0;
    const struct {
        const real **slot;
        size_t rows, cols;
    } parts[] = {{&w->A1, d->M, 1},
                 {&w->h, d->M, 1},
                 {&w->b, d->L, 1},
                 {&w->V, d->L, d->M},
                 {&w->V_transposed, d->M, d->L},
                 {&w->W, inner, d->L},
                 {&w->W_transposed, d->L, inner},
                 {&w->left, d->M, d->rank},
                 {&w->left_transposed, d->rank, d->M},
                 {&w->C, d->M, d->K},
                 {&w->B_negative, d->N, d->M},
                 {&w->B_transposed, d->M, d->N},
                 {&w->pinv, d->M, d->N},
                 {&w->pinv_transposed, d->N, d->M}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].slot = packed == NULL ? NULL : packed + used;
        used += packed_part(parts[i].rows, parts[i].cols);
    }
    return used;
}

static size_t lane_packed_count(const ant_model_dims *d)
{
    lane_weights w;
    return weights_place(d, NULL, &w);
}

/* Pack sign * source, whose element (i, j) is source[i * row + j * col]. */
static real *pack_matrix(real *out, size_t rows, size_t cols, const real *source, size_t row, size_t col,
                         real sign)
{
    const division tiles = divide(wides(rows), TILE_ROWS);
    real *to = out;
    for (size_t begin = 0, end; begin < wides(rows); begin = end) {
        end = part_end(&tiles, begin);
        for (size_t j = 0; j < cols; j++) {
            for (size_t i = begin * ROWS; i < end * ROWS; i++)
                *to++ = i < rows ? sign * source[i * row + j * col] : 0;
        }
    }
    return out + packed_part(rows, cols);
}

static void lane_pack(const solve_call *p, real *packed)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    const real *theta = p->parameters, *right = theta + (d->rank > 0 ? layout->WR : layout->W);
    const size_t M = d->M, N = d->N, L = d->L, inner = d->rank > 0 ? d->rank : M;
    real *out = packed;                                /* in the order of weights_place */
    out = pack_matrix(out, M, 1, p->derived, 1, 1, 1); /* A - 1 */
    out = pack_matrix(out, M, 1, theta + layout->h, 1, 1, 1);
    out = pack_matrix(out, L, 1, theta + layout->b, 1, 1, 1);
    out = pack_matrix(out, L, M, theta + layout->V, M, 1, 1);
    out = pack_matrix(out, M, L, theta + layout->V, 1, M, 1);
    out = pack_matrix(out, inner, L, right, L, 1, 1);
    out = pack_matrix(out, L, inner, right, 1, L, 1);
    if (d->rank > 0) {
        out = pack_matrix(out, M, d->rank, theta + layout->WL, d->rank, 1, 1);
        out = pack_matrix(out, d->rank, M, theta + layout->WL, 1, d->rank, 1);
    }
    if (d->K > 0)
        out = pack_matrix(out, M, d->K, theta + layout->C, d->K, 1, 1);
    out = pack_matrix(out, N, M, p->forcing->B, M, 1, -1);
    out = pack_matrix(out, M, N, p->forcing->B, 1, M, 1);
    out = pack_matrix(out, M, N, p->forcing->pinv, N, 1, 1);
    pack_matrix(out, N, M, p->forcing->pinv, 1, N, 1);
}

#endif
