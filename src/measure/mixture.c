/* mixture.c - the public calls on Gaussian mixtures: bandwidth, log density, samples, D_stsp (spec 8). */
#include "measure/mixture.h"

#include "base/machine.h"
#include "base/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double antler_bandwidth(antler_dstsp_kind kind, size_t true_points, size_t dim)
{
    const double d = (double)dim;
    const double f = pow((double)true_points * (d + 2.0) / 4.0, -1.0 / (d + 4.0));
    return kind == ANTLER_DSTSP_GMM ? f : kind == ANTLER_DSTSP_GMM_SILVERMAN ? f * f : 0.0;
}

/* values: (rows, dim) */
static antler_status check_rows(const char *name, const double *values, size_t rows, size_t dim)
{
    ANT_CHECK(values != NULL && rows > 0 && dim > 0, ANTLER_ERROR_ARGUMENT,
              "%s is empty: give at least one row and one column", name);
    ANT_CHECK(rows <= SIZE_MAX / sizeof(double) / dim, ANTLER_ERROR_ARGUMENT,
              "%s has %zu rows and %zu columns: more than memory can hold", name, rows, dim);
    for (size_t k = 0; k < rows * dim; k++)
        ANT_CHECK(isfinite(values[k]), ANTLER_ERROR_DATA,
                  "%s holds %g in row %zu, column %zu (counted from 0): give finite values only", name,
                  values[k], k / dim, k % dim);
    return ANTLER_OK;
}

static antler_status check_variance(const double *variance, size_t dim)
{
    ANT_CHECK(variance != NULL, ANTLER_ERROR_ARGUMENT, "variance is NULL: give one value for each column");
    for (size_t i = 0; i < dim; i++)
        ANT_CHECK(isfinite(variance[i]) && variance[i] >= DBL_MIN, ANTLER_ERROR_DATA,
                  "the variance of column %zu (counted from 0) is %g: it must be finite and above 0; leave "
                  "constant columns out",
                  i, variance[i]);
    return ANTLER_OK;
}

static antler_status check_threads(int threads)
{
    ANT_CHECK(threads >= 0, ANTLER_ERROR_ARGUMENT, "%d threads: give 0 for all or a number above 0", threads);
    return ANTLER_OK;
}

antler_status antler_log_density(const double *x, size_t length, size_t dim, const double *variance,
                                 const double *samples, size_t count, int threads, antler_progress progress,
                                 double *log_density)
{
    ANT_CHECK(log_density != NULL, ANTLER_ERROR_ARGUMENT, "log_density is NULL");
    ANT_TRY(check_threads(threads));
    ANT_TRY(check_rows("x", x, length, dim));
    ANT_TRY(check_variance(variance, dim));
    ANT_TRY(check_rows("samples", samples, count, dim));
    double *values = malloc(count * sizeof *values);
    if (values == NULL)
        return ant_fail_memory(count * sizeof *values, "the log densities");
    const ant_mixture mixture = {.x = x, .variance = variance, .length = length, .dim = dim};
    const ant_engine_report report = {.progress = progress, .what = "log density", .begin = 0.0, .span = 1.0};
    const antler_status status =
        ant_mixture_log_density(NULL, &mixture, samples, count, threads, report, values);
    if (status == ANTLER_OK || status == ANTLER_NON_FINITE)
        memcpy(log_density, values, count * sizeof *values);
    free(values);
    return status;
}

