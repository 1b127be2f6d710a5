/* shplrnn_tmpl.c - the step of the shPLRNN and its Jacobian in plain loops: the reference for all kernels. */
#include "base/real.h"
#include "model/decay.h"
#include "model/model.h"

static real relu(real x)
{
    return x > 0 ? x : 0;
}

/* out_l = phi(V z + b), or phi(V z + b) - phi(V z) when clipped.  out: (L) */
static void activate(const ant_model_layout *layout, const real *parameters, const real *z, real *out)
{
    const ant_model_dims *d = &layout->dims;
    const real *V = parameters + layout->V, *b = parameters + layout->b;
    for (size_t l = 0; l < d->L; l++) {
        real sum = 0;
        for (size_t m = 0; m < d->M; m++)
            sum += V[l * d->M + m] * z[m];
        out[l] = relu(sum + b[l]) - (d->clipped ? relu(sum) : 0);
    }
}

void ANT_FN(ant_shplrnn_step)(const ant_model_layout *layout, const real *parameters, const real *z,
                              const real *s, real *next, real *hidden)
{
    const ant_model_dims *d = &layout->dims;
    real *inner = hidden + d->L; /* (rank): WR phi */
    activate(layout, parameters, z, hidden);
    for (size_t k = 0; k < d->rank; k++) {
        inner[k] = 0;
        for (size_t l = 0; l < d->L; l++)
            inner[k] += parameters[layout->WR + k * d->L + l] * hidden[l];
    }
    const size_t cols = d->rank > 0 ? d->rank : d->L;
    const real *left = parameters + (d->rank > 0 ? layout->WL : layout->W);
    const real *right = d->rank > 0 ? inner : hidden;
    for (size_t m = 0; m < d->M; m++) {
        const real A1 = (real)ant_decay_less_one(d->free_diagonal, (double)parameters[layout->Abar + m]);
        real sum = A1 * z[m] + parameters[layout->h + m];
        for (size_t k = 0; k < cols; k++)
            sum += left[m * cols + k] * right[k];
        for (size_t k = 0; k < d->K; k++)
            sum += parameters[layout->C + m * d->K + k] * s[k];
        next[m] = z[m] + sum;
    }
}

void ANT_FN(ant_shplrnn_jacobian)(const ant_model_layout *layout, const real *parameters, const real *z,
                                  real *jacobian, real *hidden)
{
    const ant_model_dims *d = &layout->dims;
    const real *V = parameters + layout->V, *b = parameters + layout->b;
    for (size_t l = 0; l < d->L; l++) { /* hidden_l = phi'(V z + b), minus phi'(V z) when clipped */
        real sum = 0;
        for (size_t m = 0; m < d->M; m++)
            sum += V[l * d->M + m] * z[m];
        hidden[l] = (real)(sum + b[l] > 0) - (real)(d->clipped && sum > 0);
    }
    for (size_t i = 0; i < d->M; i++) {
        const real x = parameters[layout->Abar + i];
        for (size_t j = 0; j < d->M; j++)
            jacobian[i * d->M + j] = i == j ? (d->free_diagonal ? x : r_tanh(x)) : 0;
        for (size_t l = 0; l < d->L; l++) {
            real weight = 0; /* W_il phi'_l */
            if (d->rank == 0)
                weight = parameters[layout->W + i * d->L + l];
            for (size_t k = 0; k < d->rank; k++)
                weight += parameters[layout->WL + i * d->rank + k] * parameters[layout->WR + k * d->L + l];
            for (size_t j = 0; j < d->M; j++)
                jacobian[i * d->M + j] += weight * hidden[l] * V[l * d->M + j];
        }
    }
}

void ANT_FN(ant_shplrnn_observe)(const ant_model_layout *layout, const real *parameters, const real *z,
                                 real *xhat)
{
    const ant_model_dims *d = &layout->dims;
    for (size_t n = 0; n < d->N; n++) {
        xhat[n] = 0;
        for (size_t m = 0; m < d->M; m++)
            xhat[n] += parameters[layout->B + n * d->M + m] * z[m];
    }
}
