/* test_series.c - the set in memory: filling, reading, statistics, scaling, checking. */
#include "data/series.h"

#include "unit/check.h"

#include <float.h>
#include <stdlib.h>

static antler_series *make(size_t dim, size_t input_dim)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(dim, input_dim, &series));
    return series;
}

static void test_append_and_read(void **state)
{
    (void)state;
    antler_series *series = make(2, 1);
    const double a[] = {1, 2, 3, 4, 5, 6}, a_in[] = {-1, -2, -3};
    const double b[] = {7, 8}, b_in[] = {-4};
    CHECK_OK(antler_series_append(series, 3, a, a_in));
    CHECK_OK(antler_series_append(series, 1, b, b_in));
    assert_int_equal(antler_series_count(series), 2);
    assert_int_equal(antler_series_dim(series), 2);
    assert_int_equal(antler_series_input_dim(series), 1);
    assert_int_equal(antler_series_length(series, 0), 3);
    assert_int_equal(antler_series_length(series, 1), 1);
    assert_int_equal(antler_series_length(series, 2), 0);
    assert_int_equal(antler_series_total_length(series), 4);
    assert_string_equal(antler_series_dtype(series, 1), "float64");
    assert_string_equal(antler_series_origin(series, 1), "");

    double x[6], in[3];
    CHECK_OK(antler_series_read_f64(series, 0, 0, 3, x, in));
    assert_memory_equal(x, a, sizeof a);
    assert_memory_equal(in, a_in, sizeof a_in);
    float xf[4], in_f[2];
    CHECK_OK(antler_series_read_f32(series, 0, 1, 2, xf, in_f));
    assert_true(xf[0] == 3 && xf[1] == 4 && xf[2] == 5 && xf[3] == 6 && in_f[0] == -2 && in_f[1] == -3);
    CHECK_OK(antler_series_read_f64(series, 1, 0, 1, x, NULL));
    assert_true(x[0] == 7 && x[1] == 8);
    CHECK_OK(antler_series_read_f64(series, 0, 3, 0, x, in));
    antler_series_free(series);
    antler_series_free(NULL);
}

static void test_arguments(void **state)
{
    (void)state;
    antler_series *series = NULL;
    CHECK_FAILS(antler_series_create(0, 0, &series), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_create((size_t)ANT_SERIES_MAX_DIM + 1, 0, &series), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_create(1, SIZE_MAX, &series), ANTLER_ERROR_ARGUMENT, "");
    assert_null(series);
    series = make(1, 1);
    const double x[] = {1, 2};
    double out[2];
    CHECK_FAILS(antler_series_append(series, 0, x, x), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_append(series, 2, x, NULL), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_append(series, SIZE_MAX / 4, x, x), ANTLER_ERROR_MEMORY, "");
    CHECK_OK(antler_series_append(series, 2, x, x));
    CHECK_FAILS(antler_series_read_f64(series, 1, 0, 1, out, NULL), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_read_f64(series, 0, 1, 2, out, NULL), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_read_f64(series, 0, 3, 0, out, NULL), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_read_f64(series, 0, 1, SIZE_MAX, out, NULL), ANTLER_ERROR_ARGUMENT, "");
    antler_series_free(series);
}

static void test_names_and_dt(void **state)
{
    (void)state;
    antler_series *series = make(2, 2);
    assert_string_equal(antler_series_name(series, 0), "x1");
    assert_string_equal(antler_series_name(series, 1), "x2");
    assert_string_equal(antler_series_name(series, 2), "s1");
    assert_string_equal(antler_series_name(series, 3), "s2");
    assert_string_equal(antler_series_name(series, 4), "");
    CHECK_OK(antler_series_set_name(series, 3, "température, \"T\""));
    assert_string_equal(antler_series_name(series, 3), "température, \"T\"");
    CHECK_FAILS(antler_series_set_name(series, 4, "y"), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_set_name(series, 0, ""), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_set_name(series, 0, "a\nb"), ANTLER_ERROR_ARGUMENT, "");
    assert_true(antler_series_dt(series) == 0.0);
    CHECK_OK(antler_series_set_dt(series, 0.25));
    assert_true(antler_series_dt(series) == 0.25);
    CHECK_FAILS(antler_series_set_dt(series, -1.0), ANTLER_ERROR_ARGUMENT, "");
    CHECK_FAILS(antler_series_set_dt(series, NAN), ANTLER_ERROR_ARGUMENT, "");
    assert_true(antler_series_dt(series) == 0.25);
    antler_series_free(series);
}

