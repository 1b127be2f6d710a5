/* dstsp.c - D_stsp of two sets of trajectories: delay vectors, variances, and the estimator (spec 8). */
#include "measure/dstsp.h"

#include "base/machine.h"
#include "measure/bins.h"
#include "measure/embed.h"
#include "measure/mixture.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Kernels that a core evaluates in the second or so that a GPU needs to start and to compile: from that much
 * work per thread on the GPU pays (docs/benchmarks.md has the cores, docs/gpu.md the start).
 */
#define RATE 2e9

const char *antler_dstsp_kind_name(antler_dstsp_kind kind)
{
    switch (kind) {
    case ANTLER_DSTSP_GMM:
        return "gmm";
    case ANTLER_DSTSP_GMM_SILVERMAN:
        return "gmm-silverman";
    case ANTLER_DSTSP_BINS:
        return "bins";
    case ANTLER_DSTSP_GMM_FIXED:
        return "gmm-fixed";
    }
    return "unknown";
}

antler_status ant_dstsp_check(const antler_measure_opts *opts)
{
    ANT_CHECK(opts->threads >= 0, ANTLER_ERROR_ARGUMENT, "%d threads: give 0 for all or a number above 0",
              opts->threads);
    ANT_CHECK(isfinite(opts->variance) && opts->variance >= 0.0, ANTLER_ERROR_ARGUMENT,
              "the variance of gmm-fixed is %g: give a number above 0", opts->variance);
    switch (opts->dstsp) {
    case ANTLER_DSTSP_GMM:
    case ANTLER_DSTSP_GMM_SILVERMAN:
    case ANTLER_DSTSP_GMM_FIXED:
        ANT_CHECK(opts->samples >= 2, ANTLER_ERROR_ARGUMENT,
                  "%zu Monte Carlo samples: give at least 2, as the error of the mean is estimated from them",
                  opts->samples);
        return ANTLER_OK;
    case ANTLER_DSTSP_BINS:
        return ant_bins_check(opts);
    }
    return ant_fail(ANTLER_ERROR_ARGUMENT, "there is no estimator of D_stsp with the number %d",
                    (int)opts->dstsp);
}

/* Variance (1/T) along each axis.  variance: (dim) */
static antler_status axis_variances(const ant_points *points, const antler_series *truth, double *variance)
{
    const size_t n = antler_series_dim(truth);
    for (size_t axis = 0; axis < points->dim; axis++) {
        const double *column = points->values + axis;
        double sum = 0.0, squares = 0.0;
        for (size_t t = 0; t < points->count; t++)
            sum += column[t * points->dim];
        const double mean = sum / (double)points->count;
        for (size_t t = 0; t < points->count; t++) {
            const double deviation = column[t * points->dim] - mean;
            squares += deviation * deviation;
        }
        variance[axis] = squares / (double)points->count;
        ANT_CHECK(variance[axis] > 0.0 && isfinite(variance[axis]), ANTLER_ERROR_DATA,
                  "%s of the true orbit has variance %g over the %zu delay vectors: give more rows or leave "
                  "the variable out",
                  antler_series_name(truth, axis % n), variance[axis], points->count);
    }
    return ANTLER_OK;
}

