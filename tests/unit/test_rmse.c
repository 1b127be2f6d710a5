/* test_rmse.c - RMSE(n) and the other forecast measures: known answers, windows over unequal trajectories,
 * units, divergence. */
#include "model_support.h"

/* z' = z / 2, observed as it is. */
static antler_model *halving(void)
{
    antler_model *model = model_make(1, 1, 1, 0);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "B", (double[]){1.0});
    return model;
}

static void test_exact_model_makes_no_error(void **state)
{
    (void)state;
    antler_model *model = halving();
    double x[60];
    for (int t = 0; t < 60; t++)
        x[t] = ldexp(1.0, -t);
    antler_series *series = series_make(60, 1, x, 0, NULL);
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = 10;
    opts.windows = 7;
    antler_rmse_result r;
    CHECK_OK(antler_rmse(model, series, &opts, &r));
    CHECK_NEAR(r.mean, 0.0, 1e-15);
    assert_int_equal(r.windows, 7);
    assert_int_equal(r.warmup, 0);
    antler_series_free(series);
    antler_model_free(model);
}

/* All windows of two trajectories by hand: after a warm-up the model halves the last row of it. */
static void test_every_window_by_hand(void **state)
{
    (void)state;
    enum { A = 23, B = 15, N = 2, WARM = 3, STEPS = 4 };
    antler_model *model = model_make(N, N, 1, 0);
    model_set(model, "A", (double[]){0.5, -0.25});
    model_set(model, "B", (double[]){1.0, 0.0, 0.0, 1.0});
    double x[(A + B) * N];
    fill_random(x, (A + B) * N, 9);
    antler_series *series = series_make(A, N, x, 0, NULL);
    CHECK_OK(antler_series_append(series, B, x + A * N, NULL));
    CHECK_OK(antler_series_append(series, WARM + STEPS, x, NULL)); /* one row too short: no window */
    double sum = 0.0, sum_user = 0.0;
    size_t count = 0;
    for (size_t start = 0; start < A + B; start++) {
        if ((start < A && start + WARM + STEPS >= A) || start + WARM + STEPS >= A + B)
            continue;
        double z[N] = {x[(start + WARM) * N], x[(start + WARM) * N + 1]}, squares = 0.0, user = 0.0;
        for (size_t k = 1; k <= STEPS; k++) {
            z[0] *= 0.5;
            z[1] *= -0.25;
            const double *truth = x + (start + WARM + k) * N;
            squares += pow(z[0] - truth[0], 2) + pow(z[1] - truth[1], 2);
            user += pow(3.0 * (z[0] - truth[0]), 2) + pow(5.0 * (z[1] - truth[1]), 2);
        }
        sum += sqrt(squares / STEPS);
        sum_user += sqrt(user / STEPS);
        count++;
    }
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = STEPS;
    opts.warmup = WARM;
    opts.windows = 1000; /* more than there are */
    antler_rmse_result r;
    CHECK_OK(antler_rmse(model, series, &opts, &r));
    assert_int_equal(r.windows, count);
    CHECK_NEAR(r.mean, sum / (double)count, 1e-13);
    assert_true(r.sd > 0.0 && r.median > 0.0);
    const double mean[N] = {0.0, 0.0}, scale[N] = {3.0, 5.0};
    CHECK_OK(ant_model_set_scaling(model, mean, scale));
    opts.model_units = true;
    opts.user_units = true;
    CHECK_OK(antler_rmse(model, series, &opts, &r));
    CHECK_NEAR(r.mean, sum_user / (double)count, 1e-13);
    opts.windows = 1; /* the first place */
    CHECK_OK(antler_rmse(model, series, &opts, &r));
    assert_int_equal(r.windows, 1);
    CHECK_NEAR(r.sd, 0.0, 0.0);
    antler_series_free(series);
    antler_model_free(model);
}

/* Each forecast measure on a series of two rows and one window: 4, 1 forecast as 2. */
static void test_other_measures_by_hand(void **state)
{
    (void)state;
    antler_model *model = halving();
    antler_series *series = series_make(2, 1, (double[]){4.0, 1.0}, 0, NULL);
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = 1;
    antler_rmse_result r;
    CHECK_OK(antler_forecast(model, series, "rmse", &opts, &r));
    CHECK_NEAR(r.mean, 1.0, 1e-15);
    CHECK_OK(antler_forecast(model, series, "smape", &opts, &r));
    CHECK_NEAR(r.mean, 200.0 / 3.0, 1e-8);
    CHECK_OK(antler_forecast(model, series, "mase", &opts, &r));
    CHECK_NEAR(r.mean, 1.0 / 3.0, 1e-15);
    CHECK_OK(antler_forecast(model, series, "prediction_error", &opts, &r));
    CHECK_NEAR(r.mean, 1.0, 1e-15);
    CHECK_OK(antler_forecast(model, series, "valid_time", &opts, &r));
    CHECK_NEAR(r.mean, 1.0, 0.0);
    assert_int_equal(r.censored, 0);
    opts.exponent = 0.5;
    CHECK_FAILS(antler_forecast(model, series, "valid_time", &opts, &r), ANTLER_ERROR_ARGUMENT,
                "per unit of time");
    CHECK_OK(antler_series_set_dt(series, 0.1));
    CHECK_OK(antler_forecast(model, series, "valid_time", &opts, &r));
    CHECK_NEAR(r.mean, 0.05, 1e-15); /* one row, 0.1 time units of 0.5 Lyapunov times each */
    opts.exponent = -1.0;
    CHECK_FAILS(antler_forecast(model, series, "valid_time", &opts, &r), ANTLER_ERROR_ARGUMENT, "exponent");
    antler_series_free(series);
    antler_model_free(model);
}

