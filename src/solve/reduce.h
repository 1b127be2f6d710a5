/*
 * reduce.h - many observed variables, reduced to as many as there are latent units.
 *
 * With B = U R, U (N, M) with orthonormal columns, and x' = U^T x, the recurrence needs x' alone:
 *     B+ e = R+ e',    |e|^2 = |e'|^2 + |x_rest|^2,    e' = x' - R z,    x_rest = x - U x'
 * so the plan solves a narrow model with M variables and R in place of B.  Its gradient dR gives dB together
 * with what the rests add, which is one product over all rows:
 *     dB = U dR + sum_t x_rest_t q_t^T,    q_t = -c_t z_t + a_t B+ B+^T w_t,    q_0 = B+ B+^T w_0
 * (reference_tmpl.c has w, a and c; the second term of q_t, and q_0, are those of teacher flow).  Used for
 * the shPLRNN.  Internal to solve; for templates only.
 *
 * Of a row that lacks variables, B_o = U_o R, and with G = U_o^T U_o of full rank
 *     B_o+ = R+ G^-1 U_o^T,    x' = G^-1 U_o^T x_o,    |e_o|^2 = e'^T G e' + |x_rest|^2
 * so it is forced as a complete row with this x', and only its loss has the metric G = L L^T.  With
 * h_t = G^-1 R+^T a_t w_t (h_0: w_0) and y_t = R+ x', the row adds to the observed rows n of dB
 *     x_rest_t q_t^T - U D_t,    q_t = R+ h_t - c_t z_t,    D_t = c_t e' z_t^T + h_t y_t^T
 * (spec 12, where m = 0 as B_o+ B_o = I).  So dB = -U sum_t D_t + sum_t x_rest_t q_t^T, with U D_t added
 * again where a value is missing.  Where nothing of a row is observed, the narrow model has a missing row.
 */
#ifndef ANT_SOLVE_REDUCE_H
#define ANT_SOLVE_REDUCE_H

#include "solve/shooting.h"

/* Loops over many variables.  u: (M, stride) with zeros from N on */
typedef struct ANT_FN(ant_reduce_kernels) {
    size_t lanes;
    /* out = x U.  x: (rows, N); out: (rows, M) */
    void (*project)(size_t M, size_t N, size_t rows, const real *x, const real *u, size_t stride, real *out);
    /* out = x - x' U^T for `count` variables from that at which x (rows, N) and u begin.  short_x: (rows, M);
     * out: (rows, width) with zeros from `count` on, width a multiple of the lanes; it may be x */
    void (*rest)(size_t M, size_t N, size_t rows, size_t count, const real *x, const real *short_x,
                 const real *u, size_t stride, real *out, size_t width);
    /* sums += left^T right.  left: (rows, M), `left_stride` apart; right: (rows, width), `stride` apart;
     * sums: (M, width) */
    void (*outer)(size_t M, size_t rows, size_t width, const real *left, size_t left_stride,
                  const real *right, size_t stride, real *sums);
    double (*square)(size_t count, const real *x); /* |x|^2 of whole vectors */
} ANT_FN(ant_reduce_kernels);

const ANT_FN(ant_reduce_kernels) * ANT_FN(ant_reduce_kernels_of)(ant_cpu_level level);

/* Add sums to those in double, and clear them. */
static inline void ANT_FN(ant_reduce_flush)(size_t count, real *sums, double *total)
{
    for (size_t i = 0; i < count; i++) {
        total[i] += (double)sums[i];
        sums[i] = 0;
    }
}

enum {
    ANT_REDUCE_BLOCK = 256, /* variables of a part of the rests; a multiple of all lanes and of a word */
    ANT_REDUCE_SLACK = 2,   /* places written past the end of a list */
};

/* Loops over rows that lack variables.  A tile has `lanes` rows, of which each lane has its own L. */
typedef struct ANT_FN(ant_reduce_gap_kernels) {
    size_t lanes;
    /* out = x with 0 for NaN; bits are set for NaN, whole words up to `words`; how many.  x, out: (N) */
    size_t (*clean)(size_t N, const real *x, real *out, uint64_t *bits, size_t words);
    /* The places of bits, from `base` on, with room for SLACK more; how many */
    size_t (*list)(size_t words, const uint64_t *bits, uint32_t base, uint32_t *index);
    /* NaN becomes 0.  x: whole vectors */
    void (*blank)(size_t count, real *x);
    /* out = sum_k u_k u_k^T over rows index[k] of u, its lower triangle.  u: (N, wide); out: (M, wide) */
    void (*gram)(size_t M, size_t wide, size_t count, const uint32_t *index, const real *u, real *out);
    /* G becomes L with 1 / its diagonal there; the smallest pivot.  g: (M (M+1) / 2, lanes), by rows */
    double (*factor)(size_t M, real *g);
    /* v = G^-1 v; and v = G v, with the sum of v^T G v over all lanes.  v: (M, lanes) */
    void (*solve)(size_t M, const real *l, real *v);
    double (*apply)(size_t M, const real *l, real *v);
    /*
     * For each of `count` numbers BLOCK t + n: sums[n] += (u[n] . a[t]) b[t], and unless `both` is false
     * + (u[n] . c[t]) d[t], with a, b, c, d in `rows`, which are (rows, wide).  u, sums: (BLOCK, wide)
     */
    void (*fill)(size_t wide, bool both, size_t count, const uint32_t *index, const real *u,
                 const real *const rows[4], real *sums);
} ANT_FN(ant_reduce_gap_kernels);

