/*
 * reference_tmpl.c - the forced trajectory of any cell, its adjoint and the gradient in plain loops: the
 * reference.
 *
 * With e_t = x_t - B z_t the forced state is z~_t = z_t + a_t B+ e_t, the same as P_a z_t + a_t z_bar_t.
 * Backwards, with w_t = J_F(z~_t)^T v_{t+1} the gradient at z~_t, c_t the loss weight (0 for t <= T_w) and
 *     y_t = a_t B+^T w_t + c_t e_t      (w_T = 0)
 * everything that passes through e_t is  v_t = w_t - B^T y_t  and, with teacher flow,
 *     dloss/dB = -sum_t y_t z_t^T      G = dloss/dB+ = sum_t a_t w_t e_t^T + w_0 x_0^T
 * With teacher stop y_t has only its second term in dloss/dB, and G is left out.
 *
 * Where a row lacks variables (spec 12), B_o+ takes the place of B+, e_t is 0 for what is missing, and the
 * row's part of G is propagated to B at once (ant_pattern_add), because B_o+ depends on the row.
 */
#include "solve/solve_call.h"

#include <string.h>

size_t ANT_FN(ant_reference_scratch)(const ANT_FN(ant_cell) * cell, const ant_model_layout *layout)
{
    const ant_model_dims *d = &layout->dims;
    return cell->scratch_count(layout) + 2 * d->M + d->N + ANT_FN(ant_pattern_terms)(d->M, d->N);
}

/* x of a row, 0 where it is missing.  NaN in a row that counts as complete stays, so that it is seen. */
static real value_at(const uint32_t *pattern, size_t t, const real *x, size_t n)
{
    return pattern != NULL && pattern[t] != 0 && x[n] != x[n] ? 0 : x[n];
}

void ANT_FN(ant_reference_teacher)(const solve_call *p, const uint32_t *pattern, size_t t, const real *x,
                                   real *out)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real *pinv = ANT_FN(ant_pinv_at)(p, pattern, t);
    for (size_t m = 0; m < M; m++) {
        out[m] = 0;
        for (size_t n = 0; n < N; n++)
            out[m] += pinv[m * N + n] * value_at(pattern, t, x, n);
    }
}

void ANT_FN(ant_reference_force)(const solve_call *p, const uint32_t *pattern, size_t t, const real *x,
                                 const real *z, real *error, real *forced)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const bool whole = pattern == NULL || pattern[t] == 0;
    const real a = (real)p->strength[t], *pinv = ANT_FN(ant_pinv_at)(p, pattern, t);
    for (size_t n = 0; n < N; n++) {
        error[n] = value_at(pattern, t, x, n);
        for (size_t m = 0; m < M && (whole || x[n] == x[n]); m++)
            error[n] -= p->forcing->B[n * M + m] * z[m];
    }
    for (size_t m = 0; m < M; m++) {
        real sum = 0;
        for (size_t n = 0; n < N; n++)
            sum += pinv[m * N + n] * error[n];
        forced[m] = z[m] + a * sum;
    }
}

void ANT_FN(ant_reference_forward)(const solve_call *p, const real *x, const real *s,
                                   ANT_FN(ant_trajectory) * y)
{
    const ant_model_dims *d = &p->layout->dims;
    ANT_FN(ant_reference_teacher)(p, y->pattern, 0, x, y->z);
    for (size_t t = 0; t < p->T; t++) {
        real *z = y->z + t * d->M, *forced = y->forced + t * d->M;
        ANT_FN(ant_reference_force)(p, y->pattern, t, x + t * d->N, z, y->error + t * d->N, forced);
        p->cell->step(p, forced, s == NULL ? NULL : s + t * d->K, z + d->M, y->scratch);
    }
    ANT_FN(ant_reference_force)
    (p, y->pattern, p->T, x + p->T * d->N, y->z + p->T * d->M, y->error + p->T * d->N, y->scratch);
}

double ANT_FN(ant_reference_square)(const solve_call *p, const ANT_FN(ant_trajectory) * y)
{
    const size_t N = p->layout->dims.N;
    double sum = 0.0;
    for (size_t i = (p->warmup + 1) * N; i < (p->T + 1) * N; i++)
        sum += (double)y->error[i] * (double)y->error[i];
    return sum;
}

