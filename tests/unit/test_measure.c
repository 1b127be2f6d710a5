/* test_measure.c - the top call: it must be the sum of its parts, and refuse what cannot be compared. */
#include "golden_case.h"

#include "base/random.h"

/* One trajectory of a noisy oscillation in `dim` variables, with variable j slower by 1/(j+1). */
static double *oscillation(size_t length, size_t dim, double frequency, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    double *x = malloc(length * dim * sizeof *x);
    assert_non_null(x);
    ant_stream_normals(&stream, x, length * dim);
    for (size_t t = 0; t < length; t++)
        for (size_t j = 0; j < dim; j++)
            x[t * dim + j] = 5.0 + sin(frequency * (double)t / (double)(j + 1)) + 0.3 * x[t * dim + j];
    return x;
}

static antler_series *series_of(size_t dim, size_t count, const size_t *lengths, double frequency,
                                uint64_t seed)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(dim, 0, &series));
    for (size_t i = 0; i < count; i++) {
        double *x = oscillation(lengths[i], dim, frequency, seed + i);
        CHECK_OK(antler_series_append(series, lengths[i], x, NULL));
        free(x);
    }
    return series;
}

static antler_series *one_series(size_t dim, size_t length, double frequency, uint64_t seed)
{
    return series_of(dim, 1, &length, frequency, seed);
}

static antler_measure_opts small_opts(antler_dstsp_kind kind)
{
    antler_measure_opts o;
    antler_measure_opts_default(&o);
    o.dstsp = kind;
    o.samples = 500;
    o.smoothing = 2.0;
    return o;
}

static antler_measure_result measure(const antler_series *truth, const antler_series *generated,
                                     const antler_measure_opts *o)
{
    antler_measure_result r;
    CHECK_OK(antler_measure(truth, generated, o, &r));
    return r;
}

/* ---- the parts ------------------------------------------------------------------------------------------
 */

static void test_defaults(void **state)
{
    (void)state;
    antler_measure_opts o;
    antler_measure_opts_default(&o);
    assert_int_equal(o.dstsp, ANTLER_DSTSP_GMM);
    assert_int_equal(o.samples, 10000);
    assert_int_equal(o.seed, 1);
    assert_int_equal(o.bins, 30);
    assert_true(o.bin_margin == 0.1 && o.bin_laplace == 1e-5 && o.smoothing == 20.0);
    assert_int_equal(o.embed_dim, 1);
    assert_int_equal(o.embed_delay, 1);
    assert_int_equal(o.threads, 0);
    assert_null(o.progress.fn);
    assert_string_equal(antler_dstsp_kind_name(ANTLER_DSTSP_GMM), "gmm");
    assert_string_equal(antler_dstsp_kind_name(ANTLER_DSTSP_GMM_SILVERMAN), "gmm-silverman");
    assert_string_equal(antler_dstsp_kind_name(ANTLER_DSTSP_BINS), "bins");
}

