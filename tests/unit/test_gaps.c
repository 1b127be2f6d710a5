/* Missing values outside of the solvers (spec 12): series, windows, warm-ups, measures. */
#include "data/missing.h"
#include "measure/compare.h"
#include "model/runner.h"
#include "train/dataset.h"
#include "train/held_back.h"

#include "unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static antler_series *series_of(size_t rows, size_t N, const double *x)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(N, 0, &series));
    CHECK_OK(antler_series_append(series, rows, x, NULL));
    return series;
}

/* Smooth, with two variables of different speed.  x: (rows, 2) */
static void fill_waves(double *x, size_t rows)
{
    for (size_t t = 0; t < rows; t++) {
        x[2 * t] = sin(0.11 * (double)t) + 0.3 * sin(0.37 * (double)t);
        x[2 * t + 1] = cos(0.17 * (double)t);
    }
}

/* ---- series -------------------------------------------------------------------------------------------- */

static void counts_and_checks(void **state)
{
    (void)state;
    const double x[] = {1, 2, NAN, 3, 4, NAN, 5, 6}, none[] = {NAN, 1, NAN, 2, NAN, 3};
    const double wild[] = {1, 2, INFINITY, NAN, 3, 4};
    antler_series *series = series_of(4, 2, x), *empty = series_of(3, 2, none), *bad = series_of(3, 2, wild);
    size_t missing = 0, values = 0;
    CHECK_OK(ant_series_missing(series, &missing, &values));
    assert_int_equal(missing, 2);
    assert_int_equal(values, 8);
    CHECK_FAILS(antler_series_check(series, 2), ANTLER_ERROR_DATA, "value is NaN in row 2");
    CHECK_OK(ant_series_check_gaps(series, 2, false));
    CHECK_FAILS(ant_series_check_gaps(empty, 2, false), ANTLER_ERROR_DATA, "has no value at all");
    CHECK_FAILS(ant_series_check_gaps(bad, 2, false), ANTLER_ERROR_DATA, "infinite in row 2");
    antler_series_free(series);
    antler_series_free(empty);
    antler_series_free(bad);
}

static void inputs_are_complete(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4}, s[] = {0, NAN, 1, 1};
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(1, 1, &series));
    CHECK_OK(antler_series_append(series, 4, x, s));
    CHECK_FAILS(ant_series_check_gaps(series, 2, false), ANTLER_ERROR_DATA, "inputs have no missing values");
    CHECK_OK(ant_series_check_gaps(series, 2, true));
    antler_series_free(series);
}

static void cuts_between_incomplete_rows(void **state)
{
    (void)state;
    const double x[] = {NAN, 0, 1, 1, 2, 2, 3, NAN, 4, 4, NAN, NAN, 6, 6, 7, 7, 8, 8};
    antler_series *series = series_of(9, 2, x), *cut = NULL;
    size_t longest = 0;
    double row[2];
    CHECK_OK(antler_series_set_dt(series, 0.5));
    CHECK_OK(ant_series_cut(series, 2, &cut, &longest));
    assert_int_equal(antler_series_count(cut), 2); /* rows 1-2 and 6-8; row 4 is too short */
    assert_int_equal(antler_series_length(cut, 0), 2);
    assert_int_equal(antler_series_length(cut, 1), 3);
    assert_int_equal(longest, 3);
    assert_true(antler_series_dt(cut) == 0.5);
    CHECK_OK(antler_series_read_f64(cut, 1, 0, 1, row, NULL));
    assert_true(row[0] == 6 && row[1] == 6);
    antler_series_free(cut);
    antler_series_free(series);
}

static void interpolates_short_gaps(void **state)
{
    (void)state;
    const double x[] = {NAN, 1, NAN, 3, NAN, NAN, NAN, 11, NAN};
    const double two[] = {NAN, 1, 2, 3, NAN, NAN, NAN, 11, NAN}, three[] = {NAN, 1, 2, 3, 5, 7, 9, 11, NAN};
    antler_series *series = series_of(9, 1, x), *copy = NULL;
    for (size_t longest = 2; longest <= 3; longest++) {
        size_t filled = 0;
        double out[9];
        CHECK_OK(ant_series_interpolate(series, longest, &copy, &filled));
        CHECK_OK(antler_series_read_f64(copy, 0, 0, 9, out, NULL));
        assert_int_equal(filled, longest == 2 ? 1 : 4);
        for (size_t t = 0; t < 9; t++) {
            const double want = longest == 2 ? two[t] : three[t];
            assert_true(isnan(want) ? isnan(out[t]) : fabs(out[t] - want) < 1e-14);
        }
        antler_series_free(copy);
    }
    antler_series_free(series);
}