/* A hand-made part: two trajectories of a column-major int16 table with three columns, two of them taken. */
static void test_strided_part(void **state)
{
    (void)state;
    enum { COUNT = 2, T = 700, C = 3 };
    antler_series *series = make(2, 0);
    int16_t *values = malloc(sizeof *values * COUNT * T * C);
    for (size_t k = 0; k < COUNT; k++)
        for (size_t t = 0; t < T; t++)
            for (size_t c = 0; c < C; c++)
                values[k + COUNT * (t + T * c)] = (int16_t)((int)(k * 10000 + t * 10 + c) - 9000);
    ant_part part = {.count = COUNT, .length = T, .columns = calloc(2, sizeof(ant_column))};
    const size_t take[] = {2, 0};
    for (size_t j = 0; j < 2; j++)
        part.columns[j] = (ant_column){.first = (const unsigned char *)(values + COUNT * T * take[j]),
                                       .row_step = COUNT * sizeof *values,
                                       .trajectory_step = sizeof *values,
                                       .dtype = ANT_I16,
                                       .divisor = 1.0};
    part.buffers[0] = values;
    part.origin = strdup("made.npy");
    CHECK_OK(ant_series_add_part(series, part));
    assert_int_equal(antler_series_count(series), COUNT);
    assert_int_equal(antler_series_total_length(series), COUNT * T);
    assert_string_equal(antler_series_dtype(series, 1), "int16");
    assert_string_equal(antler_series_origin(series, 1), "made.npy");
    double *x = malloc(sizeof *x * T * 2);
    for (size_t k = 0; k < COUNT; k++) {
        CHECK_OK(antler_series_read_f64(series, k, 1, T - 1, x, NULL));
        for (size_t t = 1; t < T; t++)
            for (size_t j = 0; j < 2; j++)
                assert_true(x[(t - 1) * 2 + j] == (double)(k * 10000 + t * 10 + take[j]) - 9000);
    }
    free(x);
    antler_series_free(series);
}

static void test_statistics(void **state)
{
    (void)state;
    antler_series *series = make(2, 0);
    /* A large offset: the naive sum of squares would lose every digit of the deviation. */
    enum { T = 100001 };
    double *x = malloc(sizeof *x * T * 2);
    for (size_t t = 0; t < T; t++) {
        x[2 * t] = 1e9 + (t % 2 == 0 ? 1.0 : -1.0);
        x[2 * t + 1] = (double)t;
    }
    CHECK_OK(antler_series_append(series, 60000, x, NULL));
    CHECK_OK(antler_series_append(series, T - 60000, x + 120000, NULL));
    antler_variable_stats s;
    CHECK_OK(antler_series_stats(series, 0, &s));
    const double offset = 1.0 / T; /* of the mean, one more +1 than -1 */
    assert_true(fabs(s.mean - (1e9 + offset)) < 3e-7);
    assert_true(fabs(s.sd - sqrt(1.0 - offset * offset)) < 1e-9);
    assert_true(s.min == 1e9 - 1 && s.max == 1e9 + 1 && s.nan == 0 && s.inf == 0);
    CHECK_OK(antler_series_stats(series, 1, &s));
    assert_true(fabs(s.mean - (T - 1) / 2.0) < 1e-9);
    assert_true(fabs(s.sd / sqrt(((double)T * T - 1) / 12.0) - 1.0) < 1e-14);
    CHECK_FAILS(antler_series_stats(series, 2, &s), ANTLER_ERROR_ARGUMENT, "");
    free(x);
    antler_series_free(series);
}

/* Mean and deviation of a variable whose rows are a and b in turn, T of them. */
static antler_variable_stats stats_of_two(size_t T, double a, double b)
{
    antler_series *series = make(1, 0);
    double *x = malloc(sizeof *x * T);
    for (size_t t = 0; t < T; t++)
        x[t] = t % 2 == 0 ? a : b;
    CHECK_OK(antler_series_append(series, T, x, NULL));
    antler_variable_stats s;
    CHECK_OK(antler_series_stats(series, 0, &s));
    free(x);
    antler_series_free(series);
    return s;
}

