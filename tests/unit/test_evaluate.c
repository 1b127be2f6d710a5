/* test_evaluate.c - all measures of a model: exact, wrong, diverging; units; agreement of the parts. */
#include "model_support.h"

/* A turn by `angle` and a stretch by `factor`, as W [phi(z); phi(-z)]. */
static antler_model *turning(double angle, double factor)
{
    antler_model *model = model_make(2, 2, 4, 0);
    const double c = factor * cos(angle), s = factor * sin(angle);
    model_set(model, "W", (double[]){c, -s, -c, s, s, c, -s, -c});
    model_set(model, "V", (double[]){1, 0, 0, 1, -1, 0, 0, -1});
    model_set(model, "B", (double[]){1, 0, 0, 1});
    return model;
}

static antler_series *circle(size_t length, double angle, double phase)
{
    double *x = malloc(2 * length * sizeof *x);
    for (size_t t = 0; t < length; t++) {
        x[2 * t] = cos(angle * (double)t + phase);
        x[2 * t + 1] = sin(angle * (double)t + phase);
    }
    antler_series *series = series_make(length, 2, x, 0, NULL);
    free(x);
    return series;
}

static antler_evaluate_opts options(void)
{
    antler_evaluate_opts opts;
    antler_evaluate_opts_default(&opts);
    opts.measure.samples = 400;
    opts.rmse.steps = 20;
    opts.lyapunov.steps = 500;
    opts.lyapunov.transient = 10;
    return opts;
}

static void test_exact_model(void **state)
{
    (void)state;
    antler_model *model = turning(0.37, 1.0);
    antler_series *truth = circle(900, 0.37, 0.2);
    antler_evaluate_opts opts = options();
    opts.measure.embed_dim = 2;
    opts.measure.embed_delay = 3;
    antler_evaluate_result r;
    CHECK_OK(antler_evaluate(model, truth, &opts, &r));
    assert_false(r.diverged);
    assert_int_equal(r.free_steps, 2700);
    assert_int_equal(r.plain.true_points, 900);
    assert_int_equal(r.plain.generated_points, 2700);
    assert_true(fabs(r.plain.dstsp) < 1e-3);
    assert_true(r.plain.hellinger < 0.02);
    assert_true(r.has_embedded && fabs(r.embedded.dstsp) < 1e-3);
    assert_int_equal(r.embedded.dstsp_dim, 4);
    CHECK_NEAR(r.rmse.mean, 0.0, 1e-12);
    assert_int_equal(r.rmse.windows, 100);
    CHECK_NEAR(r.lyapunov.exponents[0], 0.0, 1e-12);
    CHECK_NEAR(r.lyapunov.exponents[1], 0.0, 1e-12);
    const double values[] = {r.plain.dstsp, r.embedded.dstsp,        r.plain.hellinger,
                             r.rmse.mean,   r.lyapunov.exponents[0], r.lyapunov.kaplan_yorke};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        CHECK_NEAR(r.values[i], values[i], 0.0);
    assert_int_equal(r.forecasts[antler_measure_index("rmse")].windows, 100);
    assert_int_equal(r.forecasts[antler_measure_index("prediction_error")].steps, 20);
    assert_int_equal(r.forecasts[antler_measure_index("valid_time")].steps, 450); /* half of the rows */
    assert_int_equal(r.forecasts[antler_measure_index("valid_time")].censored, 100);
    CHECK_NEAR(r.values[antler_measure_index("valid_time")], 450.0, 0.0);
    antler_evaluate_result_clear(&r);
    antler_series_free(truth);
    antler_model_free(model);
}