/* ---- patterns ------------------------------------------------------------------------------------------ */

/* Each once, in order of appearance, and found again by its bits; 70 variables take two words. */
static void patterns_are_listed(void **state)
{
    (void)state;
    enum { N = 70, ROWS = 300, PATTERNS = 90 };
    float *x = calloc(ROWS * N, sizeof *x);
    ant_lacks l;
    assert_non_null(x);
    for (size_t t = 0; t < ROWS; t++) /* pattern p = t % 91 lacks variables p - 1 and 69, pattern 0 nothing */
        for (size_t n = 0; n < N && t % (PATTERNS + 1) > 0; n++)
            if (n == (t % (PATTERNS + 1) - 1) % N || (n == N - 1 && t % (PATTERNS + 1) <= N))
                x[t * N + n] = NAN;
    size_t missing = 0;
    for (size_t i = 0; i < ROWS * N; i++)
        missing += isnan(x[i]) != 0;
    CHECK_OK(ant_lacks_find(x, ROWS, N, true, &l));
    assert_int_equal(l.missing, missing);
    assert_int_equal(l.count, PATTERNS);
    assert_int_equal(l.words, 2);
    assert_true(l.buckets > 2 * l.count);
    for (size_t k = 0; k < l.count; k++) {
        const uint64_t *bits = l.bits + 2 * k;
        size_t bucket = ant_lacks_bucket(&l, bits);
        while (l.table[bucket] != k + 1) {
            assert_int_not_equal(l.table[bucket], 0);
            bucket = (bucket + 1) & (l.buckets - 1);
        }
        assert_true((bits[k % N / 64] >> k % N % 64 & 1) != 0);
        assert_int_equal(bits[1] >> (N - 1 - 64) & 1, k < N);
    }
    ant_lacks_free(&l);
    free(x);
}

/* ---- windows ------------------------------------------------------------------------------------------- */

/* A start has a value in its first row and one after the warm-up, by trying all. */
static void windows_begin_where_values_are(void **state)
{
    (void)state;
    enum { ROWS = 60, T = 7, WARMUP = 3 };
    double x[ROWS * 2];
    fill_waves(x, ROWS);
    for (size_t t = 0; t < ROWS; t++) {
        if (t % 9 > 3 || (t > 20 && t < 40))
            x[2 * t] = NAN;
        if (t % 5 == 2 || (t > 20 && t < 40))
            x[2 * t + 1] = NAN;
    }
    antler_series *series = series_of(ROWS, 2, x);
    for (int precision = 0; precision < 2; precision++) {
        ant_dataset *d = NULL;
        CHECK_OK(ant_dataset_create(series, T, true, (antler_precision)precision, &d));
        CHECK_OK(ant_dataset_find_gaps(d, (antler_precision)precision, WARMUP));
        size_t count = 0, missing = 0;
        for (size_t first = 0; first + T < ROWS; first++) {
            bool later = false;
            for (size_t t = first + WARMUP + 1; t <= first + T; t++)
                later = later || !isnan(x[2 * t]) || !isnan(x[2 * t + 1]);
            if (later && !(isnan(x[2 * first]) && isnan(x[2 * first + 1])))
                assert_int_equal(d->eligible[count++], first);
        }
        for (size_t i = 0; i < ROWS * 2; i++)
            missing += isnan(x[i]) != 0;
        assert_int_equal(d->eligible_count, count);
        assert_int_equal(d->lacks.missing, missing);
        assert_int_equal(d->lacks.count, 3); /* one, the other, both */
        const ant_windows windows = ant_dataset_windows(d);
        size_t rows[200], seen = 0;
        ant_windows_draw(&windows, 1, 1, 1, 200, rows);
        for (size_t i = 0; i < 200; i++) {
            for (size_t k = 0; k < count; k++)
                seen += d->eligible[k] == rows[i];
        }
        assert_int_equal(seen, 200);
        ant_dataset_free(d);
    }
    antler_series_free(series);
}

