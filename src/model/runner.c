#include "model/runner.h"

#include "base/machine.h"
#include "model/svd.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void carve(ant_arena *arena, ant_runner *r)
{
    r->A = ant_arena_take(arena, r->Mp, sizeof *r->A);
    r->h = ant_arena_take(arena, r->Mp, sizeof *r->h);
    r->Wt = ant_arena_take(arena, r->Lp * r->Mp, sizeof *r->Wt);
    r->Vt = ant_arena_take(arena, r->M * r->Lp, sizeof *r->Vt);
    r->b = ant_arena_take(arena, r->Lp, sizeof *r->b);
    r->Ct = ant_arena_take(arena, r->K * r->Mp, sizeof *r->Ct);
    r->B = ant_arena_take(arena, r->N * r->M, sizeof *r->B);
    r->pinv = ant_arena_take(arena, r->M * r->N, sizeof *r->pinv);
    r->hidden = ant_arena_take(arena, r->Lp, sizeof *r->hidden);
    r->state[0] = ant_arena_take(arena, r->Mp, sizeof *r->state[0]);
    r->state[1] = ant_arena_take(arena, r->Mp, sizeof *r->state[1]);
    r->next = ant_arena_take(arena, r->M, sizeof *r->next);
    r->error = ant_arena_take(arena, r->N, sizeof *r->error);
}

static double *clear(double *values, size_t count)
{
    return memset(values, 0, count * sizeof *values);
}

/* W^T as one (Lp, Mp) matrix, multiplied out when W is kept as two factors. */
static void pack_W(const antler_model *model, ant_runner *r)
{
    const ant_model_layout *at = &model->layout;
    const double *p = model->parameters;
    const size_t rank = at->dims.rank;
    clear(r->Wt, r->Lp * r->Mp);
    for (size_t l = 0; l < r->L; l++) {
        for (size_t m = 0; m < r->M; m++) {
            double sum = rank == 0 ? p[at->W + m * r->L + l] : 0.0;
            for (size_t k = 0; k < rank; k++)
                sum += p[at->WL + m * rank + k] * p[at->WR + k * r->L + l];
            r->Wt[l * r->Mp + m] = sum;
        }
    }
}

static void pack(const antler_model *model, ant_runner *r)
{
    const ant_model_layout *at = &model->layout;
    const double *p = model->parameters;
    clear(r->state[0], r->Mp);
    clear(r->state[1], r->Mp);
    clear(r->A, r->Mp);
    clear(r->Vt, r->M * r->Lp);
    clear(r->Ct, r->K * r->Mp);
    memcpy(clear(r->h, r->Mp), p + at->h, r->M * sizeof *r->h);
    memcpy(clear(r->b, r->Lp), p + at->b, r->L * sizeof *r->b);
    memcpy(r->B, p + at->B, r->N * r->M * sizeof *r->B);
    for (size_t m = 0; m < r->M; m++) {
        r->A[m] = tanh(p[at->Abar + m]);
        for (size_t l = 0; l < r->L; l++)
            r->Vt[m * r->Lp + l] = p[at->V + l * r->M + m];
        for (size_t k = 0; k < r->K; k++)
            r->Ct[k * r->Mp + m] = p[at->C + m * r->K + k];
    }
    pack_W(model, r);
}

/* B+ by singular values; those below max(M, N) eps sigma_1 count as zero. */
static antler_status invert(ant_runner *r)
{
    const size_t M = r->M, N = r->N, k = M < N ? M : N;
    const size_t numbers = (N + M + 1) * k + ant_svd_work(N, M);
    double *u = malloc(numbers * sizeof *u); // (N, k)
    if (u == NULL)
        return ant_fail_memory(numbers * sizeof *u, "the pseudo-inverse of B");
    double *sigma = u + N * k, *vt = sigma + k, *work = vt + k * M;
    const antler_status status = ant_svd(N, M, r->B, u, sigma, vt, work);
    if (status == ANTLER_OK) {
        const double least = sigma[0] * DBL_EPSILON * (double)(M > N ? M : N);
        memset(r->pinv, 0, M * N * sizeof *r->pinv);
        for (size_t q = 0; q < k && sigma[q] > least; q++) {
            for (size_t m = 0; m < M; m++) {
                for (size_t n = 0; n < N; n++)
                    r->pinv[m * N + n] += vt[q * M + m] * u[n * k + q] / sigma[q];
            }
        }
    }
    free(u);
    return status;
}