/* D_stsp and D_H of single trajectories, put together by hand from the bare calls. */
static void check_against_parts(antler_dstsp_kind kind, size_t m, size_t tau)
{
    enum { N = 2, T1 = 150, T2 = 210, COUNT = T1 / 2 + 1 };
    double *x = oscillation(T1, N, 0.4, 1), *y = oscillation(T2, N, 0.5, 2);
    antler_series *truth = one_series(N, T1, 0.4, 1), *generated = one_series(N, T2, 0.5, 2);
    antler_measure_opts o = small_opts(kind);
    o.embed_dim = m;
    o.embed_delay = tau;
    o.seed = 9;
    antler_measure_result r = measure(truth, generated, &o);

    const size_t reach = (m - 1) * tau, d = m * N, t1 = T1 - reach, t2 = T2 - reach;
    double *p = malloc(t1 * d * sizeof *p), *q = malloc(t2 * d * sizeof *q);
    double *samples = malloc(o.samples * d * sizeof *samples), *variance = calloc(d, sizeof *variance);
    assert_true(p != NULL && q != NULL && samples != NULL && variance != NULL);
    CHECK_OK(antler_embed(x, T1, N, m, tau, p));
    CHECK_OK(antler_embed(y, T2, N, m, tau, q));
    const double factor = antler_bandwidth(kind, t1, d);
    for (size_t j = 0; j < d; j++) {
        double mean = 0.0;
        for (size_t t = 0; t < t1; t++)
            mean += p[t * d + j] / (double)t1;
        for (size_t t = 0; t < t1; t++)
            variance[j] += factor * pow(p[t * d + j] - mean, 2.0) / (double)t1;
    }
    double dstsp = 0.0, error = 0.0;
    CHECK_OK(antler_mixture_samples(p, t1, d, variance, o.samples, 9, samples));
    CHECK_OK(
        antler_dstsp_samples(p, t1, q, t2, d, variance, samples, o.samples, 1, o.progress, &dstsp, &error));
    CHECK_NEAR(r.dstsp, dstsp, 1e-9);
    CHECK_NEAR(r.dstsp_error, error, 1e-9);
    assert_true(r.bandwidth == factor);
    assert_int_equal(r.dstsp_dim, d);
    assert_int_equal(r.true_points, t1);
    assert_int_equal(r.generated_points, t2);
    assert_true(r.kernels == (double)o.samples * (double)(t1 + t2));
    assert_true(r.seconds >= 0.0 && r.threads >= 1 && r.cpu != NULL);
    assert_int_equal(r.bins_filled, 0);

    double a[COUNT], b[COUNT], sum = 0.0;
    for (size_t j = 0; j < N; j++) {
        CHECK_OK(antler_power_spectrum(x + j, T1, N, o.smoothing, a));
        CHECK_OK(antler_power_spectrum(y + j, T1, N, o.smoothing, b));
        CHECK_NEAR(r.hellinger_each[j], antler_hellinger(a, b, COUNT), 1e-13);
        sum += r.hellinger_each[j];
    }
    CHECK_NEAR(r.hellinger, sum / N, 1e-15);
    assert_int_equal(r.hellinger_rows, T1);
    antler_measure_result_clear(&r);
    assert_null(r.hellinger_each);
    antler_measure_result_clear(&r);
    free(variance);
    free(samples);
    free(q);
    free(p);
    antler_series_free(generated);
    antler_series_free(truth);
    free(y);
    free(x);
}

static void test_sum_of_parts(void **state)
{
    (void)state;
    check_against_parts(ANTLER_DSTSP_GMM, 1, 1);
    check_against_parts(ANTLER_DSTSP_GMM_SILVERMAN, 1, 1);
    check_against_parts(ANTLER_DSTSP_GMM, 3, 7);
}

static void test_statistics(void **state)
{
    (void)state;
    antler_series *truth = one_series(3, 100, 0.3, 1), *generated = one_series(3, 80, 0.3, 5);
    const antler_measure_opts o = small_opts(ANTLER_DSTSP_BINS);
    antler_measure_result r = measure(truth, generated, &o);
    assert_int_equal(r.dim, 3);
    for (size_t j = 0; j < 3; j++) {
        antler_variable_stats a, b;
        CHECK_OK(antler_series_stats(truth, j, &a));
        CHECK_OK(antler_series_stats(generated, j, &b));
        assert_true(r.mean_true[j] == a.mean && r.sd_true[j] == a.sd);
        assert_true(r.mean_generated[j] == b.mean && r.sd_generated[j] == b.sd);
    }
    antler_measure_result_clear(&r);
    antler_series_free(generated);
    antler_series_free(truth);
}

/* Several trajectories: points are counted within each, D_H compares pair by pair. */
/* D_stsp with a fixed variance does not depend on the units of the variables, if it is told of them. */
static void test_units_of_a_fixed_variance(void **state)
{
    (void)state;
    enum { N = 2, T = 300 };
    const double unit[N] = {4.0, 0.5}, none[N] = {1.0, 1.0};
    double dstsp[3];
    for (size_t k = 0; k < 3; k++) { /* as they are; in other units; in those, without a word */
        antler_series *series[2];
        for (size_t i = 0; i < 2; i++) {
            double *x = oscillation(T, N, 0.2 + 0.1 * (double)i, 7 + i);
            for (size_t j = 0; j < T * N; j++)
                x[j] *= k == 0 ? 1.0 : unit[j % N];
            CHECK_OK(antler_series_create(N, 0, &series[i]));
            CHECK_OK(antler_series_append(series[i], T, x, NULL));
            free(x);
        }
        antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM_FIXED);
        o.variance = 0.1;
        o.unit = k == 1 ? unit : none;
        antler_measure_result result = measure(series[0], series[1], &o);
        dstsp[k] = result.dstsp;
        antler_measure_result_clear(&result);
        antler_series_free(series[0]);
        antler_series_free(series[1]);
    }
    CHECK_NEAR(dstsp[1], dstsp[0], 1e-9);
    assert_true(fabs(dstsp[2] - dstsp[0]) > 1e-3);
}