static void complete_data_have_all_starts(void **state)
{
    (void)state;
    double x[2 * 50];
    fill_waves(x, 50);
    antler_series *series = series_of(50, 2, x);
    ant_dataset *d = NULL;
    CHECK_OK(ant_dataset_create(series, 10, true, ANTLER_PRECISION_FLOAT, &d));
    CHECK_OK(ant_dataset_find_gaps(d, ANTLER_PRECISION_FLOAT, 0));
    assert_int_equal(d->lacks.missing, 0);
    assert_int_equal(d->lacks.count, 0);
    assert_null(d->eligible);
    ant_dataset_free(d);
    for (size_t t = 0; t < 50; t++) /* one value in 20 rows, at the end of every window that has it */
        x[2 * t] = x[2 * t + 1] = t == 49 ? 1.0 : NAN;
    x[1] = 0.5;
    antler_series *sparse = series_of(50, 2, x);
    CHECK_OK(ant_dataset_create(sparse, 10, false, ANTLER_PRECISION_FLOAT, &d));
    CHECK_FAILS(ant_dataset_find_gaps(d, ANTLER_PRECISION_FLOAT, 0), ANTLER_ERROR_DATA,
                "too much is missing");
    ant_dataset_free(d);
    antler_series_free(sparse);
    antler_series_free(series);
}

/* ---- warm-up of free runs ------------------------------------------------------------------------------ */

static antler_model *random_model(ant_model_dims dims)
{
    antler_model *model = NULL;
    CHECK_OK(ant_model_create(&dims, &model));
    for (size_t i = 0; i < model->layout.total; i++)
        model->parameters[i] = 0.4 * sin(1.7 * (double)i + 0.3);
    ant_model_refresh(model);
    return model;
}

/* A model whose prediction is written into the data that are missing reaches the same state. */
static void own_predictions_stand_in(void **state)
{
    (void)state;
    const ant_model_id kinds[] = {ANT_MODEL_LSSM, ANT_MODEL_MAMBA2};
    for (size_t k = 0; k < 2; k++) {
        const ant_model_dims d = {.kind = kinds[k], .M = 8, .N = 2, .L = 6};
        antler_model *model = random_model(d);
        ant_runner *r = NULL;
        CHECK_OK(ant_runner_create(model, &r));
        double x[2 * 20], *gaps = malloc(sizeof x), *a = calloc(r->n, sizeof *a),
                          *b = calloc(r->n, sizeof *b);
        double *next = calloc(r->n, sizeof *next), predicted[2];
        fill_waves(x, 20);
        memcpy(gaps, x, sizeof x);
        for (size_t t = 6; t < 10; t++) /* both variables in rows 6 and 7, one in 8 and 9 */
            gaps[2 * t] = gaps[2 * t + 1] = t < 8 ? NAN : gaps[2 * t + 1];
        gaps[2 * 8] = gaps[2 * 9] = gaps[0] = NAN;
        x[0] = 0.0;
        for (size_t t = 6; t < 10; t++) {
            ant_runner_warm(r, x, NULL, t, b);
            ant_runner_steps(r, b, NULL, 1, next, predicted);
            for (size_t n = 0; n < 2; n++)
                x[2 * t + n] = isnan(gaps[2 * t + n]) ? predicted[n] : x[2 * t + n];
        }
        ant_runner_warm(r, gaps, NULL, 20, a);
        ant_runner_warm(r, x, NULL, 20, b);
        for (size_t i = 0; i < r->n; i++)
            assert_true(fabs(a[i] - b[i]) < 1e-12);
        free(next);
        free(b);
        free(a);
        free(gaps);
        ant_runner_free(r);
        antler_model_free(model);
    }
}

