/* dstsp_case.c - one case of the D_stsp benchmark: made, timed several times, written as JSON. */
#include "dstsp_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHECKED = 64, CALIBRATION = 256 };

static bool is_prime(size_t n)
{
    for (size_t k = 2; k * k <= n; k++) {
        if (n % k == 0)
            return false;
    }
    return true;
}

/*
 * An orbit on a torus: coordinate i turns with the frequency sqrt(p_i), p_i the i-th prime.  Mean 0 and
 * variance 1; bench/dstsp_numpy.py makes the same numbers.  x: (points, dim)
 */
static void make_orbit(double *x, size_t points, size_t dim)
{
    const double two_pi = 6.283185307179586476925286766559;
    size_t prime = 2;
    for (size_t i = 0; i < dim; i++, prime++) {
        while (!is_prime(prime))
            prime++;
        for (size_t t = 0; t < points; t++)
            x[t * dim + i] = sqrt(2.0) * sin(two_pi * fmod((double)(t + 1) * sqrt((double)prime), 1.0));
    }
}

/* Orbit points moved by about the width of a kernel.  samples: (count, dim) */
static void make_samples(double *samples, size_t count, const double *x, size_t points, size_t dim,
                         double width)
{
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < dim; i++)
            samples[k * dim + i] =
                x[k * 7919 % points * dim + i] + width * sin((double)(k + 1) + 1.7 * (double)i);
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/*
 * Multiply-adds per kernel: one for each dimension, the polynomial less its first step, and the one that adds
 * the kernel to the sum (src/measure/mixture_vector.h).
 */
static double multiply_adds(const bench_case *c)
{
    const double polynomial[] = {[ANT_CPU_BASE] = 8.0, [ANT_CPU_AVX2] = 6.0, [ANT_CPU_AVX512] = 4.0};
    return (double)c->dim + polynomial[c->level] + 1.0;
}

static void summarise(const bench_case *c, bench_result *r)
{
    double deviations[BENCH_MAX_REPEATS];
    r->median = median_of(r->seconds, c->repeats);
    for (int k = 0; k < c->repeats; k++)
        deviations[k] = fabs(r->seconds[k] - r->median);
    r->noise = 1.4826 * median_of(deviations, c->repeats) / r->median;
    const double kernels = (double)c->points * (double)r->samples;
    r->rate = kernels / r->median;
    r->best_rate = kernels / r->seconds[0];
    r->core_rate = kernels / r->cpu_seconds;
    r->of_peak = r->core_rate * multiply_adds(c) / c->peak;
}

/* Of all threads of this program: what other programs take from the machine does not count. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct inputs {
    double *x, *samples, *variance, *log_density;
} inputs;

/* Seconds of one call over the first `samples` samples; negative on failure. */
static double time_call(const bench_case *c, const inputs *in, size_t samples)
{
    const antler_progress silent = {NULL, NULL};
    const double begin = ant_seconds();
    const antler_status status = antler_log_density(in->x, c->points, c->dim, in->variance, in->samples,
                                                    samples, c->threads, silent, in->log_density);
    if (status == ANTLER_OK)
        return ant_seconds() - begin;
    fprintf(stderr, "dstsp: %s\n", antler_message());
    return -1.0;
}

static bool time_runs(const bench_case *c, inputs *in, double width, bench_result *result)
{
    make_samples(in->samples, CALIBRATION, in->x, c->points, c->dim, width);
    if (time_call(c, in, CALIBRATION) < 0.0) /* warm-up */
        return false;
    result->check = 0.0;
    for (size_t k = 0; k < CHECKED; k++)
        result->check += in->log_density[k] / CHECKED;
    const double trial = time_call(c, in, CALIBRATION);
    const size_t blocks = (size_t)fmax(1.0, ceil(c->target_seconds / trial));
    result->samples = CALIBRATION * blocks;
    free(in->samples);
    free(in->log_density);
    in->samples = malloc(result->samples * c->dim * sizeof *in->samples);
    in->log_density = malloc(result->samples * sizeof *in->log_density);
    if (trial < 0.0 || in->samples == NULL || in->log_density == NULL)
        return false;
    make_samples(in->samples, result->samples, in->x, c->points, c->dim, width);
    result->cpu_seconds = INFINITY;
    for (int k = 0; k < c->repeats; k++) {
        const double begin = processor_seconds();
        result->seconds[k] = time_call(c, in, result->samples);
        result->cpu_seconds = fmin(result->cpu_seconds, processor_seconds() - begin);
        if (result->seconds[k] < 0.0)
            return false;
    }
    return true;
}

bool bench_case_run(const bench_case *c, bench_result *result)
{
    const double bandwidth = antler_bandwidth(ANTLER_DSTSP_GMM, c->points, c->dim);
    inputs in = {.x = malloc(c->points * c->dim * sizeof(double)),
                 .samples = malloc(CALIBRATION * c->dim * sizeof(double)),
                 .variance = malloc(c->dim * sizeof(double)),
                 .log_density = malloc(CALIBRATION * sizeof(double))};
    bool good = in.x != NULL && in.samples != NULL && in.variance != NULL && in.log_density != NULL;
    if (good) {
        setenv("ANTLER_CPU", ant_cpu_level_name(c->level), 1);
        make_orbit(in.x, c->points, c->dim);
        for (size_t i = 0; i < c->dim; i++)
            in.variance[i] = bandwidth;
        good = time_runs(c, &in, sqrt(bandwidth), result);
        unsetenv("ANTLER_CPU");
    }
    free(in.log_density);
    free(in.variance);
    free(in.samples);
    free(in.x);
    if (good)
        summarise(c, result);
    return good;
}

json_t *bench_case_json(const bench_case *c, const bench_result *r)
{
    json_t *object = json_object(), *seconds = json_array();
    json_object_set_new(object, "level", json_string(ant_cpu_level_name(c->level)));
    json_object_set_new(object, "threads", json_integer(c->threads));
    json_object_set_new(object, "dim", json_integer((json_int_t)c->dim));
    json_object_set_new(object, "points", json_integer((json_int_t)c->points));
    json_object_set_new(object, "samples", json_integer((json_int_t)r->samples));
    json_object_set_new(object, "median_seconds", json_real(r->median));
    json_object_set_new(object, "min_seconds", json_real(r->seconds[0]));
    json_object_set_new(object, "min_cpu_seconds", json_real(r->cpu_seconds));
    json_object_set_new(object, "noise", json_real(r->noise));
    json_object_set_new(object, "kernels_per_second", json_real(r->rate));
    json_object_set_new(object, "kernels_per_core_second", json_real(r->core_rate));
    json_object_set_new(object, "of_peak", json_real(r->of_peak));
    json_object_set_new(object, "check", json_real(r->check));
    for (int k = 0; k < c->repeats; k++)
        json_array_append_new(seconds, json_real(r->seconds[k]));
    json_object_set_new(object, "seconds", seconds);
    return object;
}
