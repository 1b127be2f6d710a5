/*
 * lssm_steps_tmpl.c - the LSSM in plain steps, the oracle, and its single steps for Newton's method
 * (linear.h).
 *
 * Step t reads x~_t, which is x_t or, where values are missing or drawn (spec 12, spec 15), the prediction
 * xhat_t = B phi(V z_t + b).  With O_t = 1 where the prediction is read, D_t = phi', a_t = phi(V z_t + b),
 * and e_t = weight (xhat_t - x_t) where x_t is observed and counts,
 *
 *     J_t = dz_{t+1}/dz_t = A + U O_t B D_t V
 *     v_t = A v_{t+1} + V^T d_t,    d_t = D_t B^T g_t,    g_t = e_t + O_t U^T v_{t+1}
 *
 * and dB = sum g_t a_t^T, dV = sum d_t z_t^T, db = sum d_t; A, U, C and h as in lssm_method_tmpl.c, with x~.
 */
#include "solve/linear.h"

#include <string.h>

typedef ANT_FN(ant_linear) linear;

/* What a single step writes to. */
typedef struct step_work {
    real *hidden;     /* (L) */
    real *prediction; /* (N), or its error */
    real *taken;      /* (N): dloss by what the next step has taken in of this prediction */
    real *v;          /* (M) */
} step_work;

size_t ANT_FN(ant_lssm_step_work)(const ant_model_dims *d)
{
    return d->L + 2 * d->N + d->M;
}

static step_work work_on(const ant_model_dims *d, real *reals)
{
    return (step_work){reals, reals + d->L, reals + d->L + d->N, reals + d->L + 2 * d->N};
}

/* hidden = phi(V z + b) and prediction = B hidden - x, where a missing x counts as 0.  x: (N); NULL: zeros */
static void predict(const linear *p, const real *x, const real *z, const step_work *w)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const real *V = p->parameters + at->V, *B = p->parameters + at->B;
    for (size_t l = 0; l < d->L; l++) {
        real sum = p->parameters[at->b + l];
        for (size_t m = 0; m < d->M; m++)
            sum += V[l * d->M + m] * z[m];
        w->hidden[l] = sum > 0 ? sum : 0;
    }
    for (size_t n = 0; n < d->N; n++) {
        w->prediction[n] = x == NULL || (p->gaps && isnan(x[n])) ? 0 : -x[n];
        for (size_t l = 0; l < d->L; l++)
            w->prediction[n] += B[n * d->L + l] * w->hidden[l];
    }
}

/* Complete row t and make the step from it.  z, next: (M), z = NULL: zeros */
static void step(const linear *p, const real *x, const real *s, size_t t, const real *z, const step_work *w,
                 real *next)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const real *U = p->parameters + at->U;
    if (p->feedback && t > 0)
        predict(p, NULL, z, w);
    ANT_FN(ant_linear_fill)(p, x, t, t > 0 ? w->prediction : NULL);
    const real *row = ANT_FN(ant_linear_row)(p, x, t);
    for (size_t m = 0; m < d->M; m++) {
        real sum = p->parameters[at->h + m] + (z != NULL ? p->derived[m] * z[m] : 0);
        for (size_t n = 0; n < d->N; n++)
            sum += U[m * d->N + n] * row[n];
        for (size_t k = 0; k < d->K; k++)
            sum += p->parameters[at->C + m * d->K + k] * s[t * d->K + k];
        next[m] = sum;
    }
}

/*
 * The square of row t's error.  Unless v is NULL, v becomes dloss/dz_t where it was dloss/dz_{t+1}; unless
 * sums is NULL, the gradients of B, V and b are added to it.  z: (M)
 */
static double read_out_back(const linear *p, const real *x, size_t t, const real *z, const step_work *w,
                            real *v, double *sums)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const real *U = p->parameters + at->U, *V = p->parameters + at->V, *B = p->parameters + at->B;
    real *error = w->prediction;
    double square = 0.0;
    predict(p, x + t * d->N, z, w);
    for (size_t n = 0; n < d->N; n++) {
        const bool missing = p->gaps && isnan(x[t * d->N + n]),
                   counts = ANT_FN(ant_linear_counts)(p, t) && !missing;
        square += counts ? (double)error[n] * (double)error[n] : 0.0;
        error[n] = counts ? p->weight * error[n] : 0;
        w->taken[n] = 0;
        for (size_t m = 0; m < d->M && v != NULL && p->feedback; m++)
            w->taken[n] += U[m * d->N + n] * v[m];
        if (t < p->T && ANT_FN(ant_linear_takes_own)(p, x, t, n))
            error[n] += w->taken[n];
    }
    for (size_t m = 0; m < d->M && v != NULL; m++)
        v[m] *= p->derived[m];
    for (size_t l = 0; l < d->L && v != NULL; l++) {
        real slope = 0;
        for (size_t n = 0; n < d->N; n++) {
            slope += w->hidden[l] > 0 ? B[n * d->L + l] * error[n] : 0;
            if (sums != NULL)
                sums[at->B + n * d->L + l] += (double)error[n] * (double)w->hidden[l];
        }
        if (sums != NULL)
            sums[at->b + l] += (double)slope;
        for (size_t m = 0; m < d->M; m++) {
            if (sums != NULL)
                sums[at->V + l * d->M + m] += (double)slope * (double)z[m];
            v[m] += V[l * d->M + m] * slope;
        }
    }
    return square;
}