/* The forced state of a shPLRNN agrees with what is observed and does not move where nothing is. */
static void warm_up_uses_what_is_there(void **state)
{
    (void)state;
    const ant_model_dims d = {.kind = ANT_MODEL_SHPLRNN, .M = 5, .N = 3, .L = 8};
    antler_model *model = random_model(d);
    ant_runner *r = NULL;
    CHECK_OK(ant_runner_create(model, &r));
    const double x[] = {0.3, -0.2, 0.5, NAN, 0.7, NAN, NAN, NAN, NAN};
    const double *B = model->parameters + model->layout.B;
    double one[5], free_state[5], two[5], three[5], seen[3];
    ant_runner_warm(r, x, NULL, 1, one);
    ant_runner_steps(r, one, NULL, 1, free_state, seen);
    ant_runner_warm(r, x, NULL, 2, two);
    double observed = 0.0, along = 0.0;
    for (size_t m = 0; m < 5; m++) {
        observed += B[5 + m] * two[m];
        along += B[5 + m] * B[5 + m];
    }
    assert_true(fabs(observed - 0.7) < 1e-12);
    for (size_t m = 0; m < 5; m++) /* the shortest way there: along the row of B */
        assert_true(fabs(two[m] - free_state[m] - (0.7 - seen[1]) / along * B[5 + m]) < 1e-12);
    ant_runner_warm(r, x, NULL, 3, three);
    ant_runner_steps(r, two, NULL, 1, free_state, seen);
    for (size_t m = 0; m < 5; m++)
        assert_true(fabs(three[m] - free_state[m]) < 1e-12);
    ant_runner_free(r);
    antler_model_free(model);
}

/* ---- measures ------------------------------------------------------------------------------------------ */

/* D_stsp by histograms of the rows that are left equals that of a set with these rows alone. */
static void incomplete_points_are_dropped(void **state)
{
    (void)state;
    enum { ROWS = 600 };
    double x[ROWS * 2], y[ROWS * 2], kept[ROWS * 2];
    size_t count = 0;
    fill_waves(x, ROWS);
    fill_waves(y, ROWS);
    for (size_t t = 0; t < ROWS; t++) {
        y[2 * t] *= 0.8;
        if (t % 7 == 3)
            x[2 * t + t % 2] = NAN;
        else
            memcpy(kept + 2 * count++, x + 2 * t, 2 * sizeof *x);
    }
    antler_series *with = series_of(ROWS, 2, x), *other = series_of(ROWS, 2, y),
                  *alone = series_of(count, 2, kept);
    antler_measure_opts opts;
    antler_measure_result a = {0}, b = {0}, c = {0};
    antler_measure_opts_default(&opts);
    opts.dstsp = ANTLER_DSTSP_BINS;
    opts.bins = 12;
    CHECK_OK(antler_measure(with, other, &opts, &a));
    CHECK_OK(antler_measure(alone, other, &opts, &b));
    assert_int_equal(a.true_points, count);
    assert_true(a.dstsp == b.dstsp && a.dstsp > 0.0);
    CHECK_FAILS(antler_measure(other, with, &opts, &c), ANTLER_DIVERGED, "not finite");
    antler_measure_result_clear(&c);
    CHECK_OK(ant_measure_data(other, with, &opts, &c));
    assert_int_equal(c.generated_points, count);
    antler_measure_result_clear(&a);
    antler_measure_result_clear(&b);
    antler_measure_result_clear(&c);
    antler_series_free(with);
    antler_series_free(other);
    antler_series_free(alone);
}

/* D_H is that of the longest stretch, with the smoothing of the same width in frequency. */
static void spectra_of_the_longest_stretch(void **state)
{
    (void)state;
    enum { ROWS = 1000, FIRST = 301, COUNT = 400 };
    double x[ROWS * 2], y[ROWS * 2];
    fill_waves(x, ROWS);
    fill_waves(y, ROWS);
    for (size_t t = 0; t < ROWS; t++)
        y[2 * t] += sin(0.9 * (double)t);
    antler_series *whole = series_of(COUNT, 2, x + 2 * FIRST), *part = series_of(COUNT, 2, y + 2 * FIRST);
    x[2 * 300] = x[2 * 300 + 1] = x[2 * 701] = x[2 * 701 + 1] = NAN;
    antler_series *with = series_of(ROWS, 2, x), *other = series_of(ROWS, 2, y);
    antler_measure_opts opts;
    antler_measure_result a = {0}, b = {0};
    antler_measure_opts_default(&opts);
    opts.dstsp = ANTLER_DSTSP_BINS;
    CHECK_OK(antler_measure(with, other, &opts, &a));
    opts.smoothing *= (double)COUNT / ROWS;
    CHECK_OK(antler_measure(whole, part, &opts, &b));
    assert_int_equal(a.hellinger_rows, COUNT);
    assert_true(fabs(a.hellinger - b.hellinger) < 1e-12 && a.hellinger > 0.01);
    antler_measure_result_clear(&a);
    antler_measure_result_clear(&b);
    antler_series_free(with);
    antler_series_free(other);
    antler_series_free(whole);
    antler_series_free(part);
}

