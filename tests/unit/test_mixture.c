/*
 * test_mixture.c - mixture densities, their samples and D_stsp, on every instruction set of this machine.
 *
 * The reference is the log-sum-exp of the definition in long double.
 */
#include "check.h"

#include "base/machine.h"
#include "base/random.h"
#include "measure/mixture_simd.h"

#include <float.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const antler_progress silent = {NULL, NULL};

/* ---- helpers -------------------------------------------------------------------------------------- */

static double *numbers(size_t count)
{
    double *values = malloc((count ? count : 1) * sizeof *values);
    assert_non_null(values);
    return values;
}

static double *random_normals(size_t count, uint64_t seed, double sd, double mean)
{
    double *values = numbers(count);
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    ant_stream_normals(&stream, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] * sd + mean;
    return values;
}

static double *constant(size_t count, double value)
{
    double *values = numbers(count);
    for (size_t i = 0; i < count; i++)
        values[i] = value;
    return values;
}

static long double half_distance(const double *x, const double *sample, const double *variance, size_t dim)
{
    long double q = 0.0L;
    for (size_t i = 0; i < dim; i++) {
        const long double difference = (long double)sample[i] - x[i];
        q += difference * difference / variance[i] / 2.0L;
    }
    return q;
}

static double reference(const double *x, size_t length, size_t dim, const double *variance,
                        const double *sample)
{
    long double nearest = INFINITY, sum = 0.0L;
    for (size_t t = 0; t < length; t++)
        nearest = fminl(nearest, half_distance(x + t * dim, sample, variance, dim));
    for (size_t t = 0; t < length; t++)
        sum += expl(nearest - half_distance(x + t * dim, sample, variance, dim));
    long double log_norm = logl(length);
    for (size_t i = 0; i < dim; i++)
        log_norm += 0.5L * logl(2.0L * acosl(-1.0L) * variance[i]);
    return (double)(logl(sum) - nearest - log_norm);
}

/* Every density within `tolerance` of the reference, relative to max(1, |log density|). */
static void check_density(const double *x, size_t length, size_t dim, const double *variance,
                          const double *samples, size_t count, double tolerance)
{
    double *got = numbers(count);
    CHECK_OK(antler_log_density(x, length, dim, variance, samples, count, 2, silent, got));
    for (size_t k = 0; k < count; k++) {
        const double want = reference(x, length, dim, variance, samples + k * dim);
        CHECK_NEAR(got[k], want, tolerance * fmax(1.0, fabs(want)));
    }
    free(got);
}

/* Run a test on all levels that this machine has, lowest first. */
static void on_each_level(void (*test)(void))
{
    unsetenv("ANTLER_CPU");
    const ant_cpu_level best = ant_cpu_level_best();
    for (ant_cpu_level level = ANT_CPU_BASE; level <= best; level++) {
        setenv("ANTLER_CPU", ant_cpu_level_name(level), 1);
        assert_int_equal(ant_cpu_level_best(), level);
        test();
    }
    unsetenv("ANTLER_CPU");
}

/* ---- the power of two ----------------------------------------------------------------------------- */

/* One orbit point per lane with exponent t[lane], in double the step the loop may take. */
static void powers(const ant_mixture_kernels *kernels, const double *t, double *result)
{
    const size_t width = kernels->width;
    double *orbit = aligned_alloc(64, 64 * 2 * ANT_MIXTURE_STEP), *sums = aligned_alloc(64, 64 * 4);
    double *group = aligned_alloc(64, 64);
    assert_true(orbit != NULL && sums != NULL && group != NULL);
    memset(sums, 0, 64 * 4);
    for (size_t s = 0; s < ANT_MIXTURE_GROUP; s++)
        group[s] = (double)s;
    for (size_t lane = 0; lane < ANT_MIXTURE_STEP * width; lane++) {
        double *place = orbit + lane / width * 2 * width + lane % width;
        place[0] = lane < width ? t[lane] : -1e6; /* the second vector adds 2^-960 at most */
        place[width] = 0.0;
    }
    kernels->sum_products(orbit, ANT_MIXTURE_STEP, 1, group, 1, sums);
    for (size_t s = 1; s < ANT_MIXTURE_GROUP; s++)
        assert_memory_equal(sums, sums + s * width, width * sizeof *sums);
    memcpy(result, sums, width * sizeof *sums);
    free(group);
    free(sums);
    free(orbit);
}

