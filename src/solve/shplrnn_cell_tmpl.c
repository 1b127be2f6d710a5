/*
 * shplrnn_cell_tmpl.c - the shPLRNN as a cell (cell.h), in plain loops (spec 1):
 *     F(z, s) = A o z + W phi(V z + b) + h + C s
 * and the clipped model, W [phi(V z + b) - phi(V z)].  A is kept as A - 1 (model/decay.h).  The sums have
 * dloss/dA in place of Abar until `finish`.
 *
 * derived: A - 1 (M), which the fast kernels read, too; then W^T (L, M), multiplied out when W = WL WR.
 */
#include "model/decay.h"
#include "solve/kernel.h"

#include <string.h>

static size_t derived_count(const ant_model_layout *layout, bool jacobian)
{
    const ant_model_dims *d = &layout->dims;
    return d->M + (jacobian ? d->L * d->M : 0);
}

static void derive(const ant_model_layout *layout, const real *parameters, bool jacobian, real *derived)
{
    const ant_model_dims *d = &layout->dims;
    real *mixing = derived + d->M; /* W^T */
    for (size_t m = 0; m < d->M; m++)
        derived[m] =
            (real)ant_decay_less_one(layout->dims.free_diagonal, (double)parameters[layout->Abar + m]);
    for (size_t l = 0; l < d->L && jacobian; l++) {
        for (size_t m = 0; m < d->M; m++) {
            real sum = d->rank == 0 ? parameters[layout->W + m * d->L + l] : 0;
            for (size_t k = 0; k < d->rank; k++)
                sum += parameters[layout->WL + m * d->rank + k] * parameters[layout->WR + k * d->L + l];
            mixing[l * d->M + m] = sum;
        }
    }
}

static size_t scratch_count(const ant_model_layout *layout)
{
    return 3 * layout->dims.L + 2 * layout->dims.rank;
}

static void step(const solve_call *p, const real *z, const real *s, real *next, real *scratch)
{
    ANT_FN(ant_shplrnn_step)(p->layout, p->parameters, z, s, next, scratch);
}

/* next = F(z) and jacobian = J_F(z) in one pass over the hidden units. */
static void linearise(const solve_call *p, const real *z, const real *s, real *next, real *jacobian,
                      real *scratch)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    const size_t M = d->M;
    const real *A1 = p->derived, *mixing = A1 + M;
    (void)scratch;
    memset(jacobian, 0, M * M * sizeof *jacobian);
    for (size_t m = 0; m < M; m++) {
        next[m] = A1[m] * z[m] + p->parameters[layout->h + m];
        for (size_t k = 0; k < d->K; k++)
            next[m] += p->parameters[layout->C + m * d->K + k] * s[k];
        jacobian[m * M + m] = 1 + A1[m];
    }
    for (size_t l = 0; l < d->L; l++) {
        const real *V = p->parameters + layout->V + l * M, *W = mixing + l * M;
        real sum = 0;
        for (size_t m = 0; m < M; m++)
            sum += V[m] * z[m];
        const real with = sum + p->parameters[layout->b + l], without = d->clipped ? sum : 0;
        const real phi = (with > 0 ? with : 0) - (without > 0 ? without : 0);
        const real slope = (real)(with > 0) - (real)(without > 0);
        for (size_t i = 0; i < M && phi != 0; i++)
            next[i] += W[i] * phi;
        for (size_t i = 0; i < M && slope != 0; i++) {
            const real factor = W[i] * slope;
            for (size_t j = 0; j < M; j++)
                jacobian[i * M + j] += factor * V[j];
        }
    }
    for (size_t m = 0; m < M; m++)
        next[m] += z[m];
}

/* phi and phi' of one step, and the factors between v and them. */
typedef struct activity {
    real *phi;   /* (L) */
    real *slope; /* (L): phi'(V z + b), minus phi'(V z) when clipped */
    real *bias;  /* (L): phi'(V z + b), the factor of db */
    real *inner; /* (rank): WR phi */
    real *back;  /* (rank): WL^T v */
} activity;

static activity activate(const solve_call *p, const real *z, real *scratch)
{
    const ant_model_dims *d = &p->layout->dims;
    const real *V = p->parameters + p->layout->V, *b = p->parameters + p->layout->b;
    activity a = {scratch, scratch + d->L, scratch + 2 * d->L, scratch + 3 * d->L,
                  scratch + 3 * d->L + d->rank};
    for (size_t l = 0; l < d->L; l++) {
        real sum = 0;
        for (size_t m = 0; m < d->M; m++)
            sum += V[l * d->M + m] * z[m];
        const real with = sum + b[l], without = d->clipped ? sum : 0;
        a.phi[l] = (with > 0 ? with : 0) - (without > 0 ? without : 0);
        a.bias[l] = (real)(with > 0);
        a.slope[l] = (real)(with > 0) - (real)(without > 0);
    }
    for (size_t k = 0; k < d->rank; k++) {
        a.inner[k] = 0;
        for (size_t l = 0; l < d->L; l++)
            a.inner[k] += p->parameters[p->layout->WR + k * d->L + l] * a.phi[l];
    }
    return a;
}

