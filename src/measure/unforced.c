/*
 * unforced.c - Lyapunov exponents of latent directions that data do not force (spec 8).
 *
 * Forcing with strength 1 replaces the observed part of the state and leaves the kernel of B to the model.
 * Small differences in that kernel, projected onto it after every step, grow at conditional exponents (Pecora
 * and Carroll 1990); here the orbit itself is what drives them.
 */
#include "measure/unforced.h"

#include "measure/tangent.h"
#include "model/svd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 256 };

/* Multiply-adds that may be spent: some seconds of one core. */
#define MOST_WORK 1e10

size_t ant_unforced_count(const antler_model *model, const ant_runner *runner, size_t steps)
{
    if (model->layout.dims.kind != ANT_MODEL_SHPLRNN || runner->n <= runner->N)
        return 0;
    const size_t count = runner->n - runner->N;
    const double vectors = (double)count,
                 each = ant_runner_step_work(runner) + 2.0 * vectors * (double)runner->n;
    return (double)steps * vectors * each <= MOST_WORK ? count : 0;
}

typedef struct projection {
    size_t N, M;
    double *rows; /* (N, M): an orthonormal basis of what B observes */
} projection;

/* memory: freed by the caller */
static antler_status observed_basis(const antler_model *model, projection *p, double **memory)
{
    const size_t N = p->N, M = p->M, numbers = N * M + N * N + N + ant_svd_work(N, M);
    *memory = malloc(numbers * sizeof **memory);
    if (*memory == NULL)
        return ant_fail_memory(numbers * sizeof **memory, "the kernel of B");
    p->rows = *memory;
    double *u = p->rows + N * M, *sigma = u + N * N;
    return ant_svd(N, M, model->parameters + model->layout.B, u, sigma, p->rows, sigma + N);
}

/* Take the observed part out of every tangent vector. */
static void project(const projection *p, ant_tangent *t)
{
    for (size_t k = 0; k < t->count; k++) {
        double *vector = t->P + k * t->stride;
        for (size_t i = 0; i < p->N; i++) {
            const double *row = p->rows + i * p->M;
            double product = 0.0;
            for (size_t m = 0; m < p->M; m++)
                product += row[m] * vector[m];
            for (size_t m = 0; m < p->M; m++)
                vector[m] -= product * row[m];
        }
    }
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* room: ((1 + TILE) n + TILE (N + K) + count); exponents: (count), 0 at first, sums at the end */
static void run_along(const ant_runner *r, const ant_started *started, const projection *p,
                      ant_tangent *tangent, size_t transient, size_t steps, double *room, double *exponents)
{
    const ant_tangent_kernels *kernels = ant_tangent_kernels_here();
    double *tile = room, *x = tile + (1 + TILE) * r->n, *s = x + TILE * r->N, *logs = s + TILE * r->K;
    memcpy(tile, started->state, r->n * sizeof *tile);
    for (size_t done = 0; done < transient + steps;) {
        const size_t rest = transient + steps - done, count = rest < TILE ? rest : TILE;
        ant_started_inputs(started, done, count, s);
        ant_runner_steps(r, tile, s, count, tile + r->n, x);
        for (size_t t = 0; t < count; t++, done++) {
            ant_tangent_push(tangent, tile + t * r->n, s + t * r->K);
            project(p, tangent);
            kernels->orthonormalise(tangent, logs);
            for (size_t k = 0; k < tangent->count && done >= transient; k++)
                exponents[k] += logs[k];
        }
        memcpy(tile, tile + count * r->n, r->n * sizeof *tile);
    }
}

antler_status ant_unforced_exponents(const antler_model *model, const ant_runner *runner,
                                     const ant_started *started, size_t transient, size_t steps, size_t count,
                                     double *exponents)
{
    const size_t numbers = (1 + TILE) * runner->n + TILE * (runner->N + runner->K) + count;
    projection p = {.N = runner->N, .M = runner->n};
    ant_tangent tangent = {0};
    double *memory = NULL, *room = malloc(numbers * sizeof *room);
    antler_status status = room == NULL ? ant_fail_memory(numbers * sizeof *room, "the orbit")
                                        : observed_basis(model, &p, &memory);
    if (status == ANTLER_OK)
        status = ant_tangent_create(runner, count, &tangent);
    if (status == ANTLER_OK) {
        memset(exponents, 0, count * sizeof *exponents);
        run_along(runner, started, &p, &tangent, transient, steps, room, exponents);
        for (size_t k = 0; k < count; k++)
            exponents[k] /= (double)steps;
        qsort(exponents, count, sizeof *exponents, falling);
    }
    ant_tangent_destroy(&tangent);
    free(memory);
    free(room);
    return status;
}