static void sweep_powers(const ant_mixture_kernels *kernels, double bound)
{
    const double fine = 0.000244140625 * 1.0173; /* meets the borders of all table entries at odd places */
    const double step = SANITIZED ? 16.0 * fine : fine;
    double t[8], power[8];
    for (double begin = -900.0; begin < 960.0; begin += step * (double)kernels->width) {
        for (size_t lane = 0; lane < kernels->width; lane++)
            t[lane] = fmin(begin + step * (double)lane, 960.0);
        powers(kernels, t, power);
        for (size_t lane = 0; lane < kernels->width; lane++)
            CHECK_NEAR(power[lane] * exp2(-t[lane]), 1.0, bound);
    }
}

/* Halfway between table entries and one step beside it, where rounding decides; and far below the range. */
static void border_powers(const ant_mixture_kernels *kernels, double bound)
{
    double t[8], power[8];
    for (double border = -899.5; border < 960.0; border += 0.0625) {
        for (size_t lane = 0; lane < kernels->width; lane++)
            t[lane] = lane % 3 == 0 ? border : nextafter(border, lane % 3 == 1 ? INFINITY : -INFINITY);
        powers(kernels, t, power);
        for (size_t lane = 0; lane < kernels->width; lane++)
            CHECK_NEAR(power[lane] * exp2(-t[lane]), 1.0, bound);
    }
    const double low[] = {-960.1,  -1000.5, -1021.9, -1022.0, -1022.1, -1074.0, -1075.1,
                          -1100.0, -2000.0, -4e5,    -1e6,    -1e15,   -1e100,  -DBL_MAX};
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        for (size_t lane = 0; lane < kernels->width; lane++)
            t[lane] = low[i];
        powers(kernels, t, power);
        assert_true(power[0] >= 0.0 && power[0] <= 0x1.00000001p-959);
    }
}

static void test_power_of_two(void **state)
{
    (void)state;
    unsetenv("ANTLER_CPU");
    const ant_cpu_level best = ant_cpu_level_best();
    sweep_powers(&ant_mixture_kernels_base, 1.5e-14);
    border_powers(&ant_mixture_kernels_base, 1.5e-14);
#if defined(__x86_64__)
    if (best >= ANT_CPU_AVX2) {
        sweep_powers(&ant_mixture_kernels_avx2, 1.6e-13);
        border_powers(&ant_mixture_kernels_avx2, 1.6e-13);
    }
    if (best >= ANT_CPU_AVX512) {
        sweep_powers(&ant_mixture_kernels_avx512, 2.9e-13);
        border_powers(&ant_mixture_kernels_avx512, 2.9e-13);
    }
#endif
    (void)best;
}

/* ---- the density ---------------------------------------------------------------------------------- */

static void dimensions_and_lengths(void)
{
    const size_t dims[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 100};
    const size_t lengths[] = {1, 2, 7, 8, 9, 31, 260};
    const size_t counts[] = {1, 3, 4, 6, 131};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const size_t dim = dims[i], count = counts[i % 5];
        double *variance = constant(dim, 1.0);
        for (size_t axis = 0; axis < dim; axis++)
            variance[axis] = 0.2 + 0.1 * (double)(axis % 7);
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            double *x = random_normals(lengths[j] * dim, 10 * i + j + 1, 1.0, 0.3);
            double *samples = random_normals(count * dim, 1000 + 10 * i + j, 1.3, 0.3);
            check_density(x, lengths[j], dim, variance, samples, count, 1e-12);
            free(samples);
            free(x);
        }
        free(variance);
    }
}

static void test_dimensions_and_lengths(void **state)
{
    (void)state;
    on_each_level(dimensions_and_lengths);
}