static void test_many_trajectories(void **state)
{
    (void)state;
    const size_t true_lengths[] = {60, 90, 50}, generated_lengths[] = {70, 40};
    antler_series *truth = series_of(2, 3, true_lengths, 0.4, 1);
    antler_series *generated = series_of(2, 2, generated_lengths, 0.5, 11);
    antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    o.embed_dim = 2;
    o.embed_delay = 10;
    antler_measure_result r = measure(truth, generated, &o);
    assert_int_equal(r.true_points, 50 + 80 + 40);
    assert_int_equal(r.generated_points, 60 + 30);
    assert_int_equal(r.hellinger_rows, 60 + 40);

    double expected[2] = {0.0, 0.0};
    const size_t rows[] = {60, 40};
    for (size_t i = 0; i < 2; i++) {
        double x[120], y[120], a[31], b[31];
        CHECK_OK(antler_series_read_f64(truth, i, 0, rows[i], x, NULL));
        CHECK_OK(antler_series_read_f64(generated, i, 0, rows[i], y, NULL));
        for (size_t j = 0; j < 2; j++) {
            CHECK_OK(antler_power_spectrum(x + j, rows[i], 2, o.smoothing, a));
            CHECK_OK(antler_power_spectrum(y + j, rows[i], 2, o.smoothing, b));
            expected[j] += 0.5 * antler_hellinger(a, b, rows[i] / 2 + 1);
        }
    }
    for (size_t j = 0; j < 2; j++)
        CHECK_NEAR(r.hellinger_each[j], expected[j], 1e-13);
    antler_measure_result_clear(&r);
    antler_series_free(generated);
    antler_series_free(truth);
}

static void test_bins(void **state)
{
    (void)state;
    antler_series *truth = one_series(2, 400, 0.4, 1), *generated = one_series(2, 500, 0.4, 2);
    antler_measure_opts o = small_opts(ANTLER_DSTSP_BINS);
    antler_measure_result r = measure(truth, generated, &o);
    assert_true(r.dstsp > 0.0 && isfinite(r.dstsp));
    assert_true(r.dstsp_error == 0.0 && r.bandwidth == 0.0 && r.kernels == 0.0);
    assert_true(r.bins_filled > 50 && r.bins_filled <= 900);
    antler_measure_result_clear(&r);
    r = measure(truth, truth, &o);
    assert_true(fabs(r.dstsp) < 1e-12 && r.hellinger == 0.0);
    antler_measure_result_clear(&r);
    antler_series_free(generated);
    antler_series_free(truth);
}

/* An orbit is at no distance from itself, a shifted one is; the seed matters only through the samples. */
static void test_meaning(void **state)
{
    (void)state;
    antler_series *truth = one_series(2, 300, 0.4, 1), *other = one_series(2, 300, 0.4, 2);
    const double shift[] = {-4.0, 0.0}, scale[] = {1.0, 1.0};
    antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    antler_measure_result same = measure(truth, truth, &o), close = measure(truth, other, &o);
    assert_true(same.dstsp == 0.0 && same.dstsp_error == 0.0 && same.hellinger == 0.0);
    assert_true(fabs(close.dstsp) < 0.1 && close.hellinger > 0.0 && close.hellinger < 0.5);
    antler_measure_result again = measure(truth, other, &o);
    assert_true(again.dstsp == close.dstsp);
    antler_measure_result_clear(&again);
    o.seed = 2;
    again = measure(truth, other, &o);
    assert_true(again.dstsp != close.dstsp);
    assert_true(fabs(again.dstsp - close.dstsp) < 6.0 * (again.dstsp_error + close.dstsp_error));
    CHECK_OK(antler_series_apply_scaling(other, shift, scale));
    antler_measure_result far = measure(truth, other, &o);
    assert_true(far.dstsp > 10.0);
    antler_measure_result_clear(&far);
    antler_measure_result_clear(&again);
    antler_measure_result_clear(&close);
    antler_measure_result_clear(&same);
    antler_series_free(other);
    antler_series_free(truth);
}

