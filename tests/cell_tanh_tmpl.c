/*
 * cell_tanh_tmpl.c - a tanh-RNN as a cell: all that a new recurrence has to bring to be forced, solved and
 * differentiated by `sequential`, `deer` and `quasi-deer`.
 *     F(z, s) = tanh(W z + C s + h),    dF/dz = diag(1 - F^2) W
 */
#include "cell_tanh.h"

#include "solve/cell.h"
#include "solve/solve_call.h"

static size_t scratch_count(const ant_model_layout *layout)
{
    return layout->dims.M;
}

static void step(const solve_call *p, const real *z, const real *s, real *next, real *scratch)
{
    const ant_model_dims *d = &p->layout->dims;
    (void)scratch;
    for (size_t i = 0; i < d->M; i++) {
        real sum = p->parameters[p->layout->h + i];
        for (size_t j = 0; j < d->M; j++)
            sum += p->parameters[p->layout->W + i * d->M + j] * z[j];
        for (size_t k = 0; k < d->K; k++)
            sum += p->parameters[p->layout->C + i * d->K + k] * s[k];
        next[i] = r_tanh(sum);
    }
}

static void linearise(const solve_call *p, const real *z, const real *s, real *next, real *jacobian,
                      real *scratch)
{
    const size_t M = p->layout->dims.M;
    step(p, z, s, next, scratch);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++)
            jacobian[i * M + j] = (1 - next[i] * next[i]) * p->parameters[p->layout->W + i * M + j];
    }
}

/* With u = (1 - F^2) o v:  w = W^T u,  dW = u z^T,  dh = u,  dC = u s^T. */
static void pull_back(const solve_call *p, const real *z, const real *s, const real *v, real *w,
                      real *scratch, double *sums)
{
    const ant_model_layout *y = p->layout;
    const size_t M = y->dims.M, K = y->dims.K;
    real *next = scratch; /* (M) */
    step(p, z, s, next, NULL);
    for (size_t j = 0; j < M; j++)
        w[j] = 0;
    for (size_t i = 0; i < M; i++) {
        const real u = (1 - next[i] * next[i]) * v[i];
        for (size_t j = 0; j < M; j++) {
            w[j] += p->parameters[y->W + i * M + j] * u;
            if (sums != NULL)
                sums[y->W + i * M + j] += (double)u * (double)z[j];
        }
        if (sums == NULL)
            continue;
        sums[y->h + i] += (double)u;
        for (size_t k = 0; k < K; k++)
            sums[y->C + i * K + k] += (double)u * (double)s[k];
    }
}

static const ANT_FN(ant_cell) cell = {
    .name = "tanh-RNN",
    .scratch_count = scratch_count,
    .step = step,
    .linearise = linearise,
    .pull_back = pull_back,
};

antler_status ANT_FN(tanh_plan)(const ant_model_layout *layout, size_t T, size_t batch,
                                const ant_solve_options *options, ANT_FN(ant_solve_plan) * *plan)
{
    return ANT_FN(ant_cell_plan_create)(&cell, layout, T, batch, options, plan);
}
