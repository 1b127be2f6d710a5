/*
 * The rules of forcing (spec 10) on the GPU engine with the fake driver: sparse, by schedule, and estimated;
 * the same strengths and updates as on the CPU, and the same bytes after stops.
 */
#include "unit/training.h"

static comparison case_of(antler_settings s, const char *choice)
{
    return (comparison){.settings = s,
                        .rows = 90,
                        .dim = 2,
                        .run = s.runs,
                        .tolerance = 1e-8,
                        .agreement = 1e-10,
                        .choice = choice};
}

/* Whole sequences, segments, and Newton on all steps. */
static void compare_solvers(antler_settings s)
{
    compare_with_cpu(case_of(s, "sequential on the GPU"));
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.runs = 1;
    s.batch_size = 2;
    compare_with_cpu(case_of(s, "shooting on the GPU, 4 segments"));
    s.solver = ANTLER_SOLVER_DEER;
    s.batch_size = 1;
    compare_with_cpu(case_of(s, "deer on the GPU"));
}

static void sparse_as_on_the_cpu(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.forcing_interval = 4;
    compare_solvers(s);
    s.warmup = 5;
    s.forcing_interval = 1;
    compare_with_cpu(case_of(s, "sparse forcing every 1 step"));
}

static void annealed_as_on_the_cpu(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.gtf_alpha = 0.9;
    s.gtf_alpha_end = 0.1;
    s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_COSINE;
    compare_solvers(s);
    s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_EXPONENTIAL;
    s.warmup = 5;
    compare_with_cpu(case_of(s, "sequential on the GPU"));
    s.updates = 45; /* more than one graph */
    s.log_interval = 20;
    s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_LINEAR;
    compare_with_cpu(case_of(s, "sequential on the GPU"));
}

/* A larger start makes estimates above 0. */
static antler_settings estimated_settings(antler_alpha_method method)
{
    antler_settings s = plain_settings();
    s.initialisation = ANTLER_INITIALISATION_STANDARD;
    s.kappa = 0.9995;
    s.gtf_alpha_method = method;
    s.gtf_alpha_interval = 2;
    s.gtf_alpha_decay = 0.5;
    return s;
}

static void estimated_as_on_the_cpu(void **state)
{
    (void)state;
    for (int method = 1; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++)
        compare_with_cpu(case_of(estimated_settings((antler_alpha_method)method), "sequential on the GPU"));
    compare_solvers(estimated_settings(ANTLER_ALPHA_BATCH_MAXIMUM));
    antler_settings s = estimated_settings(ANTLER_ALPHA_PRODUCT_UPPER_BOUND);
    s.updates = 45; /* more than one graph */
    s.log_interval = 20;
    s.gtf_alpha_interval = 3;
    s.noise = 0.1;
    s.warmup = 5;
    compare_with_cpu(case_of(s, "sequential on the GPU"));
}

/* The matrices that join segments are those of the estimated strength: as many passes as with that strength
   as a constant, although the one before it was far off. */
static void joined_with_the_estimate(void **state)
{
    antler_series *series = make_series(90, 2, 0);
    double estimated[PARAMETERS_MAX] = {0}, constant[PARAMETERS_MAX] = {0};
    seen first = {.rows = 0}, second = {.rows = 0};
    antler_settings s = estimated_settings(ANTLER_ALPHA_JACOBIAN_UPPER_BOUND);
    (void)state;
    s.device = ANTLER_DEVICE_CUDA;
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.runs = s.batch_size = s.updates = 1;
    s.sequence_length = 61;
    s.gtf_alpha_interval = 1;
    s.gtf_alpha_decay = 0.0;
    CHECK_OK(train(&s, series, 1, &first, estimated));
    s.gtf_alpha_method = ANTLER_ALPHA_CONSTANT;
    s.gtf_alpha = first.row[0].alpha;
    CHECK_OK(train(&s, series, 1, &second, constant));
    assert_true(s.gtf_alpha > 0.1 && s.gtf_alpha < 0.9);
    CHECK_NEAR(first.row[0].iterations, second.row[0].iterations, 0.0);
    for (size_t i = 0; i < PARAMETERS_MAX; i++)
        CHECK_NEAR(estimated[i], constant[i], 1e-10);
    antler_series_free(series);
}

/* Stopped after every call of the learner: the same bytes, and the same strengths in the log. */
static void check_stops(antler_settings s)
{
    antler_series *series = make_series(90, 2, 0);
    double once[PARAMETERS_MAX] = {0}, again[PARAMETERS_MAX] = {0};
    seen first = {.rows = 0}, second = {.stop_after = 1};
    s.device = ANTLER_DEVICE_CUDA;
    s.log_interval = 1;
    CHECK_OK(train(&s, series, 2, &first, once));
    CHECK_OK(train(&s, series, 2, &second, again));
    assert_memory_equal(once, again, sizeof once);
    assert_int_equal(first.rows, second.rows);
    for (size_t i = 0; i < first.rows; i++)
        assert_true(first.row[i].loss == second.row[i].loss && first.row[i].alpha == second.row[i].alpha);
    assert_true(first.row[0].alpha != first.row[first.rows - 1].alpha);
    antler_series_free(series);
}

static void same_bytes_after_stops(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    s.gtf_alpha = 0.9;
    s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_LINEAR;
    check_stops(s);
    for (int method = 1; method <= ANTLER_ALPHA_ARITHMETIC_MEAN; method++)
        check_stops(estimated_settings((antler_alpha_method)method));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_as_on_the_cpu),    cmocka_unit_test(annealed_as_on_the_cpu),
        cmocka_unit_test(estimated_as_on_the_cpu), cmocka_unit_test(joined_with_the_estimate),
        cmocka_unit_test(same_bytes_after_stops),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