static const ant_runner_kernels *kernels_here(void)
{
#if defined(__x86_64__)
    switch (ant_cpu_level_best()) {
    case ANT_CPU_AVX512:
        return &ant_runner_kernels_avx512;
    case ANT_CPU_AVX2:
        return &ant_runner_kernels_avx2;
    case ANT_CPU_BASE:
        break;
    }
#endif
    return &ant_runner_kernels_base;
}

static antler_status check_finite(const antler_model *model)
{
    for (size_t i = 0; i < model->layout.slices; i++) {
        const ant_model_slice *slice = &model->layout.slice[i];
        for (size_t j = 0; j < slice->count; j++)
            ANT_CHECK(isfinite(model->parameters[slice->offset + j]), ANTLER_NON_FINITE,
                      "the model cannot run: its parameter %s is not finite in row %zu, column %zu; take an "
                      "earlier checkpoint",
                      slice->name, j / slice->cols + 1, j % slice->cols + 1);
    }
    return ANTLER_OK;
}

antler_status ant_runner_create(const antler_model *model, ant_runner **runner)
{
    ANT_CHECK(model != NULL, ANTLER_ERROR_ARGUMENT, "there is no model to run");
    ANT_TRY(check_finite(model));
    const ant_model_dims *d = &model->layout.dims;
    ant_runner *r = calloc(1, sizeof *r);
    if (r == NULL)
        return ant_fail_memory(sizeof *r, "a runner");
    r->M = d->M;
    r->N = d->N;
    r->L = d->L;
    r->K = d->K;
    r->Mp = ant_lanes_pad(d->M);
    r->Lp = ant_lanes_pad(d->L);
    r->clipped = d->clipped;
    r->kernels = kernels_here();
    ant_arena_count(&r->arena);
    carve(&r->arena, r);
    const size_t bytes = r->arena.used;
    antler_status status = ant_arena_create(&r->arena, bytes);
    if (status != ANTLER_OK) {
        free(r);
        return status;
    }
    carve(&r->arena, r);
    pack(model, r);
    status = invert(r);
    if (status != ANTLER_OK)
        ant_runner_free(r);
    else
        *runner = r;
    return status;
}

void ant_runner_free(ant_runner *runner)
{
    if (runner != NULL)
        ant_arena_destroy(&runner->arena);
    free(runner);
}

void ant_runner_steps(const ant_runner *runner, const double *z0, const double *s, size_t count, double *z)
{
    runner->kernels->steps(runner, z0, s, count, z);
}

void ant_runner_observe(const ant_runner *r, const double *z, size_t count, double *x)
{
    for (size_t t = 0; t < count; t++) {
        for (size_t n = 0; n < r->N; n++) {
            double sum = 0.0;
            for (size_t m = 0; m < r->M; m++)
                sum += r->B[n * r->M + m] * z[t * r->M + m];
            x[t * r->N + n] = sum;
        }
    }
}

/* z += B+ (x - B z): forcing with strength 1.  x: (N); z: (M) */
static void force(const ant_runner *r, const double *x, double *z)
{
    ant_runner_observe(r, z, 1, r->error);
    for (size_t n = 0; n < r->N; n++)
        r->error[n] = x[n] - r->error[n];
    for (size_t m = 0; m < r->M; m++) {
        for (size_t n = 0; n < r->N; n++)
            z[m] += r->pinv[m * r->N + n] * r->error[n];
    }
}

void ant_runner_warm(const ant_runner *r, const double *x, const double *s, size_t rows, double *z)
{
    memset(z, 0, r->M * sizeof *z);
    force(r, x, z);
    for (size_t t = 1; t < rows; t++) {
        ant_runner_steps(r, z, r->K == 0 ? NULL : s + t * r->K, 1, r->next);
        memcpy(z, r->next, r->M * sizeof *z);
        force(r, x + t * r->N, z);
    }
}
