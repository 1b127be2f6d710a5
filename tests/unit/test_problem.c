/* antler_problem: the bare solver through the public header, against golden vectors. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

/* Read an array of tests/golden/latent (M = 5, L = 16, N = 3, T = 64, T_w = 16, alpha 0.3) as flat doubles.
 */
static double *golden(const char *name, size_t *count)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/golden/latent/%s.npy", TEST_DATA, name);
    const char *const paths[] = {path};
    antler_series *series = NULL;
    CHECK_OK(antler_series_load(paths, 1, NULL, &series));
    const size_t rows = antler_series_length(series, 0);
    *count = rows * antler_series_dim(series);
    double *values = malloc(*count * sizeof *values);
    assert_non_null(values);
    CHECK_OK(antler_series_read_f64(series, 0, 0, rows, values, NULL));
    antler_series_free(series);
    return values;
}

/* All slices of `prefix` one after the other, in the documented order. */
static double *golden_vector(const char *prefix, size_t *total)
{
    static const char *const letters[] = {"Abar", "W", "V", "b", "h", "B"};
    double *all = calloc(10000, sizeof *all);
    assert_non_null(all);
    *total = 0;
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        char name[64];
        size_t count;
        snprintf(name, sizeof name, "%s_%s", prefix, letters[i]);
        double *part = golden(name, &count);
        memcpy(all + *total, part, count * sizeof *part);
        *total += count;
        free(part);
    }
    return all;
}

static antler_settings latent_settings(antler_precision precision)
{
    antler_settings s;
    antler_settings_default(&s);
    s.latent_dim = 5;
    s.hidden_dim = 16;
    s.sequence_length = 64;
    s.batch_size = 1;
    s.warmup = 16;
    s.gtf_alpha = 0.3;
    s.precision = precision;
    return s;
}

static double worst(const double *a, const double *b, size_t count)
{
    double gap = 0.0, scale = 0.0;
    for (size_t i = 0; i < count; i++) {
        gap = fmax(gap, isfinite(a[i]) ? fabs(a[i] - b[i]) : INFINITY);
        scale = fmax(scale, fabs(b[i]));
    }
    return gap / scale;
}

static void solves_the_golden_problem(void **state)
{
    (void)state;
    size_t total, count, states;
    double *parameters = golden_vector("param", &total), *want = golden_vector("grad_flow", &count);
    double *x = golden("x", &count), *z = golden("z", &states), *loss = golden("loss", &count);
    double *got = calloc(total, sizeof *got), *got_z = calloc(states, sizeof *got_z);
    for (int precision = ANTLER_PRECISION_FLOAT; precision <= ANTLER_PRECISION_DOUBLE; precision++) {
        const double tolerance = precision == ANTLER_PRECISION_DOUBLE ? 1e-9 : 1e-3;
        for (antler_solver solver = ANTLER_SOLVER_AUTO; solver <= ANTLER_SOLVER_SHOOTING; solver++) {
            antler_settings s = latent_settings((antler_precision)precision);
            antler_problem *problem = NULL;
            antler_solve_report report;
            double states_differ, gradient_differs;
            s.solver = solver;
            CHECK_OK(antler_problem_create(&s, 3, 0, &problem));
            assert_int_equal(antler_problem_parameter_total(problem), total);
            assert_true(antler_problem_bytes(problem) > 64 * 5 * sizeof(float));
            assert_true(strlen(antler_problem_choice(problem)) > 0);
            antler_problem_set_parameters(problem, parameters);
            antler_problem_set_data(problem, x, NULL);
            CHECK_OK(antler_problem_solve(problem, &report));
            assert_int_equal(report.outcome, ANTLER_OK);
            assert_true(report.seconds > 0.0);
            CHECK_NEAR(report.loss / loss[0], 1.0, tolerance);
            antler_problem_gradient(problem, got);
            CHECK_NEAR(worst(got, want, total), 0.0, tolerance);
            antler_problem_states(problem, 0, got_z);
            CHECK_NEAR(worst(got_z, z, states), 0.0, tolerance);
            CHECK_OK(antler_problem_check(problem, &report, &states_differ, &gradient_differs));
            CHECK_NEAR(states_differ, 0.0, tolerance);
            CHECK_NEAR(gradient_differs, 0.0, tolerance);
            antler_problem_free(problem);
        }
    }
    free(got_z);
    free(got);
    free(loss);
    free(z);
    free(x);
    free(want);
    free(parameters);
}