/* The parts agree with the bare calls on the orbit of antler_generate. */
static void test_parts_are_the_bare_calls(void **state)
{
    (void)state;
    antler_model *model = turning(1.5, 0.9995);
    antler_series *truth = circle(600, 0.37, 0.2), *orbit = NULL;
    antler_evaluate_opts opts = options();
    opts.steps = 700;
    opts.warmup = 5;
    antler_evaluate_result r;
    CHECK_OK(antler_evaluate(model, truth, &opts, &r));
    antler_generate_opts generate;
    antler_generate_opts_default(&generate);
    generate.start.context = truth;
    generate.start.warmup = 5;
    generate.steps = 700;
    CHECK_OK(antler_generate(model, &generate, &orbit, NULL));
    antler_measure_result m;
    CHECK_OK(antler_measure(truth, orbit, &opts.measure, &m));
    CHECK_NEAR(r.plain.dstsp, m.dstsp, 1e-12);
    CHECK_NEAR(r.plain.hellinger, m.hellinger, 1e-12);
    CHECK_NEAR(r.plain.sd_generated[1], m.sd_generated[1], 1e-12);
    assert_true(r.plain.hellinger > 0.3 && r.rmse.mean > 0.3);
    assert_int_equal(r.warmup, 5);
    antler_measure_result_clear(&m);
    antler_evaluate_result_clear(&r);
    opts.with_dstsp = opts.with_rmse = opts.with_lyapunov = false;
    CHECK_OK(antler_evaluate(model, truth, &opts, &r));
    assert_true(isnan(r.plain.dstsp) && r.plain.hellinger > 0.3);
    assert_int_equal(r.rmse.windows + r.lyapunov.count, 0);
    for (size_t i = 0; i < ANTLER_MEASURE_MAX; i++)
        assert_true(isnan(r.values[i]) == !antler_evaluate_wants(&opts, i));
    antler_evaluate_result_clear(&r);
    antler_series_free(orbit);
    antler_series_free(truth);
    antler_model_free(model);
}

/* In user units the errors are larger by the scale; D_stsp and D_H are the same. */
static void test_units(void **state)
{
    (void)state;
    antler_model *model = turning(0.4, 1.0);
    antler_series *truth = circle(500, 0.37, 0.1), *raw = NULL;
    CHECK_OK(antler_series_create(2, 0, &raw));
    double *x = series_values(truth);
    for (size_t i = 0; i < 1000; i++)
        x[i] = 7.0 * x[i] + 100.0;
    CHECK_OK(antler_series_append(raw, 500, x, NULL));
    free(x);
    antler_evaluate_opts opts = options();
    antler_evaluate_result plain, user;
    CHECK_OK(antler_evaluate(model, truth, &opts, &plain));
    const double mean[] = {100.0, 100.0}, scale[] = {7.0, 7.0};
    CHECK_OK(ant_model_set_scaling(model, mean, scale));
    opts.user_units = true;
    CHECK_OK(antler_evaluate(model, raw, &opts, &user));
    CHECK_NEAR(user.plain.dstsp, plain.plain.dstsp, 1e-8);
    CHECK_NEAR(user.plain.hellinger, plain.plain.hellinger, 1e-9);
    CHECK_NEAR(user.rmse.mean, 7.0 * plain.rmse.mean, 1e-9);
    CHECK_NEAR(user.plain.mean_true[0], 7.0 * plain.plain.mean_true[0] + 100.0, 1e-9);
    CHECK_NEAR(user.plain.sd_generated[1], 7.0 * plain.plain.sd_generated[1], 1e-9);
    antler_evaluate_result_clear(&user);
    opts.user_units = false;
    CHECK_OK(antler_evaluate(model, raw, &opts, &user));
    CHECK_NEAR(user.rmse.mean, plain.rmse.mean, 1e-9);
    CHECK_NEAR(user.plain.mean_generated[1], plain.plain.mean_generated[1], 1e-9);
    antler_evaluate_result_clear(&user);
    antler_evaluate_result_clear(&plain);
    antler_series_free(raw);
    antler_series_free(truth);
    antler_model_free(model);
}