/* A model that has come to rest is a bad model, not a fault. */
static void test_generated_fixed_point(void **state)
{
    (void)state;
    double rest[100];
    for (size_t i = 0; i < 100; i++)
        rest[i] = 5.0;
    antler_series *truth = one_series(2, 50, 0.4, 1), *generated = NULL;
    CHECK_OK(antler_series_create(2, 0, &generated));
    CHECK_OK(antler_series_append(generated, 50, rest, NULL));
    const antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    antler_measure_result r = measure(truth, generated, &o);
    assert_true(r.hellinger == 1.0 && r.sd_generated[0] == 0.0);
    assert_true(r.dstsp > 0.5 && isfinite(r.dstsp));
    antler_measure_result_clear(&r);
    antler_series_free(generated);
    antler_series_free(truth);
}

/* ---- refusals -------------------------------------------------------------------------------------------
 */

static void expect_failure(const antler_series *truth, const antler_series *generated,
                           const antler_measure_opts *o, antler_status status, const char *part)
{
    antler_measure_result r;
    CHECK_FAILS(antler_measure(truth, generated, o, &r), status, part);
    antler_measure_result_clear(&r);
}

#define EXPECT_BAD(kind, field, value, part)                                                                 \
    do {                                                                                                     \
        antler_measure_opts bad_opts = small_opts(kind);                                                     \
        bad_opts.field = (value);                                                                            \
        expect_failure(truth, generated, &bad_opts, ANTLER_ERROR_ARGUMENT, (part));                          \
    } while (0)

static void test_bad_options(void **state)
{
    (void)state;
    antler_series *truth = one_series(2, 50, 0.4, 1), *generated = one_series(2, 50, 0.4, 2);
    EXPECT_BAD(ANTLER_DSTSP_GMM, samples, 1, "at least 2");
    EXPECT_BAD(ANTLER_DSTSP_GMM, dstsp, (antler_dstsp_kind)17, "number 17");
    EXPECT_BAD(ANTLER_DSTSP_GMM, threads, -1, "-1 threads");
    EXPECT_BAD(ANTLER_DSTSP_GMM, smoothing, -1.0, "smoothing width is -1");
    EXPECT_BAD(ANTLER_DSTSP_GMM, smoothing, NAN, "smoothing width");
    EXPECT_BAD(ANTLER_DSTSP_GMM, embed_dim, 0, "embedding dimension");
    EXPECT_BAD(ANTLER_DSTSP_GMM, embed_delay, 0, "embedding delay");
    EXPECT_BAD(ANTLER_DSTSP_BINS, bins, 0, "bins per axis");
    EXPECT_BAD(ANTLER_DSTSP_BINS, bin_margin, -1.0, "margin");
    EXPECT_BAD(ANTLER_DSTSP_BINS, bin_laplace, 0.0, "Laplace");
    antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    o.embed_dim = 3;
    o.embed_delay = 25;
    expect_failure(truth, generated, &o, ANTLER_ERROR_DATA, "at least 51");
    o.embed_delay = 24;
    antler_measure_result r = measure(truth, generated, &o);
    assert_int_equal(r.true_points, 2);
    antler_measure_result_clear(&r);
    expect_failure(NULL, generated, &o, ANTLER_ERROR_ARGUMENT, "true set");
    antler_series_free(generated);
    antler_series_free(truth);
}