/* y_t = a_t B+^T w_t + c_t e_t.  w: (M) or NULL for t = T; y: (N). */
static void observe_back(const solve_call *p, const uint32_t *pattern, size_t t, const real *w,
                         const real *error, real *y)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real a = (real)p->strength[t];
    const real c = t > p->warmup ? p->weight : 0, *pinv = ANT_FN(ant_pinv_at)(p, pattern, t);
    for (size_t n = 0; n < N; n++) {
        real sum = 0;
        for (size_t m = 0; m < M && w != NULL; m++)
            sum += pinv[m * N + n] * w[m];
        y[n] = a * sum + c * error[n];
    }
}

void ANT_FN(ant_reference_adjoint)(const solve_call *p, const real *s, ANT_FN(ant_trajectory) * q)
{
    const ant_model_dims *d = &p->layout->dims;
    real *w = q->scratch, *y = w + d->M, *rest = y + d->N;
    for (size_t t = p->T + 1; t-- > 0;) {
        real *v = q->adjoint + t * d->M;
        if (t < p->T)
            p->cell->pull_back(p, q->forced + t * d->M, s == NULL ? NULL : s + t * d->K, v + d->M, w, rest,
                               NULL);
        else
            memset(w, 0, d->M * sizeof *w);
        observe_back(p, q->pattern, t, t < p->T ? w : NULL, q->error + t * d->N, y);
        for (size_t m = 0; m < d->M; m++) {
            v[m] = w[m];
            for (size_t n = 0; n < d->N; n++)
                v[m] -= p->forcing->B[n * d->M + m] * y[n];
        }
    }
}

/* Add what one time t gives to dB and G.  w: (M), NULL for t = T. */
static void add_observation(const solve_call *p, const ANT_FN(ant_trajectory) * q, size_t t, const real *x,
                            const real *w, real *y, real *terms, double *sums)
{
    const ant_model_layout *layout = p->layout;
    const size_t M = layout->dims.M, N = layout->dims.N;
    const bool flow = p->teacher == ANT_TEACHER_FLOW;
    const double a = p->strength[t];
    const real *z = q->z + t * M, *error = q->error + t * N;
    const uint32_t pattern = q->pattern == NULL ? 0 : q->pattern[t];
    observe_back(p, q->pattern, t, flow ? w : NULL, error, y);
    for (size_t n = 0; n < N; n++) {
        for (size_t m = 0; m < M; m++)
            sums[layout->B + n * M + m] -= (double)y[n] * (double)z[m];
    }
    if (flow && w != NULL && pattern != 0)
        ANT_FN(ant_pattern_add)
    (p->patterns, pattern, p->forcing->B, w, t == 0 ? x : error, t == 0 ? 1.0 : a, terms, sums + layout->B);
    for (size_t m = 0; m < M && flow && w != NULL && pattern == 0; m++) {
        for (size_t n = 0; n < N; n++)
            sums[layout->total + m * N + n] += (double)w[m] * (t == 0 ? (double)x[n] : a * (double)error[n]);
    }
}

void ANT_FN(ant_reference_accumulate)(const solve_call *p, const real *x, const real *s,
                                      const ANT_FN(ant_trajectory) * q, size_t first, size_t last,
                                      real *scratch, double *sums)
{
    const ant_model_dims *d = &p->layout->dims;
    real *w = scratch, *y = w + d->M, *terms = y + d->N,
         *rest = terms + ANT_FN(ant_pattern_terms)(d->M, d->N);
    for (size_t t = first; t < last; t++) {
        p->cell->pull_back(p, q->forced + t * d->M, s == NULL ? NULL : s + t * d->K,
                           q->adjoint + (t + 1) * d->M, w, rest, sums);
        add_observation(p, q, t, x + t * d->N, w, y, terms, sums);
    }
    if (last == p->T)
        add_observation(p, q, last, NULL, NULL, y, terms, sums);
}

void ANT_FN(ant_sums_finish)(const solve_call *p, double *sums, real *gradient)
{
    const ant_model_layout *layout = p->layout;
    if (p->cell->finish != NULL)
        p->cell->finish(layout, p->parameters, sums);
    if (p->teacher == ANT_TEACHER_FLOW)
        ANT_FN(ant_forcing_pinv_gradient)(p->forcing, sums + layout->total, sums + layout->B);
    for (size_t i = 0; i < layout->total; i++)
        gradient[i] = (real)sums[i];
}
