/* test_spectrum.c - power spectra and Hellinger distances against golden values and direct sums. */
#include "golden_case.h"

#include "base/random.h"
#include "measure/spectrum.h"

static void assert_close(double got, double expected, double relative)
{
    CHECK_NEAR(got, expected, relative * fabs(expected));
}

static double *random_walk(size_t length, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    double *x = malloc(length * sizeof *x);
    assert_non_null(x);
    double value = 0.0;
    for (size_t t = 0; t < length; t++) {
        double pair[2];
        ant_stream_normal_pair(&stream, pair);
        value = 0.9 * value + pair[0];
        x[t] = 100.0 + value;
    }
    return x;
}

/* ---- golden ------------------------------------------------------------------------------------------ */

static void test_golden_spectrum(void **state)
{
    (void)state;
    golden_array x = golden_read("hellinger", "x");
    golden_array expected = golden_read("hellinger", "spectrum_x_sigma20");
    double *got = malloc(expected.rows * sizeof *got);
    assert_non_null(got);
    assert_int_equal(expected.rows, x.rows / 2 + 1);
    for (size_t j = 0; j < x.columns; j++) {
        CHECK_OK(antler_power_spectrum(x.values + j, x.rows, x.columns, 20.0, got));
        for (size_t k = 0; k < expected.rows; k++)
            assert_close(got[k], expected.values[k * x.columns + j], 1e-9);
    }
    free(got);
    free(expected.values);
    free(x.values);
}

static void check_golden_distance(double sigma, const char *array)
{
    golden_array x = golden_read("hellinger", "x"), y = golden_read("hellinger", "generated");
    golden_array expected = golden_read("hellinger", array);
    const size_t count = x.rows / 2 + 1;
    double *p = malloc(count * sizeof *p), *q = malloc(count * sizeof *q);
    double *work = malloc(2 * count * sizeof *work);
    assert_true(p != NULL && q != NULL && work != NULL);
    for (size_t j = 0; j < x.columns; j++) {
        double distance = -1.0;
        CHECK_OK(antler_power_spectrum(x.values + j, x.rows, x.columns, sigma, p));
        CHECK_OK(antler_power_spectrum(y.values + j, y.rows, y.columns, sigma, q));
        assert_close(antler_hellinger(p, q, count), expected.values[j], 1e-9);
        CHECK_OK(
            ant_spectrum_distance(x.values + j, y.values + j, x.rows, x.columns, sigma, work, &distance));
        assert_close(distance, expected.values[j], 1e-9);
    }
    free(work);
    free(q);
    free(p);
    free(expected.values);
    free(y.values);
    free(x.values);
}

static void test_golden_distances(void **state)
{
    (void)state;
    check_golden_distance(20.0, "distance_sigma20");
    check_golden_distance(0.0, "distance_sigma0");
}

/* ---- by the definition ------------------------------------------------------------------------------- */

/* The spectrum by plain sums; reflection by walking to and fro, whatever the radius. */
static void naive_spectrum(const double *x, size_t length, double sigma, double *spectrum)
{
    const size_t count = length / 2 + 1;
    double mean = 0.0, variance = 0.0, sum = 0.0;
    double *raw = malloc(count * sizeof *raw);
    assert_non_null(raw);
    for (size_t t = 0; t < length; t++)
        mean += x[t] / (double)length;
    for (size_t t = 0; t < length; t++)
        variance += (x[t] - mean) * (x[t] - mean) / (double)(length - 1);
    for (size_t k = 0; k < count; k++) {
        double re = 0.0, im = 0.0;
        for (size_t t = 0; t < length; t++) {
            const double angle = 2.0 * M_PI * (double)(t * k % length) / (double)length;
            re += (x[t] - mean) * cos(angle);
            im -= (x[t] - mean) * sin(angle);
        }
        raw[k] = (re * re + im * im) / variance;
    }
    const long radius = (long)(4.0 * sigma + 0.5), n = (long)count;
    double weights = 0.0;
    for (long j = -radius; j <= radius; j++)
        weights += sigma > 0.0 ? exp(-0.5 * (double)(j * j) / (sigma * sigma)) : 1.0;
    for (long k = 0; k < n; k++) {
        spectrum[k] = 0.0;
        for (long j = -radius; j <= radius; j++) {
            long i = k + j;
            while (i < 0 || i >= n)
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
            spectrum[k] +=
                (sigma > 0.0 ? exp(-0.5 * (double)(j * j) / (sigma * sigma)) : 1.0) / weights * raw[i];
        }
        sum += spectrum[k];
    }
    for (size_t k = 0; k < count; k++)
        spectrum[k] /= sum;
    free(raw);
}