/* What has no value is named, and is never a silent NaN. */
static void test_measures_that_are_not_defined(void **state)
{
    (void)state;
    antler_model *model = halving();
    antler_series *constant = series_make(5, 1, (double[]){2, 2, 2, 2, 2}, 0, NULL);
    antler_series *gap = series_make(5, 1, (double[]){2, 3, INFINITY, 2, 1}, 0, NULL);
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = 2;
    antler_rmse_result r;
    CHECK_FAILS(antler_forecast(model, constant, "mase", &opts, &r), ANTLER_ERROR_DATA,
                "MASE is not defined");
    CHECK_OK(antler_forecast(model, constant, "smape", &opts, &r));
    CHECK_FAILS(antler_forecast(model, gap, "smape", &opts, &r), ANTLER_ERROR_DATA, "infinite");
    CHECK_FAILS(antler_rmse(model, gap, &opts, &r), ANTLER_ERROR_DATA, "infinite");
    CHECK_FAILS(antler_forecast(model, constant, "dstsp", &opts, &r), ANTLER_ERROR_ARGUMENT, "'dstsp'");
    CHECK_FAILS(antler_forecast(model, constant, "none", &opts, &r), ANTLER_ERROR_ARGUMENT, "'none'");
    double value;
    CHECK_FAILS(antler_forecast_error("rmse", &value, &value, 0, 1, 0.0, &value), ANTLER_ERROR_ARGUMENT,
                "empty");
    antler_series_free(gap);
    antler_series_free(constant);
    antler_model_free(model);
}

/* z' = z / 2 + s: the inputs of the window's own rows enter, in the warm-up and after it. */
static void test_inputs(void **state)
{
    (void)state;
    antler_model *model = model_make(1, 1, 1, 1);
    model_set(model, "A", (double[]){0.5});
    model_set(model, "C", (double[]){1.0});
    model_set(model, "B", (double[]){1.0});
    double x[40] = {0.7}, s[40];
    fill_random(s, 40, 2);
    for (int t = 1; t < 40; t++)
        x[t] = 0.5 * x[t - 1] + s[t];
    antler_series *series = series_make(40, 1, x, 1, s);
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = 6;
    opts.warmup = 2;
    antler_rmse_result r;
    CHECK_OK(antler_rmse(model, series, &opts, &r));
    CHECK_NEAR(r.mean, 0.0, 1e-14);
    antler_series_free(series);
    antler_model_free(model);
}

static void test_divergence_and_faults(void **state)
{
    (void)state;
    antler_model *model = halving();
    double x[50];
    for (int t = 0; t < 50; t++)
        x[t] = t < 25 ? -1.0 : 1.0; /* grows from positive values only */
    model_set(model, "W", (double[]){9.5});
    model_set(model, "V", (double[]){1.0});
    antler_series *series = series_make(50, 1, x, 0, NULL);
    antler_rmse_opts opts;
    antler_rmse_opts_default(&opts);
    opts.steps = 10;
    antler_rmse_result r;
    CHECK_FAILS(antler_rmse(model, series, &opts, &r), ANTLER_DIVERGED, "15 of 40 windows");
    assert_int_equal(r.diverged, 15);
    assert_true(isinf(r.mean) && isfinite(r.median));
    CHECK_FAILS(antler_forecast(model, series, "valid_time", &opts, &r), ANTLER_DIVERGED, "15 of 40 windows");
    assert_true(isfinite(r.mean) && r.mean >= 1.0 && isfinite(r.sd));
    opts.steps = 50;
    CHECK_FAILS(antler_rmse(model, series, &opts, &r), ANTLER_ERROR_DATA, "51 rows");
    opts.steps = 0;
    CHECK_FAILS(antler_rmse(model, series, &opts, &r), ANTLER_ERROR_ARGUMENT, "at least one step");
    antler_series_free(series);
    antler_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_model_makes_no_error),
        cmocka_unit_test(test_every_window_by_hand),
        cmocka_unit_test(test_other_measures_by_hand),
        cmocka_unit_test(test_measures_that_are_not_defined),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_divergence_and_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
