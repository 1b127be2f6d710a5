/*
 * solve_call.h - the constants of one gradient call, and the plain functions that define its result.
 * Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_SOLVE_CALL_H
#define ANT_SOLVE_SOLVE_CALL_H

#include "solve/cell.h"
#include "solve/patterns.h"

struct ANT_FN(ant_solve_call) {
    const ant_model_layout *layout;
    const real *parameters; /* (total) */
    const real *derived;    /* what the cell derives from them */
    const ANT_FN(ant_forcing) * forcing;
    ANT_FN(ant_patterns) * patterns; /* of missing values; NULL: x is complete */
    size_t T, warmup;
    const double *strength; /* (T+1): a_t of spec 2, each 0, 1 or alpha */
    double alpha;
    real weight; /* 2 / values in the loss, N (T - T_w) batch: d loss / d xhat = weight (xhat - x) */
    ant_teacher teacher;
    const ANT_FN(ant_cell) * cell;
};

typedef ANT_FN(ant_solve_call) solve_call; /* its short name in templates */

/*
 * Sums over time, in double: (total) in the layout of the parameters, as the cell leaves them before `finish`
 * and with -sum y_t z_t^T in place of B (see the head of reference_tmpl.c), then G = dloss/dB+ (M, N).
 */
static inline size_t ANT_FN(ant_sums_count)(const ant_model_layout *layout)
{
    return layout->total + layout->dims.M * layout->dims.N;
}

/* The trajectory of one sequence in plain row-major form. */
typedef struct ANT_FN(ant_trajectory) {
    real *z;                 /* (T+1, M) */
    real *forced;            /* (T, M): z~_t */
    real *error;             /* (T+1, N): e_t = x_t - B z_t */
    real *adjoint;           /* (T+1, M): v_t = dloss/dz_t; v_0 is the part through z~_0 only */
    real *scratch;           /* ant_reference_scratch() */
    const uint32_t *pattern; /* (T+1): what each row lacks (patterns.h); NULL: nothing */
} ANT_FN(ant_trajectory);

size_t ANT_FN(ant_reference_scratch)(const ANT_FN(ant_cell) * cell, const ant_model_layout *layout);

/* B+ or, of an incomplete row, B_o+.  pattern: of the sequence, or NULL.  (M, N) */
static inline const real *ANT_FN(ant_pinv_at)(const solve_call *p, const uint32_t *pattern, size_t t)
{
    return pattern == NULL || pattern[t] == 0 ? p->forcing->pinv
                                              : ANT_FN(ant_pattern_pinv)(p->patterns, pattern[t]);
}

/* z_bar = B+ x of row t, B_o+ x_o where it is incomplete.  x: (N); out: (M). */
void ANT_FN(ant_reference_teacher)(const solve_call *p, const uint32_t *pattern, size_t t, const real *x,
                                   real *out);

/* e = x - B z, 0 where x is missing, and z~ = z + a_t B_o+ e at time t.  x: (N); z, forced: (M); error: (N).
 */
void ANT_FN(ant_reference_force)(const solve_call *p, const uint32_t *pattern, size_t t, const real *x,
                                 const real *z, real *error, real *forced);

/* All exact steps: fills z, forced and error.  x: (T+1, N); s: (T, K) or NULL. */
void ANT_FN(ant_reference_forward)(const solve_call *p, const real *x, const real *s,
                                   ANT_FN(ant_trajectory) * y);

/* Sum of e^2 over t > T_w. */
double ANT_FN(ant_reference_square)(const solve_call *p, const ANT_FN(ant_trajectory) * y);

/* v_T .. v_1 by the exact recursion.  s: (T, K) or NULL. */
void ANT_FN(ant_reference_adjoint)(const solve_call *p, const real *s, ANT_FN(ant_trajectory) * y);

/* Add the parameter gradients of steps first .. last-1 (from t to t+1), given all v, to `sums`. */
void ANT_FN(ant_reference_accumulate)(const solve_call *p, const real *x, const real *s,
                                      const ANT_FN(ant_trajectory) * y, size_t first, size_t last,
                                      real *scratch, double *sums);

/* Turn finished sums into the gradient (total): the cell's `finish` and, with teacher flow, the chain through
 * B+. */
void ANT_FN(ant_sums_finish)(const solve_call *p, double *sums, real *gradient);

#endif
