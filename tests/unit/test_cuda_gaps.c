/*
 * Missing values (spec 12) where there is a GPU, which does not take them: `device: cuda` is refused with a
 * remedy, `auto` trains on the CPU, and a problem on the GPU takes complete data again afterwards.
 */
#include "unit/training.h"

/* A rotation of which one value is missing. */
static antler_series *series_with_gap(void)
{
    enum { GAP_SERIES = 90 };
    double x[GAP_SERIES * 2];
    antler_series *series = NULL;
    for (size_t t = 0; t < GAP_SERIES; t++) {
        x[2 * t] = cos(0.2 * (double)t);
        x[2 * t + 1] = t == 30 ? (double)NAN : sin(0.2 * (double)t);
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, GAP_SERIES, x, NULL));
    return series;
}

static void cuda_is_refused(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_series *series = series_with_gap();
    antler_trainer *trainer = NULL;
    s.device = ANTLER_DEVICE_CUDA;
    CHECK_FAILS(antler_trainer_create(&s, series, &trainer), ANTLER_ERROR_ARGUMENT,
                "device: cuda does not take missing values, and 1 are missing; set device: cpu, or missing: "
                "split or interpolate");
    assert_null(trainer);
    antler_series_free(series);
}

/* What the sentence says helps: without the gap the same settings train on the GPU. */
static void remedies_help(void **state)
{
    (void)state;
    const antler_missing remedies[] = {ANTLER_MISSING_SPLIT, ANTLER_MISSING_INTERPOLATE};
    antler_series *series = series_with_gap();
    for (size_t i = 0; i < 2; i++) {
        antler_settings s = plain_settings();
        double out[PARAMETERS_MAX] = {0};
        seen w = {.rows = 0};
        s.device = ANTLER_DEVICE_CUDA;
        s.missing = remedies[i];
        CHECK_OK(train(&s, series, 1, &w, out));
        assert_non_null(strstr(w.text, "Imaginary GPU"));
    }
    antler_series_free(series);
}

static void auto_takes_the_cpu(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_series *series = series_with_gap();
    double cpu[PARAMETERS_MAX] = {0}, chosen[PARAMETERS_MAX] = {0};
    seen on_cpu = {.rows = 0}, w = {.rows = 0};
    s.batch_size = 2048; /* worth a GPU */
    s.updates = 2;
    s.device = ANTLER_DEVICE_AUTO;
    CHECK_OK(train(&s, series, 1, &w, chosen));
    assert_null(strstr(w.text, "Imaginary GPU"));
    assert_non_null(strstr(w.text, "but does not take missing values"));
    s.device = ANTLER_DEVICE_CPU;
    CHECK_OK(train(&s, series, 1, &on_cpu, cpu));
    assert_memory_equal(chosen, cpu, sizeof cpu);
    antler_series_free(series);

    antler_series *complete = make_series(90, 2, 0); /* for which the GPU would have been taken */
    seen full = {.rows = 0};
    setenv("FAKE_CUDA", "full", 1);
    s.device = ANTLER_DEVICE_AUTO;
    CHECK_OK(train(&s, complete, 1, &full, cpu));
    setenv("FAKE_CUDA", "", 1);
    assert_non_null(strstr(full.text, "but none can be used"));
    antler_series_free(complete);
}

static void problem_is_refused(void **state)
{
    (void)state;
    antler_settings s = plain_settings();
    antler_problem *p = NULL;
    antler_solve_report report;
    s.solver = ANTLER_SOLVER_SHOOTING;
    s.device = ANTLER_DEVICE_CUDA;
    const size_t count = s.batch_size * (s.sequence_length + 1) * 2;
    double *x = calloc(count, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = sin(0.3 * (double)i);
    CHECK_OK(antler_problem_create(&s, 2, 0, &p));
    x[5] = NAN;
    antler_problem_set_data(p, x, NULL);
    CHECK_FAILS(antler_problem_solve(p, &report), ANTLER_ERROR_ARGUMENT,
                "x has missing values (NaN), which the GPU does not take; set device: cpu");
    x[5] = 0.1;
    antler_problem_set_data(p, x, NULL);
    CHECK_OK(antler_problem_solve(p, &report));
    assert_true(isfinite(report.loss));
    antler_problem_free(p);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_is_refused),
        cmocka_unit_test(remedies_help),
        cmocka_unit_test(auto_takes_the_cpu),
        cmocka_unit_test(problem_is_refused),
    };
    return cmocka_run_group_tests(tests, use_fake, NULL);
}
