/* test_embed.c - delay vectors: the golden case, the definition, borders of trajectories, bad arguments. */
#include "golden_case.h"

#include "measure/embed.h"

static void test_golden(void **state)
{
    (void)state;
    golden_array x = golden_read("dstsp_embedded", "x");
    golden_array expected = golden_read("dstsp_embedded", "embedded_x");
    const size_t m = (size_t)golden_number("dstsp_embedded", "m");
    const size_t tau = (size_t)golden_number("dstsp_embedded", "tau");
    double *got = malloc(expected.rows * expected.columns * sizeof *got);
    assert_non_null(got);
    assert_int_equal(expected.rows, x.rows - (m - 1) * tau);
    assert_int_equal(expected.columns, m * x.columns);
    CHECK_OK(antler_embed(x.values, x.rows, x.columns, m, tau, got));
    assert_memory_equal(got, expected.values, expected.rows * expected.columns * sizeof *got);
    free(got);
    free(expected.values);
    free(x.values);
}

/* Every value carries its row and variable, so each place of the result is known. */
static void test_definition(void **state)
{
    (void)state;
    enum { LENGTH = 23, DIM = 3 };
    double x[LENGTH * DIM], out[LENGTH * DIM * 5];
    for (size_t t = 0; t < LENGTH; t++)
        for (size_t j = 0; j < DIM; j++)
            x[t * DIM + j] = 100.0 * (double)t + (double)j;
    for (size_t m = 1; m <= 5; m++) {
        for (size_t tau = 1; (m - 1) * tau < LENGTH && tau <= 30; tau++) {
            const size_t reach = (m - 1) * tau;
            CHECK_OK(antler_embed(x, LENGTH, DIM, m, tau, out));
            for (size_t t = reach; t < LENGTH; t++)
                for (size_t k = 0; k < m; k++)
                    for (size_t j = 0; j < DIM; j++)
                        assert_true(out[((t - reach) * m + k) * DIM + j] ==
                                    100.0 * (double)(t - k * tau) + (double)j);
        }
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    double x[10] = {0}, out[20];
    CHECK_FAILS(antler_embed(x, 10, 1, 3, 5, out), ANTLER_ERROR_ARGUMENT, "at least 11 rows, there are 10");
    assert_int_equal(antler_embed(x, 10, 1, 0, 1, out), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(antler_embed(x, 10, 1, 2, 0, out), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(antler_embed(x, 10, 0, 2, 1, out), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(antler_embed(x, 10, 1, SIZE_MAX, SIZE_MAX, out), ANTLER_ERROR_ARGUMENT);
    assert_int_equal(antler_embed(x, 10, 1, 3, SIZE_MAX / 2, out), ANTLER_ERROR_ARGUMENT);
}

/* Trajectories of unequal length: no delay vector mixes two of them. */
static void test_gathering_respects_borders(void **state)
{
    (void)state;
    const size_t lengths[] = {7, 5, 12};
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(2, 0, &series));
    for (size_t i = 0; i < 3; i++) {
        double x[24];
        for (size_t t = 0; t < lengths[i]; t++) {
            x[2 * t] = 1000.0 * (double)i + (double)t;
            x[2 * t + 1] = -x[2 * t];
        }
        CHECK_OK(antler_series_append(series, lengths[i], x, NULL));
    }
    ant_points points;
    CHECK_OK(ant_points_gather(series, "the true orbit", 3, 2, &points));
    assert_int_equal(points.count, 3 + 1 + 8);
    assert_int_equal(points.dim, 6);
    size_t row = 0;
    for (size_t i = 0; i < 3; i++) {
        for (size_t t = 4; t < lengths[i]; t++, row++) {
            for (size_t k = 0; k < 3; k++) {
                const double expected = 1000.0 * (double)i + (double)(t - 2 * k);
                assert_true(points.values[row * 6 + 2 * k] == expected);
                assert_true(points.values[row * 6 + 2 * k + 1] == -expected);
            }
        }
    }
    ant_points_free(&points);
    assert_null(points.values);

    CHECK_FAILS(ant_points_gather(series, "the true orbit", 4, 2, &points), ANTLER_ERROR_DATA,
                "trajectory 2 has 5 rows");
    assert_non_null(strstr(antler_message(), "at least 7"));
    antler_series_free(series);

    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_FAILS(ant_points_gather(series, "the true orbit", 1, 1, &points), ANTLER_ERROR_DATA,
                "the true orbit has no trajectory");
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_gathering_respects_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