/* The errors of forecasts by hand, with values missing. */
static void forecast_errors_skip_what_is_missing(void **state)
{
    (void)state;
    const double x[] = {1, NAN, NAN, NAN, 3, 5}, xhat[] = {2, 9, 9, 9, 3, 2}, lost[] = {1, 2, NAN, NAN};
    double value = 0.0;
    CHECK_OK(antler_forecast_error("rmse", x, xhat, 3, 2, 1.0, &value));
    assert_true(fabs(value - sqrt((1.0 + 0.0 + 9.0) / 1.5)) <
                1e-12); /* three values are one and a half rows */
    CHECK_OK(antler_forecast_error("mase", x, xhat, 3, 2, 2.0, &value));
    assert_true(fabs(value - 4.0 / 3.0 / 2.0) < 1e-12);
    CHECK_OK(antler_forecast_error("smape", x, xhat, 3, 2, 1.0, &value));
    assert_true(fabs(value - 200.0 * (1.0 / 3.0 + 3.0 / 7.0) / 3.0) < 1e-6);
    CHECK_OK(antler_forecast_error("prediction_error", x, xhat, 3, 2, 1.0, &value));
    assert_true(fabs(value - 4.5) < 1e-12);
    CHECK_FAILS(antler_forecast_error("prediction_error", lost, xhat, 2, 2, 1.0, &value), ANTLER_ERROR_DATA,
                "are missing");
}

/* Windows of an evaluation: a model that predicts all rows exactly does so with gaps, too. */
static void exact_forecasts_stay_exact(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    double x[ROWS * 2];
    const ant_model_dims d = {.kind = ANT_MODEL_SHPLRNN, .M = 2, .N = 2, .L = 1};
    antler_model *model = NULL;
    antler_rmse_opts opts;
    CHECK_OK(ant_model_create(&d, &model));
    memset(model->parameters, 0, model->layout.total * sizeof *model->parameters);
    model->parameters[model->layout.Abar] = atanh(0.99);
    model->parameters[model->layout.Abar + 1] = atanh(-0.98);
    model->parameters[model->layout.B] = model->parameters[model->layout.B + 3] = 1.0;
    ant_model_refresh(model);
    for (size_t t = 0; t < ROWS; t++) {
        x[2 * t] = pow(0.99, (double)t);
        x[2 * t + 1] = pow(-0.98, (double)t);
    }
    for (size_t t = 0; t < ROWS; t++) {
        if (t % 11 > 7)
            x[2 * t] = x[2 * t + 1] = NAN; /* starts are complete rows or none */
    }
    antler_series *series = series_of(ROWS, 2, x);
    antler_rmse_opts_default(&opts);
    opts.steps = 9;
    opts.warmup = 0;
    opts.windows = 60;
    static const char *const names[] = {"rmse", "prediction_error", "mase"};
    for (size_t k = 0; k < 3; k++) {
        antler_rmse_result result = {0};
        CHECK_OK(antler_forecast(model, series, names[k], &opts, &result));
        assert_true(result.mean < 1e-9);
        assert_true(result.persistence > 1e-6 && result.average > 1e-6);
        if (k == 1) /* row 9 after a start is missing for some */
            assert_in_range(result.windows, 10, 59);
        else
            assert_int_equal(result.windows, 60);
    }
    antler_series_free(series);
    antler_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_checks),
        cmocka_unit_test(inputs_are_complete),
        cmocka_unit_test(cuts_between_incomplete_rows),
        cmocka_unit_test(interpolates_short_gaps),
        cmocka_unit_test(patterns_are_listed),
        cmocka_unit_test(windows_begin_where_values_are),
        cmocka_unit_test(complete_data_have_all_starts),
        cmocka_unit_test(own_predictions_stand_in),
        cmocka_unit_test(warm_up_uses_what_is_there),
        cmocka_unit_test(incomplete_points_are_dropped),
        cmocka_unit_test(spectra_of_the_longest_stretch),
        cmocka_unit_test(forecast_errors_skip_what_is_missing),
        cmocka_unit_test(exact_forecasts_stay_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