/* The gradients of A, h, U and C by the step from t.  z: (M), NULL: zeros; v: dloss/dz_{t+1} (M) */
static void step_back(const linear *p, const real *x, const real *s, size_t t, const real *z, const real *v,
                      double *sums)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const real *row = ANT_FN(ant_linear_row)(p, x, t);
    for (size_t m = 0; m < d->M; m++) {
        const double slope = (double)v[m];
        sums[at->Abar + m] += z != NULL ? slope * (double)z[m] : 0.0;
        sums[at->h + m] += slope;
        for (size_t n = 0; n < d->N; n++)
            sums[at->U + m * d->N + n] += slope * (double)row[n];
        for (size_t k = 0; k < d->K; k++)
            sums[at->C + m * d->K + k] += slope * (double)s[t * d->K + k];
    }
}

double ANT_FN(ant_lssm_reference)(const linear *p, const real *x, const real *s, real *z, double *sums)
{
    const ant_model_dims *d = &p->layout.dims;
    real *v = p->reference_work;
    const step_work w = work_on(d, v + d->M);
    double square = 0.0;
    for (size_t t = 0; t < p->T; t++) /* row t holds z_{t+1} */
        step(p, x, s, t, t > 0 ? z + (t - 1) * d->M : NULL, &w, z + t * d->M);
    memset(v, 0, d->M * sizeof *v);
    for (size_t t = p->T; t >= 1; t--) {
        square += read_out_back(p, x, t, z + (t - 1) * d->M, &w, sums == NULL ? NULL : v, sums);
        if (sums != NULL)
            step_back(p, x, s, t - 1, t > 1 ? z + (t - 2) * d->M : NULL, v, sums);
    }
    return square;
}

/* ---- single steps ---------------------------------------------------------------------------------- */

void ANT_FN(ant_lssm_linearise)(const linear *p, const real *x, const real *s, size_t t, const real *z,
                                real *work, real *next, real *jacobian)
{
    const ant_model_layout *at = &p->layout;
    const ant_model_dims *d = &at->dims;
    const size_t M = d->M;
    const real *U = p->parameters + at->U, *V = p->parameters + at->V, *B = p->parameters + at->B;
    const step_work w = work_on(d, work);
    step(p, x, s, t, z, &w, next);
    memset(jacobian, 0, M * M * sizeof *jacobian);
    for (size_t m = 0; m < M; m++)
        jacobian[m * M + m] = p->derived[m];
    for (size_t n = 0; n < d->N && t > 0; n++) { /* + U_n dxhat_n/dz */
        if (!ANT_FN(ant_linear_takes_own)(p, x, t, n))
            continue;
        real *slope = w.v; /* dxhat_n/dz (M) */
        memset(slope, 0, M * sizeof *slope);
        for (size_t l = 0; l < d->L; l++) {
            const real factor = w.hidden[l] > 0 ? B[n * d->L + l] : 0;
            for (size_t m = 0; m < M; m++)
                slope[m] += factor * V[l * M + m];
        }
        for (size_t i = 0; i < M; i++) {
            for (size_t j = 0; j < M; j++)
                jacobian[i * M + j] += U[i * d->N + n] * slope[j];
        }
    }
}

double ANT_FN(ant_lssm_read_out)(const linear *p, const real *x, size_t t, const real *z, real *work,
                                 real *direct)
{
    const ant_model_dims *d = &p->layout.dims;
    const step_work w = work_on(d, work);
    memset(direct, 0, d->M * sizeof *direct);
    return read_out_back(p, x, t, z, &w, direct, NULL);
}

void ANT_FN(ant_lssm_accumulate)(const linear *p, const real *x, const real *s, size_t t, const real *z,
                                 const real *v, real *work, double *sums)
{
    const ant_model_dims *d = &p->layout.dims;
    const step_work w = work_on(d, work);
    memcpy(w.v, v, d->M * sizeof *v);
    if (t > 0)
        read_out_back(p, x, t, z, &w, w.v, sums);
    if (t < p->T)
        step_back(p, x, s, t, z, v, sums);
}