/* The Monte Carlo mean of log p - log q over samples of p.  variance: (dim), of the kernels */
static antler_status mixture_divergence(const ant_points *truth, const ant_points *generated,
                                        const double *variance, const antler_measure_opts *opts,
                                        antler_measure_result *result)
{
    ANT_CHECK(opts->samples <= SIZE_MAX / sizeof(double) / truth->dim, ANTLER_ERROR_MEMORY,
              "out of memory: %zu samples in %zu dimensions are too many", opts->samples, truth->dim);
    const size_t bytes = opts->samples * truth->dim * sizeof(double);
    double *samples = malloc(bytes); // (samples, dim)
    if (samples == NULL)
        return ant_fail_memory(bytes, "the Monte Carlo samples");
    const ant_mixture p = {truth->values, variance, truth->count, truth->dim};
    const ant_mixture q = {generated->values, variance, generated->count, generated->dim};
    const ant_engine *engine = NULL;
    result->kernels = (double)opts->samples * ((double)truth->count + (double)generated->count);
    result->break_even = RATE * (double)result->threads;
    antler_status status = ant_engine_choose(opts->device, result->kernels > result->break_even, &engine);
    if (status == ANTLER_OK)
        status = ant_progress_report(opts->progress, "drawing samples", 0.0);
    if (status == ANTLER_OK)
        status = ant_mixture_samples(truth->values, truth->count, truth->dim, variance, opts->samples,
                                     opts->seed, result->threads, samples);
    if (status == ANTLER_OK)
        status = ant_mixture_divergence(engine, &p, &q, samples, opts->samples, result->threads,
                                        opts->progress, &result->dstsp, &result->dstsp_error);
    free(samples);
    result->device = engine == NULL ? NULL : engine->device();
    return status;
}

/* variance: (dim) of the true points; on return that of the estimator.  variables: N, dim = m N */
static antler_status estimate(const ant_points *truth, const ant_points *generated, size_t variables,
                              double *variance, const antler_measure_opts *opts,
                              antler_measure_result *result)
{
    if (opts->dstsp == ANTLER_DSTSP_BINS) {
        for (size_t axis = 0; axis < truth->dim; axis++)
            variance[axis] = sqrt(variance[axis]);
        ANT_TRY(ant_progress_report(opts->progress, "filling bins", 0.0));
        return ant_bins_dstsp(truth, generated, variance, opts, &result->dstsp, &result->bins_filled);
    }
    const bool fixed = opts->dstsp == ANTLER_DSTSP_GMM_FIXED;
    const double given = opts->variance > 0.0 ? opts->variance : 1.0;
    result->bandwidth = fixed ? given : antler_bandwidth(opts->dstsp, truth->count, truth->dim);
    for (size_t axis = 0; axis < truth->dim; axis++) {
        const double unit = opts->unit == NULL ? 1.0 : opts->unit[axis % variables];
        variance[axis] = (fixed ? unit * unit : variance[axis]) * result->bandwidth;
    }
    return mixture_divergence(truth, generated, variance, opts, result);
}

antler_status ant_dstsp(const antler_series *truth, const antler_series *generated,
                        const antler_measure_opts *opts, antler_measure_result *result)
{
    const double start = ant_seconds();
    ant_points p = {0}, q = {0};
    double *variance = NULL;
    antler_status status = ant_points_gather(truth, "the true orbit", opts->embed_dim, opts->embed_delay, &p);
    if (status == ANTLER_OK)
        status = ant_points_gather(generated, "the generated orbit", opts->embed_dim, opts->embed_delay, &q);
    if (status != ANTLER_OK)
        goto done;
    result->dstsp_dim = p.dim;
    result->true_points = p.count;
    result->generated_points = q.count;
    result->cpu = ant_cpu_level_name(ant_cpu_level_best());
    result->threads = opts->dstsp == ANTLER_DSTSP_BINS ? 1 : ant_threads_resolve(opts->threads);
    variance = malloc(p.dim * sizeof *variance);
    if (variance == NULL) {
        status = ant_fail_memory(p.dim * sizeof *variance, "the variances");
        goto done;
    }
    status = axis_variances(&p, truth, variance);
    if (status == ANTLER_OK)
        status = estimate(&p, &q, antler_series_dim(truth), variance, opts, result);
    if (status == ANTLER_NON_FINITE || (status == ANTLER_OK && !isfinite(result->dstsp)))
        status =
            ant_fail(ANTLER_NON_FINITE, "D_stsp is larger than any number: the generated orbit is too far "
                                        "from the true one, so the model has diverged");
done:
    free(variance);
    ant_points_free(&q);
    ant_points_free(&p);
    result->seconds = ant_seconds() - start;
    return status;
}
