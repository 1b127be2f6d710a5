/* test_statistics.c - median, MAD, mean and standard error over runs, with diverged and missing ones. */
#include "check.h"

static void test_known_numbers(void **state)
{
    (void)state;
    const double values[] = {5.0, 1.0, NAN, 9.0, 2.0};
    antler_statistics s;
    CHECK_OK(antler_statistics_of(values, 5, &s));
    assert_int_equal(s.count, 4);
    assert_int_equal(s.diverged, 0);
    CHECK_NEAR(s.median, 3.5, 0.0);
    CHECK_NEAR(s.mad, 2.0, 0.0); /* of 1.5, 2.5, 5.5, 1.5 */
    CHECK_NEAR(s.mean, 4.25, 0.0);
    CHECK_NEAR(s.sem, sqrt((0.5625 + 10.5625 + 22.5625 + 5.0625) / 3.0 / 4.0), 1e-15);
}

static void test_diverged_runs_count_as_infinite(void **state)
{
    (void)state;
    const double values[] = {1.0, INFINITY, 2.0, INFINITY, 4.0};
    antler_statistics s;
    CHECK_OK(antler_statistics_of(values, 5, &s));
    assert_int_equal(s.diverged, 2);
    CHECK_NEAR(s.median, 4.0, 0.0);
    CHECK_NEAR(s.mad, 3.0, 0.0); /* of 0, 2, 3, infinite, infinite */
    CHECK_NEAR(s.mean, 7.0 / 3.0, 1e-15);
    CHECK_OK(antler_statistics_of(values, 4, &s)); /* between 2 and infinity */
    assert_true(isinf(s.median) && isnan(s.mad));
    CHECK_OK(antler_statistics_of(values + 1, 1, &s));
    assert_true(isinf(s.median) && isnan(s.mad) && isnan(s.mean) && isnan(s.sem));
    CHECK_OK(antler_statistics_of(values, 0, &s));
    assert_int_equal(s.count, 0);
    assert_true(isnan(s.median));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_numbers),
        cmocka_unit_test(test_diverged_runs_count_as_infinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