static void test_divergence_is_an_outcome(void **state)
{
    (void)state;
    antler_model *model = turning(0.37, 2.0);
    antler_series *truth = circle(300, 0.37, 0.1);
    antler_evaluate_opts opts = options();
    opts.rmse.steps = 10;
    antler_evaluate_result r;
    CHECK_FAILS(antler_evaluate(model, truth, &opts, &r), ANTLER_DIVERGED, "the free run diverged at step 2");
    assert_true(r.diverged);
    assert_in_range(r.diverged_step, 20, 21);
    assert_true(isnan(r.plain.dstsp) && isnan(r.plain.hellinger));
    assert_true(isfinite(r.rmse.mean) && r.rmse.mean > 100.0);
    assert_true(r.lyapunov.diverged_step > 0 && isnan(r.lyapunov.exponents[0]));
    assert_true(isinf(r.values[antler_measure_index("dstsp")]) &&
                isfinite(r.values[antler_measure_index("rmse")]));
    assert_true(isinf(r.values[antler_measure_index("lyapunov_max")]));
    assert_true(isfinite(r.values[antler_measure_index("valid_time")]));
    antler_evaluate_result_clear(&r);
    antler_series_free(truth);
    antler_model_free(model);
}

/* z' = s: the free run is longer than the inputs, which begin again after the warm-up. */
static void test_inputs_and_many_trajectories(void **state)
{
    (void)state;
    antler_model *model = model_make(1, 1, 1, 1);
    model_set(model, "C", (double[]){1.0});
    model_set(model, "B", (double[]){1.0});
    double s[400];
    fill_random(s, 400, 3);
    antler_series *truth = series_make(250, 1, s, 1, s);
    CHECK_OK(antler_series_append(truth, 150, s + 250, s + 250));
    antler_evaluate_opts opts = options();
    antler_evaluate_result r;
    CHECK_OK(antler_evaluate(model, truth, &opts, &r));
    assert_int_equal(r.free_steps, 1200);
    assert_true(fabs(r.plain.dstsp) < 1e-3);
    CHECK_NEAR(r.rmse.mean, 0.0, 1e-14);
    antler_evaluate_result_clear(&r);
    opts.inputs_end = ANTLER_INPUTS_STOP;
    CHECK_FAILS(antler_evaluate(model, truth, &opts, &r), ANTLER_ERROR_DATA, "rows of inputs");
    antler_series_free(truth);
    antler_model_free(model);
}

static void test_faults(void **state)
{
    (void)state;
    antler_model *model = turning(0.4, 1.0);
    const double x[] = {1, 2, 3, 4, 5, 6};
    antler_series *other = series_make(6, 1, x, 0, NULL);
    antler_evaluate_opts opts = options();
    antler_evaluate_result r;
    CHECK_FAILS(antler_evaluate(model, other, &opts, &r), ANTLER_ERROR_DATA, "1 variable");
    antler_series_free(other);
    antler_model_free(model);
}

static void test_the_table_of_measures(void **state)
{
    (void)state;
    assert_in_range(antler_measure_count(), 6, ANTLER_MEASURE_MAX);
    assert_null(antler_measure_at(antler_measure_count()));
    assert_int_equal(antler_measure_index("nothing"), antler_measure_count());
    for (size_t i = 0; i < antler_measure_count(); i++) {
        const antler_measure_info *m = antler_measure_at(i);
        assert_int_equal(antler_measure_index(m->name), i);
        assert_true(m->label[0] != '\0' && m->meaning[0] != '\0' && m->digits > 0);
        assert_true(strncmp(m->json, "lyapunov", 8) == 0 || strncmp(m->json, m->name, strlen(m->name)) == 0);
        assert_true(isinf(antler_measure_worst(i)) && (antler_measure_worst(i) < 0.0) == (m->better > 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_model),
        cmocka_unit_test(test_parts_are_the_bare_calls),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_divergence_is_an_outcome),
        cmocka_unit_test(test_inputs_and_many_trajectories),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_the_table_of_measures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