/* By halves, so that the rounding error grows with log(count) only. */
static double pairwise_sum(const double *values, size_t count)
{
    if (count > 64)
        return pairwise_sum(values, count / 2) + pairwise_sum(values + count / 2, count - count / 2);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* The mean and its standard error, NaN for a single value.  values: (count), overwritten */
static void mean_and_error(double *values, size_t count, double *mean, double *error)
{
    *mean = pairwise_sum(values, count) / (double)count;
    for (size_t i = 0; i < count; i++)
        values[i] = (values[i] - *mean) * (values[i] - *mean);
    *error = sqrt(pairwise_sum(values, count) / ((double)count - 1.0) / (double)count);
}

/* log_p, log_q: (count); on success log_p holds the differences. */
static antler_status log_ratios(const ant_engine *engine, const ant_mixture *p, const ant_mixture *q,
                                const double *samples, size_t count, int threads, antler_progress progress,
                                double *log_p, double *log_q)
{
    const double share = (double)p->length / ((double)p->length + (double)q->length);
    const ant_engine_report first = {.progress = progress, .what = "D_stsp", .begin = 0.0, .span = share};
    const ant_engine_report second = {
        .progress = progress, .what = "D_stsp", .begin = share, .span = 1.0 - share};
    ANT_TRY(ant_mixture_log_density(engine, p, samples, count, threads, first, log_p));
    ANT_TRY(ant_mixture_log_density(engine, q, samples, count, threads, second, log_q));
    for (size_t i = 0; i < count; i++)
        log_p[i] -= log_q[i];
    return ANTLER_OK;
}

antler_status ant_mixture_divergence(const ant_engine *engine, const ant_mixture *p, const ant_mixture *q,
                                     const double *samples, size_t count, int threads,
                                     antler_progress progress, double *divergence, double *error)
{
    ANT_TRY(check_threads(threads));
    ANT_TRY(check_rows("x", p->x, p->length, p->dim));
    ANT_TRY(check_rows("y", q->x, q->length, q->dim));
    ANT_TRY(check_variance(p->variance, p->dim));
    ANT_TRY(check_rows("samples", samples, count, p->dim));
    double *log_p = calloc(count, 2 * sizeof *log_p); // (2, count)
    if (log_p == NULL)
        return ant_fail_memory(2 * count * sizeof *log_p, "the log densities");
    const antler_status status =
        log_ratios(engine, p, q, samples, count, threads, progress, log_p, log_p + count);
    if (status == ANTLER_OK) {
        double mean_error;
        mean_and_error(log_p, count, divergence, &mean_error);
        if (error != NULL)
            *error = mean_error;
    }
    free(log_p);
    return status;
}

antler_status antler_dstsp_samples(const double *x, size_t true_points, const double *y,
                                   size_t generated_points, size_t dim, const double *variance,
                                   const double *samples, size_t count, int threads, antler_progress progress,
                                   double *dstsp, double *error)
{
    ANT_CHECK(dstsp != NULL, ANTLER_ERROR_ARGUMENT, "dstsp is NULL");
    const ant_mixture p = {.x = x, .variance = variance, .length = true_points, .dim = dim};
    const ant_mixture q = {.x = y, .variance = variance, .length = generated_points, .dim = dim};
    return ant_mixture_divergence(NULL, &p, &q, samples, count, threads, progress, dstsp, error);
}

/*
 * Sample i has the Philox counters i B .. i B + B - 1 of the stream (seed, 0, 0, MIXTURE_SAMPLES), with
 * B = 1 + ceil(dim / 2): the first 64-bit number of the first counter picks the orbit point, each further
 * counter gives the normals of two coordinates.  So sample i does not depend on `count`.
 */
antler_status ant_mixture_samples(const double *x, size_t length, size_t dim, const double *variance,
                                  size_t count, uint64_t seed, int threads, double *samples)
{
    ANT_CHECK(samples != NULL, ANTLER_ERROR_ARGUMENT, "samples is NULL");
    ANT_TRY(check_rows("x", x, length, dim));
    ANT_TRY(check_variance(variance, dim));
    ANT_CHECK(count > 0, ANTLER_ERROR_ARGUMENT, "0 samples: give at least 1");
    double *sd = malloc(dim * sizeof *sd); // (dim)
    if (sd == NULL)
        return ant_fail_memory(dim * sizeof *sd, "the widths of the kernels");
    for (size_t i = 0; i < dim; i++)
        sd[i] = sqrt(variance[i]);
    const uint64_t counters = 1 + dim / 2 + dim % 2;
    const int team = ant_threads_ready(ant_threads_resolve(threads));
#pragma omp parallel for num_threads(team)
    for (size_t k = 0; k < count; k++) {
        ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_MIXTURE_SAMPLES);
        double *sample = samples + k * dim;
        ant_stream_seek(&stream, k * counters);
        const double *point = x + ant_stream_below(&stream, length) * dim;
        ant_stream_seek(&stream, k * counters + 1);
        ant_stream_normals(&stream, sample, dim);
        for (size_t i = 0; i < dim; i++)
            sample[i] = point[i] + sd[i] * sample[i];
    }
    free(sd);
    return ANTLER_OK;
}

antler_status antler_mixture_samples(const double *x, size_t length, size_t dim, const double *variance,
                                     size_t count, uint64_t seed, double *samples)
{
    return ant_mixture_samples(x, length, dim, variance, count, seed, 0, samples);
}