/* (W^T v)_l, through both factors when the rank is given; needs a->back. */
static real hidden_gradient(const solve_call *p, const activity *a, const real *v, size_t l)
{
    const ant_model_dims *d = &p->layout->dims;
    real sum = 0;
    if (d->rank == 0) {
        for (size_t m = 0; m < d->M; m++)
            sum += p->parameters[p->layout->W + m * d->L + l] * v[m];
    }
    for (size_t k = 0; k < d->rank; k++)
        sum += p->parameters[p->layout->WR + k * d->L + l] * a->back[k];
    return sum;
}

/* Add the gradients of W, or WL and WR, for one step. */
static void add_weights(const solve_call *p, const activity *a, const real *v, double *sums)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    for (size_t m = 0; m < d->M && d->rank == 0; m++) {
        for (size_t l = 0; l < d->L; l++)
            sums[layout->W + m * d->L + l] += (double)v[m] * (double)a->phi[l];
    }
    for (size_t k = 0; k < d->rank; k++) {
        for (size_t m = 0; m < d->M; m++)
            sums[layout->WL + m * d->rank + k] += (double)v[m] * (double)a->inner[k];
        for (size_t l = 0; l < d->L; l++)
            sums[layout->WR + k * d->L + l] += (double)a->back[k] * (double)a->phi[l];
    }
}

/* w = J_F(z)^T v; adds the gradients of A, W, V, b, h and C to `sums` unless it is NULL. */
static void pull_back(const solve_call *p, const real *z, const real *s, const real *v, real *w,
                      real *scratch, double *sums)
{
    const ant_model_layout *layout = p->layout;
    const ant_model_dims *d = &layout->dims;
    activity a = activate(p, z, scratch);
    for (size_t k = 0; k < d->rank; k++) {
        a.back[k] = 0;
        for (size_t m = 0; m < d->M; m++)
            a.back[k] += p->parameters[layout->WL + m * d->rank + k] * v[m];
    }
    for (size_t m = 0; m < d->M; m++)
        w[m] = p->derived[m] * v[m];
    for (size_t l = 0; l < d->L; l++) {
        const real g = hidden_gradient(p, &a, v, l), u = g * a.slope[l];
        for (size_t m = 0; m < d->M; m++) {
            w[m] += p->parameters[layout->V + l * d->M + m] * u;
            if (sums != NULL)
                sums[layout->V + l * d->M + m] += (double)u * (double)z[m];
        }
        if (sums != NULL)
            sums[layout->b + l] += (double)(g * a.bias[l]);
    }
    for (size_t m = 0; m < d->M; m++)
        w[m] += v[m];
    if (sums == NULL)
        return;
    add_weights(p, &a, v, sums);
    for (size_t m = 0; m < d->M; m++) {
        sums[layout->Abar + m] += (double)v[m] * (double)z[m];
        sums[layout->h + m] += (double)v[m];
        for (size_t k = 0; k < d->K; k++)
            sums[layout->C + m * d->K + k] += (double)v[m] * (double)s[k];
    }
}

/* From dloss/dA to the parameter behind A. */
static void finish(const ant_model_layout *layout, const real *parameters, double *sums)
{
    const bool is_free = layout->dims.free_diagonal;
    for (size_t m = 0; m < layout->dims.M; m++) {
        const double a = ant_decay(is_free, (double)parameters[layout->Abar + m]);
        sums[layout->Abar + m] *= ant_decay_slope(is_free, a);
    }
}

static const ANT_FN(ant_cell_kernels) kernels = {
    .lane = ANT_FN(ant_kernels_lane),
    .lane_rows = ANT_FN(ant_kernels_lane_rows),
    .line = ANT_FN(ant_kernels_line),
    .piece = ANT_FN(ant_kernels_piece),
};

const ANT_FN(ant_cell) ANT_FN(ant_cell_shplrnn) = {
    .name = "shplrnn",
    .derived_count = derived_count,
    .derive = derive,
    .scratch_count = scratch_count,
    .step = step,
    .linearise = linearise,
    .pull_back = pull_back,
    .finish = finish,
    .kernels = &kernels,
};
