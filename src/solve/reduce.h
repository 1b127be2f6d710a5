/*
 * reduce.h - many observed variables, reduced to as many as there are latent units.
 *
 * With B = U R, U (N, M) with orthonormal columns, and x' = U^T x, the recurrence needs x' alone:
 *     B+ e = R+ e',    |e|^2 = |e'|^2 + |x_rest|^2,    e' = x' - R z,    x_rest = x - U x'
 * so the plan solves a narrow model with M variables and R in place of B.  Its gradient dR gives dB together
 * with what the rests add, which is one product over all rows:
 *     dB = U dR + sum_t x_rest_t q_t^T,    q_t = -c_t z_t + a_t B+ B+^T w_t,    q_0 = B+ B+^T w_0
 * (reference_tmpl.c has w, a and c; the second term of q_t, and q_0, are those of teacher flow).  Used for
 * the shPLRNN in calls without missing values.  Internal to solve; for templates only.
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
} ANT_FN(ant_reduction);

typedef ANT_FN(ant_reduction) reduction; /* its short name in templates */

/* Whether a plan of this size is worth it. */
bool ANT_FN(ant_reduction_fits)(const ant_model_layout *layout, const ant_solve_options *options);

/* kernels, layout, narrow, rows, batch, warmup and workers are set by the caller before. */
void ANT_FN(ant_reduction_carve)(reduction *r, ant_arena *arena);

/* U and R, the narrow parameters, and x' of all rows.  NON_FINITE when B is.  x: (batch) pointers */
antler_status ANT_FN(ant_reduction_begin)(reduction *r, ant_team *team, const real *parameters,
                                          const real *const *x);

/* Sum of |x_rest|^2 over t > T_w and the batch. */
double ANT_FN(ant_reduction_square)(reduction *r, ant_team *team, const real *const *x);

/*
 * The same, and the gradient (total) from that of the narrow model in r->gradient and its last backward pass.
 */
double ANT_FN(ant_reduction_gradient)(reduction *r, ant_team *team, const solve_call *narrow,
                                      const shooting *solved, const real *const *x, real *gradient);

#endif