/* Where squares or sums leave the range of double, mean and deviation do not. */
static void test_statistics_of_extreme_values(void **state)
{
    (void)state;
    enum { T = 10000 }; /* some blocks */
    const double sizes[] = {1e140, 1e152, 1e155, 1e200, 1e300, 1e307, 1e-140, 1e-155, 1e-160, 1e-200, 1e-290};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const antler_variable_stats s = stats_of_two(T, 3 * sizes[i], 7 * sizes[i]);
        assert_true(fabs(s.mean / sizes[i] - 5) < 1e-13 && fabs(s.sd / sizes[i] - 2) < 1e-13);
    }
    antler_variable_stats s = stats_of_two(T, DBL_MAX, -DBL_MAX);
    assert_true(fabs(s.mean) < 1e-13 * DBL_MAX && fabs(s.sd / DBL_MAX - 1) < 1e-13);
    s = stats_of_two(T - 1, DBL_MAX, DBL_MAX);
    assert_true(s.mean == DBL_MAX && s.sd <= 1e-13 * DBL_MAX);
    s = stats_of_two(T, 1e300, 1e300 + 64 * DBL_EPSILON * 1e300); /* a large offset, too */
    assert_true(fabs(s.sd / (32 * DBL_EPSILON * 1e300) - 1) < 0.02);
    s = stats_of_two(T, 0, 4 * DBL_TRUE_MIN);
    assert_true(s.mean == 2 * DBL_TRUE_MIN && s.sd == 2 * DBL_TRUE_MIN);
    /* Values of all sizes: the small ones count, and do no harm. */
    s = stats_of_two(T, 1e-300, 1e300);
    assert_true(fabs(s.mean / 5e299 - 1) < 1e-13 && fabs(s.sd / 5e299 - 1) < 1e-13);
}

static void test_statistics_of_bad_values(void **state)
{
    (void)state;
    antler_series *series = make(1, 1);
    const double a[] = {1, 2, 3}, b[] = {5, NAN, -INFINITY, INFINITY, NAN}, nothing[] = {NAN, NAN, NAN};
    const double still[] = {0, 0, 0, 0, 0};
    CHECK_OK(antler_series_append(series, 3, a, still));
    CHECK_OK(antler_series_append(series, 5, b, still));
    antler_variable_stats s;
    CHECK_OK(antler_series_stats(series, 0, &s));
    assert_true(s.nan == 2 && s.inf == 2 && s.bad_row == 1 && s.bad_trajectory == 1);
    assert_true(s.min == 1 && s.max == 5 && fabs(s.mean - 2.75) < 1e-15);
    CHECK_FAILS(antler_series_check(series, 2), ANTLER_ERROR_DATA,
                "trajectory 2: value is NaN in row 2, column 1 (x1); 4 such values");
    antler_series_free(series);

    series = make(1, 1);
    CHECK_OK(antler_series_append(series, 3, a, nothing));
    CHECK_OK(antler_series_stats(series, 1, &s));
    assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.min) && isnan(s.max) && s.nan == 3);
    CHECK_FAILS(antler_series_check(series, 2), ANTLER_ERROR_DATA,
                "value is NaN in row 1, input 1 (s1); 3 such values");
    antler_series_free(series);
}

static void test_standardise(void **state)
{
    (void)state;
    enum { T = 1000, N = 3 };
    antler_series *series = make(N, 1);
    double *x = malloc(sizeof *x * T * N), *y = malloc(sizeof *y * T * N), in[T], in_read[T];
    unsigned random = 1;
    for (size_t i = 0; i < T * N; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (double)(random >> 8) / 1e6 * (double)(i % N + 1) - 3.0;
    }
    for (size_t t = 0; t < T; t++)
        in[t] = (double)t;
    CHECK_OK(antler_series_append(series, T / 2, x, in));
    CHECK_OK(antler_series_append(series, T - T / 2, x + T / 2 * N, in + T / 2));
    double mean[N], scale[N];
    assert_false(antler_series_scaling(series, mean, scale));
    CHECK_OK(antler_series_standardise(series));
    antler_variable_stats s;
    for (size_t v = 0; v < N; v++) {
        CHECK_OK(antler_series_stats(series, v, &s));
        assert_true(fabs(s.mean) < 1e-14 && fabs(s.sd - 1.0) < 1e-14);
    }
    /* A second, given scaling composes with the first: user units are still reached in one step. */
    const double m[N] = {0.5, -1.0, 2.0}, d[N] = {2.0, 0.25, 1.0};
    CHECK_OK(antler_series_apply_scaling(series, m, d));
    assert_true(antler_series_scaling(series, mean, scale));
    CHECK_OK(antler_series_read_f64(series, 0, 0, T / 2, y, in_read));
    assert_memory_equal(in_read, in, sizeof *in * (T / 2));
    for (size_t i = 0; i < T / 2 * N; i++)
        assert_true(fabs(y[i] * scale[i % N] + mean[i % N] - x[i]) < 1e-12 * 50);
    /* What is appended later is taken as it is given. */
    CHECK_OK(antler_series_append(series, 1, x, in));
    CHECK_OK(antler_series_read_f64(series, 2, 0, 1, y, NULL));
    assert_memory_equal(y, x, sizeof *x * N);
    free(x);
    free(y);
    antler_series_free(series);
}

