/*
 * regularise_tmpl.c - manifold attractor regulariser, read-out regulariser and the pull of B's singular
 * values to 1 (SPEC 5).  Sums are taken in double in both precisions.
 */
#include "base/real.h"
#include "model/model.h"
#include "model/svd.h"

/* |x|^p for p = 1, 2 and its derivative, 0 at 0. */
static double power(double x, int p)
{
    return p == 1 ? fabs(x) : x * x;
}

static double slope(double x, int p)
{
    return p == 2 ? 2.0 * x : (double)(x > 0) - (double)(x < 0);
}

typedef struct context {
    const ant_model_layout *layout;
    const real *parameters;
    real *gradient; /* NULL: values only */
    int p;
} context;

static void add_to_gradient(const context *c, size_t index, double value)
{
    if (c->gradient != NULL)
        c->gradient[index] = (real)((double)c->gradient[index] + value);
}

/* scale * |theta_index|^p: returns the value, adds the slope. */
static double penalise(const context *c, size_t index, double scale)
{
    const double x = (double)c->parameters[index];
    add_to_gradient(c, index, scale * slope(x, c->p));
    return scale * power(x, c->p);
}

/* scale * sum_j |W_ij|^p for row i of W, formed from its factors when the rank is given. */
static double penalise_row(const context *c, size_t i, double scale)
{
    const ant_model_layout *layout = c->layout;
    const size_t L = layout->dims.L, rank = layout->dims.rank;
    double sum = 0.0;
    for (size_t j = 0; j < L; j++) {
        if (rank == 0) {
            sum += penalise(c, layout->W + i * L + j, scale);
            continue;
        }
        const size_t left = layout->WL + i * rank, right = layout->WR + j;
        double w = 0.0;
        for (size_t k = 0; k < rank; k++)
            w += (double)c->parameters[left + k] * (double)c->parameters[right + k * L];
        sum += scale * power(w, c->p);
        for (size_t k = 0; k < rank; k++) {
            add_to_gradient(c, left + k, scale * slope(w, c->p) * (double)c->parameters[right + k * L]);
            add_to_gradient(c, right + k * L, scale * slope(w, c->p) * (double)c->parameters[left + k]);
        }
    }
    return sum;
}

static double manifold_attractor(const context *c, const ant_regulariser *r)
{
    const ant_model_layout *layout = c->layout;
    const ant_model_dims *d = &layout->dims;
    const double scale = r->mar / (double)r->units;
    const double gamma_w = r->initial_scale ? 1.0 / (3.0 * (double)d->L) : 1.0;
    const double gamma_v = r->initial_scale ? 1.0 / (3.0 * (double)d->M) : 1.0;
    double sum = 0.0;
    for (size_t i = d->M - r->units; i < d->M; i++) {
        const double a = tanh((double)c->parameters[layout->Abar + i]);
        sum += scale * power(1.0 - a, c->p);
        add_to_gradient(c, layout->Abar + i, -scale * slope(1.0 - a, c->p) * (1.0 - a * a));
        sum += penalise_row(c, i, scale * gamma_w / (double)d->L);
        for (size_t j = 0; j < d->L; j++)
            sum += penalise(c, layout->V + j * d->M + i, scale * gamma_v / (double)d->L);
        sum += penalise(c, layout->h + i, scale);
    }
    return sum;
}

static double readout(const context *c, const ant_regulariser *r)
{
    const ant_model_dims *d = &c->layout->dims;
    const double scale = r->readout / ((double)d->N * (double)r->units);
    double sum = 0.0;
    for (size_t i = 0; i < d->N; i++) {
        for (size_t j = d->M - r->units; j < d->M; j++)
            sum += penalise(c, c->layout->B + i * d->M + j, scale);
    }
    return sum;
}

/* lambda_2 / k sum (sigma - 1)^2; d sigma_k / dB = u_k v_k^T. */
static antler_status singular_values(const context *c, const ant_regulariser *r, double *work, double *value)
{
    const size_t N = c->layout->dims.N, M = c->layout->dims.M, k = M < N ? M : N;
    double *b = work, *u = b + N * M, *s = u + N * k, *vt = s + k, *scratch = vt + k * M;
    for (size_t i = 0; i < N * M; i++)
        b[i] = (double)c->parameters[c->layout->B + i];
    ANT_TRY(ant_svd(N, M, b, u, s, vt, scratch));
    const double scale = r->singular / (double)k;
    *value = 0.0;
    for (size_t q = 0; q < k; q++) {
        *value += scale * (s[q] - 1.0) * (s[q] - 1.0);
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < M; j++)
                add_to_gradient(c, c->layout->B + i * M + j,
                                2.0 * scale * (s[q] - 1.0) * u[i * k + q] * vt[q * M + j]);
        }
    }
    return ANTLER_OK;
}

antler_status ANT_FN(ant_regulariser_add)(const ant_model_layout *layout, const ant_regulariser *regulariser,
                                          const real *parameters, real *gradient, double *work,
                                          ant_regulariser_terms *terms)
{
    const context c = {layout, parameters, gradient, regulariser->p};
    *terms = (ant_regulariser_terms){0};
    if (regulariser->mar > 0.0 && regulariser->units > 0)
        terms->mar = manifold_attractor(&c, regulariser);
    if (regulariser->readout > 0.0 && regulariser->units > 0)
        terms->readout = readout(&c, regulariser);
    if (regulariser->singular > 0.0)
        ANT_TRY(singular_values(&c, regulariser, work, &terms->singular));
    const double total = terms->mar + terms->readout + terms->singular;
    ANT_CHECK(isfinite(total), ANTLER_NON_FINITE, "a regularising term is not finite");
    return ANTLER_OK;
}