/* Enough points for several cache blocks and a last one that is not full. */
static void long_orbit(void)
{
    enum { LENGTH = 20011, COUNT = 9 };
    const double variance[3] = {0.19, 0.19, 0.02};
    double *x = random_normals(LENGTH * 3, 5, 1.0, 0.0), *samples = random_normals(COUNT * 3, 6, 1.0, 0.0);
    check_density(x, LENGTH, 3, variance, samples, COUNT, 1e-12);
    free(samples);
    free(x);
}

static void test_long_orbit(void **state)
{
    (void)state;
    on_each_level(long_orbit);
}

/* Samples from the middle of the orbit to 1e150 standard deviations away, in one call. */
static void samples_at_all_distances(void)
{
    enum { LENGTH = 77, DIM = 3, COUNT = 60 };
    const double variance[DIM] = {0.3, 1.0, 2.5};
    double *x = random_normals(LENGTH * DIM, 7, 1.0, 0.0),
           *samples = random_normals(COUNT * DIM, 8, 1.0, 0.0);
    const double distances[] = {0.0, 10.0, 30.0, 35.0, 36.5, 37.0, 40.0, 1e3, 1e6, 1e15, 1e100, 1e150};
    for (size_t k = 0; k < COUNT; k++)
        samples[k * DIM + k % DIM] += distances[k % 12];
    check_density(x, LENGTH, DIM, variance, samples, COUNT, 1e-12);
    free(samples);
    free(x);
}

static void test_samples_at_all_distances(void **state)
{
    (void)state;
    on_each_level(samples_at_all_distances);
}

/* Two clusters whose centre is empty: the sample is near the centre and yet the sum underflows. */
static void empty_centre(void)
{
    const double variance[1] = {1.0};
    const double x[6] = {-50.0, 50.0, -50.5, 50.25, -1e200, 1e200};
    const double samples[5] = {0.0, 1.0, -2.5, 50.0, 1e200};
    check_density(x, 4, 1, variance, samples, 4, 1e-12);
    check_density(x, 6, 1, variance, samples, 5, 1e-12);
}

/* A sample just within the reach of the fast form, beside an orbit point just beyond it. */
static void border_of_the_fast_form(void)
{
    enum { LENGTH = 400 };
    const double variance[1] = {1.0};
    double *x = constant(LENGTH, 0.0), samples[40];
    x[LENGTH / 2] = 37.6;
    for (size_t k = 0; k < 40; k++)
        samples[k] = 33.5 + 0.1 * (double)k;
    check_density(x, LENGTH, 1, variance, samples, 40, 1e-12);
    free(x);
}

static void test_border_of_the_fast_form(void **state)
{
    (void)state;
    on_each_level(border_of_the_fast_form);
}

static void test_empty_centre(void **state)
{
    (void)state;
    on_each_level(empty_centre);
}