static void test_scaling_is_the_plain_formula(void **state)
{
    (void)state;
    antler_series *series = make(1, 0);
    const double x[] = {0.1, 0.7, 1e-3}, mean = 0.3, scale = 0.7;
    CHECK_OK(antler_series_append(series, 3, x, NULL));
    CHECK_OK(antler_series_apply_scaling(series, &mean, &scale));
    double y[3];
    float yf[3];
    CHECK_OK(antler_series_read_f64(series, 0, 0, 3, y, NULL));
    CHECK_OK(antler_series_read_f32(series, 0, 0, 3, yf, NULL));
    for (size_t i = 0; i < 3; i++) {
        const double expected = (x[i] - mean) / scale;
        assert_true(y[i] == expected && yf[i] == (float)expected);
    }
    const double bad[] = {0.0, -1.0, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++)
        CHECK_FAILS(antler_series_apply_scaling(series, &mean, &bad[i]), ANTLER_ERROR_ARGUMENT, "");
    antler_series_free(series);
}

static void test_constant_is_refused(void **state)
{
    (void)state;
    antler_series *series = make(2, 0);
    const double x[] = {1, 0.1, 2, 0.1, 3, 0.1};
    CHECK_OK(antler_series_append(series, 3, x, NULL));
    CHECK_OK(antler_series_set_name(series, 1, "flat"));
    CHECK_FAILS(antler_series_standardise(series), ANTLER_ERROR_DATA, "flat is constant (0.1)");
    assert_false(antler_series_scaling(series, NULL, NULL));
    CHECK_FAILS(antler_series_check(series, 2), ANTLER_ERROR_DATA, "column 2 (flat) is constant");
    antler_series_free(series);
}

/* Extreme values are standardised where their deviations from the mean are doubles. */
static void test_extreme_values_are_standardised(void **state)
{
    (void)state;
    const double good[][4] = {{-1.7e308, 1.7e308, -1.7e308, 1.7e308}, {1e-290, 3e-290, 1e-290, 3e-290}};
    const double bad[][4] = {{-1.7e308, 1.7e308, 1.7e308, 1.7e308}, {0.0, 1e-310, 0.0, 1e-310}};
    for (size_t i = 0; i < 2; i++) {
        double y[4];
        antler_series *series = make(1, 0);
        CHECK_OK(antler_series_append(series, 4, good[i], NULL));
        CHECK_OK(antler_series_standardise(series));
        CHECK_OK(antler_series_read_f64(series, 0, 0, 4, y, NULL));
        for (size_t t = 0; t < 4; t++)
            assert_true(fabs(y[t] - (t % 2 == 0 ? -1.0 : 1.0)) < 1e-14);
        antler_series_free(series);
        series = make(1, 0);
        CHECK_OK(antler_series_append(series, 4, bad[i], NULL));
        CHECK_FAILS(antler_series_standardise(series), ANTLER_ERROR_DATA, "rescale it");
        antler_series_free(series);
    }
}

static void test_check_shape(void **state)
{
    (void)state;
    antler_series *series = make(3, 0);
    CHECK_FAILS(antler_series_check(series, 1), ANTLER_ERROR_DATA, "no trajectory");
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
    CHECK_OK(antler_series_append(series, 3, x, NULL));
    CHECK_OK(antler_series_check(series, 3));
    CHECK_FAILS(antler_series_check(series, 4), ANTLER_ERROR_DATA, "has 3 rows, but at least 4 are needed");
    CHECK_OK(antler_series_append(series, 2, x, NULL)); /* one of several may be short */
    CHECK_OK(antler_series_check(series, 2));
    CHECK_FAILS(antler_series_check(series, 3), ANTLER_ERROR_DATA, "trajectory 2: has 2 rows");
    antler_series_free(series);
    series = make(3, 0);
    CHECK_OK(antler_series_append(series, 1, x, NULL));
    CHECK_OK(antler_series_append(series, 2, x, NULL));
    CHECK_FAILS(antler_series_check(series, 2), ANTLER_ERROR_DATA,
                "trajectory 2: 3 columns but only 2 rows, so it looks transposed; if time runs along the "
                "rows, use --transpose");
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_and_read),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_names_and_dt),
        cmocka_unit_test(test_strided_part),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_statistics_of_extreme_values),
        cmocka_unit_test(test_statistics_of_bad_values),
        cmocka_unit_test(test_standardise),
        cmocka_unit_test(test_scaling_is_the_plain_formula),
        cmocka_unit_test(test_constant_is_refused),
        cmocka_unit_test(test_extreme_values_are_standardised),
        cmocka_unit_test(test_check_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