/* h is added to every z_t, so dloss/dh is the sum of the adjoint states. */
static void adjoint_states_sum_to_the_gradient_of_h(void **state)
{
    (void)state;
    enum { M = 5, L = 16, T = 64, BATCH = 2 };
    antler_settings s = latent_settings(ANTLER_PRECISION_DOUBLE);
    antler_problem *problem = NULL;
    antler_solve_report report;
    static double x[BATCH * (T + 1) * 3], v[T * M];
    double sum[M] = {0.0};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = sin(0.1 * (double)i) + cos(0.37 * (double)i);
    s.batch_size = BATCH;
    s.kappa = 0.5;
    CHECK_OK(antler_problem_create(&s, 3, 0, &problem));
    antler_problem_set_data(problem, x, NULL);
    CHECK_OK(antler_problem_solve(problem, &report));
    for (size_t i = 0; i < BATCH; i++) {
        CHECK_OK(antler_problem_adjoint(problem, i, v));
        for (size_t t = 0; t < T * M; t++)
            sum[t % M] += v[t];
    }
    double *gradient = calloc(antler_problem_parameter_total(problem), sizeof *gradient);
    antler_problem_gradient(problem, gradient);
    for (size_t m = 0; m < M; m++)
        CHECK_NEAR(sum[m], gradient[M + 2 * M * L + L + m], 1e-12);
    assert_true(fabs(sum[0]) > 1e-6);
    free(gradient);
    antler_problem_free(problem);
}

static void initialises_by_seed(void **state)
{
    (void)state;
    antler_settings s = latent_settings(ANTLER_PRECISION_DOUBLE);
    antler_solve_report a, b, c;
    double x[65 * 3];
    for (int i = 0; i < 65 * 3; i++)
        x[i] = sin(0.1 * i);
    antler_solve_report *const reports[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        antler_problem *problem = NULL;
        s.seed = i < 2 ? 5 : 6;
        CHECK_OK(antler_problem_create(&s, 3, 0, &problem));
        antler_problem_set_data(problem, x, NULL);
        CHECK_OK(antler_problem_solve(problem, reports[i]));
        antler_problem_free(problem);
    }
    assert_true(a.loss == b.loss);
    assert_false(a.loss == c.loss);
}

static void refuses_what_cannot_be(void **state)
{
    (void)state;
    antler_settings s = latent_settings(ANTLER_PRECISION_FLOAT);
    antler_problem *problem = NULL;
    s.warmup = 64;
    CHECK_FAILS(antler_problem_create(&s, 3, 0, &problem), ANTLER_ERROR_ARGUMENT, "warmup");
    s = latent_settings(ANTLER_PRECISION_FLOAT);
    s.rank = 6;
    CHECK_FAILS(antler_problem_create(&s, 3, 0, &problem), ANTLER_ERROR_ARGUMENT, "rank");
    assert_null(problem);
    antler_problem_free(NULL);
}

static void peak_is_a_rate(void **state)
{
    (void)state;
    const double rate = antler_peak_rate(ANTLER_PRECISION_DOUBLE);
    assert_true(isfinite(rate) && rate > 1e7);
    assert_true(antler_threads() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_the_golden_problem),
        cmocka_unit_test(adjoint_states_sum_to_the_gradient_of_h),
        cmocka_unit_test(initialises_by_seed),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(peak_is_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