static void test_awkward_lengths_and_widths(void **state)
{
    (void)state;
    const size_t lengths[] = {2, 3, 4, 5, 7, 10, 31, 97, 200};
    const double widths[] = {0.0, 0.1, 0.3, 1.0, 2.5, 20.0, 60.0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t length = lengths[i], count = length / 2 + 1;
        double *x = random_walk(length, i);
        double *got = malloc(count * sizeof *got), *expected = malloc(count * sizeof *expected);
        assert_true(got != NULL && expected != NULL);
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            CHECK_OK(antler_power_spectrum(x, length, 1, widths[w], got));
            naive_spectrum(x, length, widths[w], expected);
            double sum = 0.0;
            for (size_t k = 0; k < count; k++) {
                if (!(fabs(got[k] - expected[k]) < 1e-12))
                    fail_msg("length %zu, width %g, bin %zu: %.17g instead of %.17g", length, widths[w], k,
                             got[k], expected[k]);
                sum += got[k];
            }
            assert_close(sum, 1.0, 1e-13);
        }
        free(expected);
        free(got);
        free(x);
    }
}

/* Units and offset do not matter, not even extreme ones. */
static void test_spectrum_is_scale_free(void **state)
{
    (void)state;
    enum { LENGTH = 100, COUNT = LENGTH / 2 + 1 };
    double *x = random_walk(LENGTH, 3), scaled[2 * LENGTH], p[COUNT], q[COUNT];
    const double units[] = {1e-300, 0x1p-1060, 1e150, 1e300, -3.0};
    CHECK_OK(antler_power_spectrum(x, LENGTH, 1, 2.0, p));
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        for (size_t t = 0; t < LENGTH; t++) {
            scaled[2 * t] = units[u] * x[t];
            scaled[2 * t + 1] = NAN; /* must not be looked at */
        }
        /* Near the smallest numbers there are only a few digits. */
        const double tolerance = fabs(units[u]) < 1e-310 ? 1e-2 : 1e-9;
        CHECK_OK(antler_power_spectrum(scaled, LENGTH, 2, 2.0, q));
        for (size_t k = 0; k < COUNT; k++)
            assert_close(q[k], p[k], tolerance);
    }
    free(x);
}

static void test_hellinger_known_answers(void **state)
{
    (void)state;
    const double a[] = {1.0, 0.0, 0.0}, b[] = {0.0, 0.5, 0.5}, c[] = {0.25, 0.25, 0.5};
    assert_true(antler_hellinger(a, a, 3) == 0.0);
    assert_close(antler_hellinger(a, b, 3), 1.0, 1e-15);
    assert_close(antler_hellinger(a, c, 3), sqrt(0.5), 1e-15);
    assert_close(antler_hellinger(c, a, 3), sqrt(0.5), 1e-15);
    /* A difference of e in two bins of a half: distance e / sqrt(2), far below the rounding of 1 - sum. */
    const double even[] = {0.5, 0.5}, tilted[] = {0.5 + 1e-10, 0.5 - 1e-10};
    assert_close(antler_hellinger(even, tilted, 2), 1e-10 / sqrt(2.0), 1e-5);
}

static void test_constants_have_a_distance(void **state)
{
    (void)state;
    double flat[8], moving[8], work[10], distance = -1.0;
    for (size_t t = 0; t < 8; t++) {
        flat[t] = 0.1;
        moving[t] = sin((double)t);
    }
    CHECK_OK(ant_spectrum_distance(moving, flat, 8, 1, 1.0, work, &distance));
    assert_true(distance == 1.0);
    CHECK_OK(ant_spectrum_distance(flat, moving, 8, 1, 1.0, work, &distance));
    assert_true(distance == 1.0);
    CHECK_OK(ant_spectrum_distance(flat, flat, 8, 1, 1.0, work, &distance));
    assert_true(distance == 0.0);
}

static void test_bad_input(void **state)
{
    (void)state;
    double x[] = {1.0, 2.0, 4.0, 3.0}, out[3];
    CHECK_FAILS(antler_power_spectrum(x, 1, 1, 0.0, out), ANTLER_ERROR_ARGUMENT, "at least 2 rows");
    assert_int_equal(antler_power_spectrum(x, 4, 0, 0.0, out), ANTLER_ERROR_ARGUMENT);
    CHECK_FAILS(antler_power_spectrum(x, 4, 1, -1.0, out), ANTLER_ERROR_ARGUMENT, "smoothing width is -1");
    assert_int_equal(antler_power_spectrum(x, 4, 1, NAN, out), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(antler_power_spectrum(x, 4, 1, INFINITY, out), ANTLER_ERROR_ARGUMENT);
    x[2] = NAN;
    CHECK_FAILS(antler_power_spectrum(x, 4, 1, 0.0, out), ANTLER_ERROR_DATA, "row 3");
    for (size_t t = 0; t < 4; t++)
        x[t] = 7.0;
    CHECK_FAILS(antler_power_spectrum(x, 4, 1, 0.0, out), ANTLER_ERROR_DATA, "constant");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_spectrum),
        cmocka_unit_test(test_golden_distances),
        cmocka_unit_test(test_awkward_lengths_and_widths),
        cmocka_unit_test(test_spectrum_is_scale_free),
        cmocka_unit_test(test_hellinger_known_answers),
        cmocka_unit_test(test_constants_have_a_distance),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
