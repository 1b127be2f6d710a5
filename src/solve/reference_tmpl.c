/*
 * reference_tmpl.c - the forced trajectory of any cell, its adjoint and the gradient in plain loops: the
 * oracle.
 *
 * With e_t = x_t - B z_t the forced state is z~_t = z_t + a_t B+ e_t, the same as P_a z_t + a_t z_bar_t.
 * Backwards, with w_t = J_F(z~_t)^T v_{t+1} the gradient at z~_t, c_t the loss weight (0 for t <= T_w) and
 *     y_t = a_t B+^T w_t + c_t e_t      (w_T = 0)
 * everything that passes through e_t is  v_t = w_t - B^T y_t  and, with teacher flow,
 *     dloss/dB = -sum_t y_t z_t^T      G = dloss/dB+ = sum_t a_t w_t e_t^T + w_0 x_0^T
 * With teacher stop y_t has only its second term in dloss/dB, and G is left out.
 */
#include "solve/solve_call.h"

#include <string.h>

size_t ANT_FN(ant_reference_scratch)(const ANT_FN(ant_cell) * cell, const ant_model_layout *layout)
{
    return cell->scratch_count(layout) + 2 * layout->dims.M + layout->dims.N;
}

void ANT_FN(ant_reference_teacher)(const solve_call *p, const real *x, real *out)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    for (size_t m = 0; m < M; m++) {
        out[m] = 0;
        for (size_t n = 0; n < N; n++)
            out[m] += p->forcing->pinv[m * N + n] * x[n];
    }
}

void ANT_FN(ant_reference_force)(const solve_call *p, size_t t, const real *x, const real *z, real *error,
                                 real *forced)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real a = (real)p->strength[t];
    for (size_t n = 0; n < N; n++) {
        error[n] = x[n];
        for (size_t m = 0; m < M; m++)
            error[n] -= p->forcing->B[n * M + m] * z[m];
    }
    for (size_t m = 0; m < M; m++) {
        real sum = 0;
        for (size_t n = 0; n < N; n++)
            sum += p->forcing->pinv[m * N + n] * error[n];
        forced[m] = z[m] + a * sum;
    }
}

void ANT_FN(ant_reference_forward)(const solve_call *p, const real *x, const real *s,
                                   ANT_FN(ant_trajectory) * y)
{
    const ant_model_dims *d = &p->layout->dims;
    ANT_FN(ant_reference_teacher)(p, x, y->z);
    for (size_t t = 0; t < p->T; t++) {
        real *z = y->z + t * d->M, *forced = y->forced + t * d->M;
        ANT_FN(ant_reference_force)(p, t, x + t * d->N, z, y->error + t * d->N, forced);
        p->cell->step(p, forced, s == NULL ? NULL : s + t * d->K, z + d->M, y->scratch);
    }
    ANT_FN(ant_reference_force)
    (p, p->T, x + p->T * d->N, y->z + p->T * d->M, y->error + p->T * d->N, y->scratch);
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
static void observe_back(const solve_call *p, size_t t, const real *w, const real *error, real *y)
{
    const size_t M = p->layout->dims.M, N = p->layout->dims.N;
    const real a = (real)p->strength[t];
    const real c = t > p->warmup ? p->weight : 0;
    for (size_t n = 0; n < N; n++) {
        real sum = 0;
        for (size_t m = 0; m < M && w != NULL; m++)
            sum += p->forcing->pinv[m * N + n] * w[m];
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
        observe_back(p, t, t < p->T ? w : NULL, q->error + t * d->N, y);
        for (size_t m = 0; m < d->M; m++) {
            v[m] = w[m];
            for (size_t n = 0; n < d->N; n++)
                v[m] -= p->forcing->B[n * d->M + m] * y[n];
        }
    }
}

/* Add what one time t gives to dB and G.  w: (M), NULL for t = T. */
static void add_observation(const solve_call *p, size_t t, const real *x, const real *z, const real *error,
                            const real *w, real *y, double *sums)
{
    const ant_model_layout *layout = p->layout;
    const size_t M = layout->dims.M, N = layout->dims.N;
    const bool flow = p->teacher == ANT_TEACHER_FLOW;
    const double a = p->strength[t];
    observe_back(p, t, flow ? w : NULL, error, y);
    for (size_t n = 0; n < N; n++) {
        for (size_t m = 0; m < M; m++)
            sums[layout->B + n * M + m] -= (double)y[n] * (double)z[m];
    }
    for (size_t m = 0; m < M && flow && w != NULL; m++) {
        for (size_t n = 0; n < N; n++)
            sums[layout->total + m * N + n] += (double)w[m] * (t == 0 ? (double)x[n] : a * (double)error[n]);
    }
}

void ANT_FN(ant_reference_accumulate)(const solve_call *p, const real *x, const real *s,
                                      const ANT_FN(ant_trajectory) * q, size_t first, size_t last,
                                      real *scratch, double *sums)
{
    const ant_model_dims *d = &p->layout->dims;
    real *w = scratch, *y = w + d->M, *rest = y + d->N;
    for (size_t t = first; t < last; t++) {
        p->cell->pull_back(p, q->forced + t * d->M, s == NULL ? NULL : s + t * d->K,
                           q->adjoint + (t + 1) * d->M, w, rest, sums);
        add_observation(p, t, x + t * d->N, q->z + t * d->M, q->error + t * d->N, w, y, sums);
    }
    if (last == p->T)
        add_observation(p, last, NULL, q->z + last * d->M, q->error + last * d->N, NULL, y, sums);
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