static void test_bad_data(void **state)
{
    (void)state;
    const antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    antler_series *truth = one_series(2, 50, 0.4, 1), *other = one_series(3, 50, 0.4, 2);
    expect_failure(truth, other, &o, ANTLER_ERROR_DATA, "2 variables and the generated one 3");
    antler_series_free(other);

    CHECK_OK(antler_series_create(2, 0, &other));
    expect_failure(truth, other, &o, ANTLER_ERROR_DATA, "no trajectory");
    expect_failure(other, truth, &o, ANTLER_ERROR_DATA, "no trajectory");
    double row[2] = {1.0, 2.0}, flat[100];
    CHECK_OK(antler_series_append(other, 1, row, NULL));
    expect_failure(truth, other, &o, ANTLER_ERROR_DATA, "at least 2");
    antler_series_free(other);

    for (size_t t = 0; t < 50; t++) {
        flat[2 * t] = (double)t;
        flat[2 * t + 1] = 3.0;
    }
    CHECK_OK(antler_series_create(2, 0, &other));
    CHECK_OK(antler_series_append(other, 50, flat, NULL));
    expect_failure(other, truth, &o, ANTLER_ERROR_DATA, "constant");
    antler_series_free(other);

    flat[33] = INFINITY;
    CHECK_OK(antler_series_create(2, 0, &other));
    CHECK_OK(antler_series_append(other, 50, flat, NULL));
    expect_failure(other, truth, &o, ANTLER_ERROR_DATA, "row 17");
    antler_series_free(other);
    antler_series_free(truth);
}

/* The first bad row over all variables is named, and what is known of the truth is there. */
static void test_diverged_orbit(void **state)
{
    (void)state;
    antler_series *truth = one_series(2, 50, 0.4, 1), *generated = one_series(2, 30, 0.4, 2);
    double *x = oscillation(50, 2, 0.4, 3);
    x[2 * 20] = INFINITY; /* x1 from row 21 */
    x[2 * 12 + 1] = NAN;  /* x2 from row 13 */
    x[2 * 13 + 1] = -INFINITY;
    CHECK_OK(antler_series_append(generated, 50, x, NULL));
    const antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM);
    antler_measure_result r;
    CHECK_FAILS(antler_measure(truth, generated, &o, &r), ANTLER_DIVERGED,
                "x2 is not finite in row 13 of trajectory 2 (3 such values");
    assert_int_equal(r.dim, 2);
    assert_true(isnan(r.dstsp) && isnan(r.hellinger));
    assert_true(r.mean_true[0] > 4.0 && r.mean_true[0] < 6.0);
    antler_measure_result_clear(&r);
    free(x);
    antler_series_free(generated);
    antler_series_free(truth);
}

/* Finite, but so far away that no double holds the divergence: an outcome, and D_H is still there. */
static void test_huge_orbit(void **state)
{
    (void)state;
    const double mean[] = {0.0, 0.0}, scale[] = {1e-160, 1e-160};
    antler_series *truth = one_series(2, 50, 0.4, 1), *generated = one_series(2, 50, 0.4, 2);
    CHECK_OK(antler_series_apply_scaling(generated, mean, scale));
    const antler_measure_opts o = small_opts(ANTLER_DSTSP_GMM), bins = small_opts(ANTLER_DSTSP_BINS);
    antler_measure_result r;
    CHECK_FAILS(antler_measure(truth, generated, &o, &r), ANTLER_NON_FINITE, "has diverged");
    assert_true(r.hellinger > 0.0 && r.hellinger < 1.0);
    antler_measure_result_clear(&r);
    r = measure(truth, generated, &bins);
    assert_true(r.dstsp > 1.0 && isfinite(r.dstsp));
    antler_measure_result_clear(&r);
    antler_series_free(generated);
    antler_series_free(truth);
}

static int stop_at_once(void *cookie, const char *what, double fraction)
{
    ++*(int *)cookie;
    assert_non_null(what);
    assert_true(fraction >= 0.0 && fraction <= 1.0);
    return 1;
}

static void test_cancel(void **state)
{
    (void)state;
    antler_series *truth = one_series(2, 50, 0.4, 1), *generated = one_series(2, 50, 0.4, 2);
    const antler_dstsp_kind kinds[] = {ANTLER_DSTSP_GMM, ANTLER_DSTSP_BINS};
    for (size_t i = 0; i < 2; i++) {
        int calls = 0;
        antler_measure_opts o = small_opts(kinds[i]);
        o.progress = (antler_progress){stop_at_once, &calls};
        expect_failure(truth, generated, &o, ANTLER_CANCELLED, "stopped");
        assert_int_equal(calls, 1);
    }
    antler_series_free(generated);
    antler_series_free(truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_sum_of_parts),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_units_of_a_fixed_variance),
        cmocka_unit_test(test_many_trajectories),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_generated_fixed_point),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_diverged_orbit),
        cmocka_unit_test(test_huge_orbit),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