/* Kernels much narrower than the orbit, orbits far from 0, and units of any size. */
static void scales_and_offsets(void)
{
    enum { LENGTH = 101, DIM = 2, COUNT = 23 };
    const struct {
        double sd, offset, bandwidth;
    } cases[] = {{1.0, 0.0, 1e-2},   {1.0, 0.0, 1e-8},      {1.0, 1e6, 0.2},    {1.0, -1e9, 1e-3},
                 {1e-150, 0.0, 0.2}, {1e140, -1e141, 1e-3}, {1e-5, 1e5, 1e-12}, {3.0, 0.0, 1e4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double width = cases[c].sd * cases[c].bandwidth;
        const double variance[DIM] = {width * width, 4.0 * width * width};
        double *x = random_normals(LENGTH * DIM, 20 + c, cases[c].sd, cases[c].offset);
        double *samples = numbers(COUNT * DIM), *step = random_normals(COUNT * DIM, 40 + c, width, 0.0);
        for (size_t k = 0; k < COUNT * DIM; k++)
            samples[k] = x[(k * 37) % (LENGTH * DIM)] + step[k];
        check_density(x, LENGTH, DIM, variance, samples, COUNT, 1e-12);
        free(step);
        free(samples);
        free(x);
    }
}

static void test_scales_and_offsets(void **state)
{
    (void)state;
    on_each_level(scales_and_offsets);
}

static void duplicates(void)
{
    enum { LENGTH = 50, DIM = 3 };
    const double variance[DIM] = {0.5, 0.5, 0.5};
    double *x = random_normals(LENGTH * DIM, 9, 1.0, 0.0), *many = numbers(LENGTH * DIM), once[3], twice[3];
    for (size_t t = 0; t < LENGTH; t++)
        memcpy(many + t * DIM, x, DIM * sizeof *x);
    CHECK_OK(antler_log_density(x, 1, DIM, variance, x, 3, 1, silent, once));
    CHECK_OK(antler_log_density(many, LENGTH, DIM, variance, x, 3, 1, silent, twice));
    for (size_t k = 0; k < 3; k++)
        CHECK_NEAR(twice[k], once[k], 1e-12);
    free(many);
    free(x);
}

static void test_duplicates(void **state)
{
    (void)state;
    on_each_level(duplicates);
}

/* Bit for bit: threads, company and order of the samples do not matter. */
static void value_depends_on_the_sample_alone(void)
{
    enum { LENGTH = 3001, DIM = 3, COUNT = 301 };
    const double variance[DIM] = {0.2, 0.2, 0.2};
    double *x = random_normals(LENGTH * DIM, 11, 1.0, 0.0),
           *samples = random_normals(COUNT * DIM, 12, 1.5, 0.0);
    for (size_t k = 0; k < COUNT; k += 10)
        samples[k * DIM] += (double)k; /* some far ones between the near ones */
    double one[COUNT], many[COUNT], alone, *reversed = numbers(COUNT * DIM), backwards[COUNT];
    CHECK_OK(antler_log_density(x, LENGTH, DIM, variance, samples, COUNT, 1, silent, one));
    for (int threads = 0; threads <= 7; threads++) {
        CHECK_OK(antler_log_density(x, LENGTH, DIM, variance, samples, COUNT, threads, silent, many));
        assert_memory_equal(one, many, sizeof one);
    }
    for (size_t k = 0; k < COUNT; k++)
        memcpy(reversed + k * DIM, samples + (COUNT - 1 - k) * DIM, DIM * sizeof *samples);
    CHECK_OK(antler_log_density(x, LENGTH, DIM, variance, reversed, COUNT, 2, silent, backwards));
    for (size_t k = 0; k < COUNT; k++) {
        CHECK_OK(antler_log_density(x, LENGTH, DIM, variance, samples + k * DIM, 1, 1, silent, &alone));
        assert_memory_equal(&alone, &one[k], sizeof alone);
        assert_memory_equal(&backwards[COUNT - 1 - k], &one[k], sizeof alone);
    }
    free(reversed);
    free(samples);
    free(x);
}

static void test_value_depends_on_the_sample_alone(void **state)
{
    (void)state;
    on_each_level(value_depends_on_the_sample_alone);
}

static void beyond_the_range(void)
{
    const double x[3] = {0.0, 1.0, 2.0}, variance[1] = {1.0}, samples[3] = {0.5, 1e200, -3.0};
    double got[3];
    CHECK_FAILS(antler_log_density(x, 3, 1, variance, samples, 3, 1, silent, got), ANTLER_NON_FINITE,
                "sample 1 lies so far");
    assert_true(got[1] == -INFINITY);
    for (size_t k = 0; k < 3; k += 2)
        CHECK_NEAR(got[k], reference(x, 3, 1, variance, samples + k), 1e-12);
    double dstsp = 7.0;
    CHECK_FAILS(antler_dstsp_samples(x, 3, x, 3, 1, variance, samples, 3, 1, silent, &dstsp, NULL),
                ANTLER_NON_FINITE, "sample 1 lies so far");
}

static void test_beyond_the_range(void **state)
{
    (void)state;
    on_each_level(beyond_the_range);
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void test_bad_arguments(void **state)
{
    (void)state;
    double x[4] = {0.0, 1.0, 2.0, 3.0}, variance[2] = {1.0, 1.0}, out[4] = {7.0, 7.0, 7.0, 7.0};
    CHECK_FAILS(antler_log_density(NULL, 2, 2, variance, x, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT,
                "x is");
    CHECK_FAILS(antler_log_density(x, 0, 2, variance, x, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT, "x is");
    CHECK_FAILS(antler_log_density(x, 2, 0, variance, x, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT, "x is");
    CHECK_FAILS(antler_log_density(x, SIZE_MAX / 2, 2, variance, x, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT,
                "more than memory");
    CHECK_FAILS(antler_log_density(x, 2, 2, NULL, x, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT, "variance");
    CHECK_FAILS(antler_log_density(x, 2, 2, variance, NULL, 2, 1, silent, out), ANTLER_ERROR_ARGUMENT,
                "samples is");
    CHECK_FAILS(antler_log_density(x, 2, 2, variance, x, 0, 1, silent, out), ANTLER_ERROR_ARGUMENT,
                "samples is");
    CHECK_FAILS(antler_log_density(x, 2, 2, variance, x, 2, -1, silent, out), ANTLER_ERROR_ARGUMENT,
                "-1 threads");
    CHECK_FAILS(antler_log_density(x, 2, 2, variance, x, 2, 1, silent, NULL), ANTLER_ERROR_ARGUMENT,
                "log_density");
    const double bad_variances[] = {0.0, -1.0, NAN, INFINITY, DBL_MIN / 4.0};
    for (size_t i = 0; i < 5; i++) {
        variance[1] = bad_variances[i];
        CHECK_FAILS(antler_log_density(x, 2, 2, variance, x, 2, 1, silent, out), ANTLER_ERROR_DATA,
                    "variance of column 1");
        CHECK_FAILS(antler_mixture_samples(x, 2, 2, variance, 2, 1, out), ANTLER_ERROR_DATA,
                    "variance of column 1");
    }
    variance[1] = 1.0;
    double broken[4] = {0.0, 1.0, NAN, 3.0};
    CHECK_FAILS(antler_log_density(broken, 2, 2, variance, x, 2, 1, silent, out), ANTLER_ERROR_DATA,
                "row 1, column 0");
    CHECK_FAILS(antler_dstsp_samples(x, 2, broken, 2, 2, variance, x, 2, 1, silent, out, NULL),
                ANTLER_ERROR_DATA, "y holds nan in row 1");
    CHECK_FAILS(antler_dstsp_samples(x, 2, x, 2, 2, variance, broken, 2, 1, silent, out, NULL),
                ANTLER_ERROR_DATA, "samples holds nan");
    CHECK_FAILS(antler_dstsp_samples(x, 2, x, 2, 2, variance, x, 2, 1, silent, NULL, NULL),
                ANTLER_ERROR_ARGUMENT, "dstsp");
    CHECK_FAILS(antler_mixture_samples(broken, 2, 2, variance, 2, 1, out), ANTLER_ERROR_DATA, "row 1");
    CHECK_FAILS(antler_mixture_samples(x, 2, 2, variance, 0, 1, out), ANTLER_ERROR_ARGUMENT, "0 samples");
    CHECK_FAILS(antler_mixture_samples(x, 2, 2, variance, 2, 1, NULL), ANTLER_ERROR_ARGUMENT, "samples");
    for (size_t i = 0; i < 4; i++)
        assert_true(out[i] == 7.0);
}

/* ---- progress ------------------------------------------------------------------------------------- */

typedef struct reports {
    pthread_t caller;
    int count, stop_at; /* 0: never */
    double last;
    bool wrong;
} reports;

static int listen(void *cookie, const char *what, double fraction)
{
    reports *r = cookie;
    r->wrong = r->wrong || !pthread_equal(r->caller, pthread_self()) || what == NULL ||
               !(fraction >= r->last && fraction <= 1.0);
    r->last = fraction;
    return ++r->count == r->stop_at;
}

static void test_progress_and_cancelling(void **state)
{
    (void)state;
    enum { LENGTH = 20000, COUNT = 20000, DIM = 3 };
    const double variance[DIM] = {0.2, 0.2, 0.2};
    double *x = random_normals(LENGTH * DIM, 13, 1.0, 0.0),
           *samples = random_normals(COUNT * DIM, 14, 1.0, 0.0);
    double *out = constant(COUNT, 7.0), dstsp = 7.0;
    for (size_t k = 0; k < COUNT; k += 3)
        samples[k * DIM] += 1000.0; /* both passes report */
    reports r = {.caller = pthread_self(), .stop_at = 1};
    const antler_progress progress = {listen, &r};
    CHECK_FAILS(antler_log_density(x, LENGTH, DIM, variance, samples, COUNT, 3, progress, out),
                ANTLER_CANCELLED, "stopped at");
    assert_int_equal(r.count, 1);
    for (size_t k = 0; k < COUNT; k++)
        assert_true(out[k] == 7.0);
    r = (reports){.caller = pthread_self(), .stop_at = 2};
    CHECK_FAILS(
        antler_dstsp_samples(x, LENGTH, x, LENGTH, DIM, variance, samples, COUNT, 2, progress, &dstsp, NULL),
        ANTLER_CANCELLED, "stopped at");
    assert_true(dstsp == 7.0 && r.count == 2);
    setenv("ANTLER_CPU", "base", 1); /* slow enough for reports in both halves */
    r = (reports){.caller = pthread_self()};
    const size_t rows = LENGTH / (SANITIZED ? 12 : 3);
    CHECK_OK(
        antler_dstsp_samples(x, rows, x, rows, DIM, variance, samples, COUNT / 2, 2, progress, &dstsp, NULL));
    unsetenv("ANTLER_CPU");
    assert_true(r.count >= 1);
    assert_false(r.wrong);
    free(out);
    free(samples);
    free(x);
}

/* ---- D_stsp --------------------------------------------------------------------------------------- */

static void test_bandwidth(void **state)
{
    (void)state;
    CHECK_NEAR(antler_bandwidth(ANTLER_DSTSP_GMM, 100000, 3), pow(125000.0, -1.0 / 7.0), 1e-15);
    CHECK_NEAR(antler_bandwidth(ANTLER_DSTSP_GMM_SILVERMAN, 100000, 3), pow(125000.0, -2.0 / 7.0), 1e-15);
    CHECK_NEAR(antler_bandwidth(ANTLER_DSTSP_GMM, 4, 2), pow(4.0, -1.0 / 6.0), 1e-15);
    CHECK_NEAR(antler_bandwidth(ANTLER_DSTSP_GMM, 2, 18), pow(10.0, -1.0 / 22.0), 1e-15);
    assert_true(antler_bandwidth(ANTLER_DSTSP_BINS, 100000, 3) == 0.0);
}

/* Two single Gaussians: log p - log q is linear in the sample, so mean and error have a closed form. */
static void two_gaussians(void)
{
    const double x[2] = {1.0, -2.0}, y[2] = {1.5, 0.0}, variance[2] = {0.5, 2.0};
    const double samples[6] = {0.3, 0.4, 2.0, -1.0, -1.0, 5.0};
    double ratio[3], mean = 0.0, squares = 0.0, dstsp, error;
    for (size_t k = 0; k < 3; k++) {
        ratio[k] = (double)(half_distance(y, samples + 2 * k, variance, 2) -
                            half_distance(x, samples + 2 * k, variance, 2));
        mean += ratio[k] / 3.0;
    }
    for (size_t k = 0; k < 3; k++)
        squares += (ratio[k] - mean) * (ratio[k] - mean);
    CHECK_OK(antler_dstsp_samples(x, 1, y, 1, 2, variance, samples, 3, 0, silent, &dstsp, &error));
    CHECK_NEAR(dstsp, mean, 1e-12);
    CHECK_NEAR(error, sqrt(squares / 2.0 / 3.0), 1e-12);
    CHECK_OK(antler_dstsp_samples(x, 1, x, 1, 2, variance, samples, 3, 0, silent, &dstsp, NULL));
    assert_true(dstsp == 0.0);
    CHECK_OK(antler_dstsp_samples(x, 1, y, 1, 2, variance, samples, 1, 0, silent, &dstsp, &error));
    CHECK_NEAR(dstsp, ratio[0], 1e-12);
    assert_true(isnan(error));
}

static void test_two_gaussians(void **state)
{
    (void)state;
    on_each_level(two_gaussians);
}

/* Samples of p against a shifted copy of p: the divergence of two normals is shift^2 / 2. */
static void test_divergence_of_shifted_normals(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    const double x[1] = {0.0}, y[1] = {0.7}, variance[1] = {1.0};
    double *samples = numbers(COUNT), dstsp, error;
    CHECK_OK(antler_mixture_samples(x, 1, 1, variance, COUNT, 3, samples));
    CHECK_OK(antler_dstsp_samples(x, 1, y, 1, 1, variance, samples, COUNT, 0, silent, &dstsp, &error));
    CHECK_NEAR(error, 0.7 / sqrt(COUNT), 0.01 * 0.7 / sqrt(COUNT));
    CHECK_NEAR(dstsp, 0.5 * 0.49, 4.0 * error);
    free(samples);
}

/* A float64 array in C order from tests/golden; only what those files need is understood. */
static double *golden(const char *name, size_t *count)
{
    char path[1024];
    unsigned char head[10];
    snprintf(path, sizeof path, "%s/golden/%s.npy", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    const long begin = 10 + head[8] + 256 * head[9];
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *count = (size_t)(ftell(file) - begin) / sizeof(double);
    assert_int_equal(fseek(file, begin, SEEK_SET), 0);
    double *values = numbers(*count);
    assert_int_equal(fread(values, sizeof *values, *count, file), *count);
    fclose(file);
    return values;
}

static void golden_states(void)
{
    size_t n, x_count, y_count, sample_count;
    double *x = golden("dstsp/x", &x_count), *y = golden("dstsp/generated", &y_count);
    double *samples = golden("dstsp/samples", &sample_count), *variance = golden("dstsp/variance", &n);
    double *want = golden("dstsp/dstsp", &n), got;
    CHECK_OK(antler_dstsp_samples(x, x_count / 3, y, y_count / 3, 3, variance, samples, sample_count / 3, 2,
                                  silent, &got, NULL));
    CHECK_NEAR(got, *want, 1e-9 * fabs(*want));
    free(want);
    free(variance);
    free(samples);
    free(y);
    free(x);
}

static void test_golden_states(void **state)
{
    (void)state;
    on_each_level(golden_states);
}

/* Delay vectors with m = 3, tau = 10, and the bandwidth rule on their variances. */
static void golden_delay_vectors(void)
{
    enum { M = 3, TAU = 10 };
    size_t n, x_count, y_count, sample_count;
    double *x = golden("dstsp_embedded/embedded_x", &x_count),
           *y = golden("dstsp_embedded/generated", &y_count);
    double *samples = golden("dstsp_embedded/samples", &sample_count);
    double *want = golden("dstsp_embedded/dstsp", &n), variance[M], got;
    const size_t points = x_count / M, y_points = y_count - (M - 1) * TAU;
    double *embedded_y = numbers(y_points * M);
    for (size_t k = 0; k < y_points * M; k++)
        embedded_y[k] = y[k / M + (M - 1 - k % M) * TAU];
    for (size_t axis = 0; axis < M; axis++) {
        long double sum = 0.0L, squares = 0.0L;
        for (size_t t = 0; t < points; t++)
            sum += x[t * M + axis];
        for (size_t t = 0; t < points; t++)
            squares += (x[t * M + axis] - sum / points) * (x[t * M + axis] - sum / points);
        variance[axis] = (double)(squares / points) * antler_bandwidth(ANTLER_DSTSP_GMM, points, M);
    }
    CHECK_OK(antler_dstsp_samples(x, points, embedded_y, y_points, M, variance, samples, sample_count / M, 2,
                                  silent, &got, NULL));
    CHECK_NEAR(got, *want, 1e-9 * fabs(*want));
    free(embedded_y);
    free(want);
    free(samples);
    free(y);
    free(x);
}

static void test_golden_delay_vectors(void **state)
{
    (void)state;
    on_each_level(golden_delay_vectors);
}

/* ---- samples -------------------------------------------------------------------------------------- */

/* The documented layout: which numbers of the stream belong to which sample. */
static void test_samples_layout(void **state)
{
    (void)state;
    enum { LENGTH = 5, COUNT = 40 };
    for (size_t dim = 1; dim <= 5; dim++) {
        double *x = random_normals(LENGTH * dim, 15, 1.0, 0.0), *variance = constant(dim, 4.0);
        double *few = numbers(COUNT * dim), *many = numbers(2 * COUNT * dim), *other = numbers(COUNT * dim);
        CHECK_OK(antler_mixture_samples(x, LENGTH, dim, variance, COUNT, 77, few));
        CHECK_OK(antler_mixture_samples(x, LENGTH, dim, variance, 2 * COUNT, 77, many));
        CHECK_OK(antler_mixture_samples(x, LENGTH, dim, variance, COUNT, 78, other));
        assert_memory_equal(few, many, COUNT * dim * sizeof *few);
        assert_memory_not_equal(few, other, COUNT * dim * sizeof *few);
        for (size_t k = 0; k < COUNT; k++) {
            ant_stream stream = ant_stream_open(77, 0, 0, ANT_PURPOSE_MIXTURE_SAMPLES);
            double normals[6];
            ant_stream_seek(&stream, k * (1 + (dim + 1) / 2));
            const size_t point = (size_t)ant_stream_below(&stream, LENGTH);
            ant_stream_seek(&stream, k * (1 + (dim + 1) / 2) + 1);
            ant_stream_normals(&stream, normals, dim);
            for (size_t i = 0; i < dim; i++)
                CHECK_NEAR(few[k * dim + i], x[point * dim + i] + 2.0 * normals[i], 1e-15 * 16.0);
        }
        free(other);
        free(many);
        free(few);
        free(variance);
        free(x);
    }
}

/* Two points far apart: each gets half of the samples, with the kernels' moments around it. */
static void test_samples_moments(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    const double x[4] = {100.0, -100.0, -100.0, 100.0}, variance[2] = {4.0, 0.25};
    double *samples = numbers(COUNT * 2), first = 0.0, mean[2] = {0.0, 0.0}, square[2] = {0.0, 0.0},
           cross = 0.0;
    CHECK_OK(antler_mixture_samples(x, 2, 2, variance, COUNT, 5, samples));
    for (size_t k = 0; k < COUNT; k++) {
        const double side = samples[2 * k] > 0.0 ? 1.0 : -1.0;
        const double a = samples[2 * k] - 100.0 * side, b = samples[2 * k + 1] + 100.0 * side;
        first += side > 0.0;
        mean[0] += a / COUNT;
        mean[1] += b / COUNT;
        square[0] += a * a / COUNT;
        square[1] += b * b / COUNT;
        cross += a * b / COUNT;
    }
    const double root = sqrt(COUNT);
    CHECK_NEAR(first / COUNT, 0.5, 4.0 * 0.5 / root);
    CHECK_NEAR(mean[0], 0.0, 4.0 * 2.0 / root);
    CHECK_NEAR(mean[1], 0.0, 4.0 * 0.5 / root);
    CHECK_NEAR(square[0], 4.0, 4.0 * 4.0 * sqrt(2.0) / root);
    CHECK_NEAR(square[1], 0.25, 4.0 * 0.25 * sqrt(2.0) / root);
    CHECK_NEAR(cross, 0.0, 4.0 * 1.0 / root);
    free(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_of_two),
        cmocka_unit_test(test_dimensions_and_lengths),
        cmocka_unit_test(test_long_orbit),
        cmocka_unit_test(test_samples_at_all_distances),
        cmocka_unit_test(test_empty_centre),
        cmocka_unit_test(test_border_of_the_fast_form),
        cmocka_unit_test(test_scales_and_offsets),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_value_depends_on_the_sample_alone),
        cmocka_unit_test(test_beyond_the_range),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_progress_and_cancelling),
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_two_gaussians),
        cmocka_unit_test(test_divergence_of_shifted_normals),
        cmocka_unit_test(test_golden_states),
        cmocka_unit_test(test_golden_delay_vectors),
        cmocka_unit_test(test_samples_layout),
        cmocka_unit_test(test_samples_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