const ANT_FN(ant_reduce_gap_kernels) * ANT_FN(ant_reduce_gap_kernels_of)(ant_cpu_level level);

/* What calls with missing values need besides (reduce_gaps_tmpl.c). */
typedef struct ANT_FN(ant_reduce_gaps) {
    const ANT_FN(ant_reduce_gap_kernels) * kernels; /* NULL: x is complete in all calls */
    bool any;                                       /* a value of this call is missing */
    bool full_rank;                                 /* of all G, with a margin */
    size_t values;                                  /* observed after the warm-up */
    size_t words, tiles;                            /* of bits of a row; of a sequence */
    uint64_t *bits;         /* (batch, rows, words): missing, unless all of the row is */
    uint32_t *missing;      /* (batch, rows): how many are missing */
    double *pivot;          /* (batch, tiles): the smallest; 1 where all is there */
    real *factor;           /* (batch, tiles, M (M+1) / 2, lanes): L */
    real *rows_of_u;        /* (blocks BLOCK, wide) */
    real *error, *h;        /* (batch, rows, wide): -e', h_t */
    real *z, *y;            /* (batch, rows, wide): -c_t z_t, y_t */
    double *square;         /* (batch): sums of e'^T G e' */
    double *sums;           /* (batch, M, wide): of D_t */
    real *pinv, *of_pulled; /* (M, wide): -R+^T; as that of ant_reduction, for h */
    real *scratch;          /* (workers, scratch_count) */
    uint32_t *index;        /* (workers, index_count): what is missing */
    double *total;          /* (workers, BLOCK, wide): U D of a block, added again */
    size_t scratch_count, index_count;
} ANT_FN(ant_reduce_gaps);

typedef struct ANT_FN(ant_reduction) {
    const ANT_FN(ant_reduce_kernels) * kernels;
    ant_model_layout layout, narrow; /* of the model, and with M variables */
    size_t rows, batch, warmup;      /* rows: T+1 */
    size_t stride;                   /* of a row of u */
    size_t workers;
    double *b64, *u64, *r64, *work; /* (N, M), (M, width), (M, M), (M) */
    double *gram;                   /* (M, M): B+ B+^T */
    size_t wide;                    /* M, padded to whole vectors */
    real *turn, *of_z, *of_pulled;  /* (M, M); (M, wide): how rows of the kernels enter q */
    real *u;                        /* (M, stride) */
    real *parameters, *gradient;    /* (narrow.total) */
    real *x, *z, *pulled;           /* (batch, rows, M): x'; z_t and a_t w_t as the kernels have them */
    real *q;                        /* (batch, rows, wide): q_t */
    const real **window;            /* (batch): rows of x */
    real *scratch;                  /* (workers, ...) */
    double *sums;                   /* (workers, M, BLOCK): dB of a block */
    double *square;                 /* (blocks) */
    ANT_FN(ant_reduce_gaps) gaps;
} ANT_FN(ant_reduction);

typedef ANT_FN(ant_reduction) reduction; /* its short name in templates */

/* Whether a plan of this size is worth it. */
bool ANT_FN(ant_reduction_fits)(const ant_model_layout *layout, const ant_solve_options *options);

/* kernels, gaps.kernels, layout, narrow, rows, batch, warmup and workers are set by the caller before. */
void ANT_FN(ant_reduction_carve)(reduction *r, ant_arena *arena);

/*
 * U and R, the narrow parameters, and x' of all rows.  NON_FINITE when B is.  With missing values gaps.any is
 * set, and gaps.full_rank unless B_o of a row is close to losing its rank: then this call is not to be
 * reduced.  x: (batch) pointers
 */
antler_status ANT_FN(ant_reduction_begin)(reduction *r, ant_team *team, const real *parameters,
                                          const real *const *x);

/*
 * With missing values, between both passes of the narrow model: sum of e'^T G e' over t > T_w and the batch;
 * G e' takes the place of e'.
 */
double ANT_FN(ant_reduction_metric)(reduction *r, ant_team *team, shooting *solved);

/* Sum of |x_rest|^2 over t > T_w and the batch. */
double ANT_FN(ant_reduction_square)(reduction *r, ant_team *team, const real *const *x);

/*
 * The same, and the gradient (total) from that of the narrow model in r->gradient and its last backward pass.
 */
double ANT_FN(ant_reduction_gradient)(reduction *r, ant_team *team, const solve_call *narrow,
                                      const shooting *solved, const real *const *x, real *gradient);

#endif
