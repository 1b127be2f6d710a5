/* test_validation.c - held-back rows: what is measured there, its floor, and the score that chooses. */
#include "model_support.h"

#include "base/random.h"
#include "data/series.h"
#include "measure/late.h"
#include "measure/noise.h"
#include "measure/validation.h"

/* ---- the score --------------------------------------------------------------------------------------- */

static void test_score(void **state)
{
    (void)state;
    const ant_validation_measures floor = {0.1, 0.05, 0.02};
    const ant_validation_measures below = {0.01, 0.001, 0.0}, twice = {0.2, 0.1, 0.04},
                                  one = {0.05, 0.05, 0.06};
    CHECK_NEAR(ant_validation_score(&floor, &floor), 0.0, 0.0);
    CHECK_NEAR(ant_validation_score(&below, &floor), 0.0, 0.0);
    CHECK_NEAR(ant_validation_score(&twice, &floor), 2.25 * log(2.0), 1e-14);
    CHECK_NEAR(ant_validation_score(&one, &floor), 0.25 * log(3.0), 1e-14);
}

static void test_score_of_diverged(void **state)
{
    (void)state;
    const ant_validation_measures floor = {0.1, 0.05, 0.02};
    for (int i = 0; i < 3; i++) {
        double m[3] = {0.1, 0.05, 0.02};
        m[i] = INFINITY;
        const ant_validation_measures diverged = {m[0], m[1], m[2]};
        assert_true(ant_validation_score(&diverged, &floor) == INFINITY);
        m[i] = NAN;
        const ant_validation_measures unknown = {m[0], m[1], m[2]};
        assert_true(ant_validation_score(&unknown, &floor) == INFINITY);
        assert_true(ant_validation_score(&floor, &unknown) == 0.0); /* a floor that is not known */
    }
}

/* A floor of 0, or below it by chance, is taken for 1e-3: the score stays finite. */
static void test_score_without_floor(void **state)
{
    (void)state;
    const ant_validation_measures none = {-0.01, 0.0, 1e-6}, one = {1e-2, 1e-3, 1e-6};
    CHECK_NEAR(ant_validation_score(&one, &none), log(10.0), 1e-12);
}

/* ---- the measures ------------------------------------------------------------------------------------ */

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

/* Append a turn that begins at `phase`; mean and scale are those of the user's units. */
static void add_circle(antler_series *series, size_t length, double phase, double mean, double scale)
{
    double *x = malloc(2 * length * sizeof *x);
    for (size_t t = 0; t < length; t++) {
        x[2 * t] = mean + scale * cos(0.37 * (double)t + phase);
        x[2 * t + 1] = mean + scale * sin(0.37 * (double)t + phase);
    }
    CHECK_OK(antler_series_append(series, length, x, NULL));
    free(x);
}

static antler_series *circles(size_t first, size_t second)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(2, 0, &series));
    add_circle(series, first, 0.2, 0.0, 1.0);
    if (second > 0)
        add_circle(series, second, 1.7, 0.0, 1.0);
    return series;
}

static ant_validation_measures measure(double angle, double factor, const antler_series *held_back)
{
    antler_model *model = turning(angle, factor);
    ant_validation_opts opts;
    ant_validation_measures m;
    CHECK_OK(ant_validation_choose(held_back, &opts));
    CHECK_OK(ant_validation_measure(model, held_back, &opts, &m));
    antler_model_free(model);
    return m;
}

static void test_measures(void **state)
{
    (void)state;
    antler_series *held_back = circles(700, 40), *others = circles(650, 90); /* 40 and 90 are too short */
    antler_model *model = turning(0.37, 1.0);
    ant_validation_opts opts;
    ant_validation_measures floor;
    CHECK_OK(ant_validation_choose(held_back, &opts));
    assert_true(opts.embed_dim == 1 && opts.steps == 20 && opts.rows == 20000);
    CHECK_OK(ant_validation_floor(model, held_back, others, &opts, &floor));
    assert_true(floor.dstsp < 0.1 && floor.hellinger < 0.1);
    assert_true(floor.prediction_error >= 0.99e-6 && floor.prediction_error < 1e-2);
    const ant_validation_measures exact = measure(0.37, 1.0, held_back);
    const ant_validation_measures slow = measure(0.30, 1.0, held_back);
    const ant_validation_measures collapsed = measure(0.37, 0.8, held_back);
    CHECK_NEAR(exact.prediction_error, 0.0, 1e-20);
    CHECK_NEAR(exact.dstsp, 0.0, 1e-3);
    assert_true(ant_validation_score(&exact, &floor) < 0.1);
    /* The same states in another rhythm: D_H and the forecasts are wrong, D_stsp is not. */
    assert_true(slow.hellinger > 0.3 && slow.prediction_error > 0.1 && slow.dstsp < 0.5);
    assert_true(collapsed.dstsp > 1.0 && collapsed.prediction_error > 0.3);
    assert_true(ant_validation_score(&slow, &floor) > 1.0);
    assert_true(ant_validation_score(&collapsed, &floor) > ant_validation_score(&slow, &floor));
    antler_model_free(model);
    antler_series_free(others);
    antler_series_free(held_back);
}

static double late(double factor, const antler_series *held_back)
{
    antler_model *model = turning(0.37, factor);
    antler_measure_opts opts;
    double value = 0.0;
    antler_measure_opts_default(&opts);
    opts.samples = 1000;
    CHECK_OK(ant_late_dstsp(model, held_back, 800, held_back, NULL, &opts, &value));
    antler_model_free(model);
    return value;
}

/* A radius that shrinks by a thousandth in a step is near 1 beside the data, and small at the end of long
 * runs. */
static void test_ends_of_long_runs(void **state)
{
    (void)state;
    antler_series *held_back = circles(400, 0);
    assert_true(late(1.0, held_back) < 0.05);
    assert_true(late(0.999, held_back) > 0.2);
    assert_true(isinf(late(1.5, held_back)));
    assert_true(late(0.9, held_back) >= 20.0); /* ends in a point */
    assert_true(measure(0.37, 0.999, held_back).dstsp >= late(0.999, held_back) - 0.05);
    const antler_floors floors = {.rows = 400};
    antler_verdict good = {.kind = ANTLER_VERDICT_GOOD, .figure = "dstsp"}, verdict = good;
    ant_verdict_on_late(&floors, false, NAN, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_GOOD);
    ant_verdict_on_late(&floors, false, 0.005, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_GOOD);
    ant_verdict_on_late(&floors, false, 0.05, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_CLOSE);
    ant_verdict_on_late(&floors, false, INFINITY, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_FAR);
    assert_string_equal(verdict.figure, "dstsp_late");
    antler_series_free(held_back);
}

/* Circles at 0.37 for 1600 rows, then at 0.20 for 400. */
static antler_series *two_rates(void)
{
    enum { FIRST = 1600, ALL = 2000 };
    static double x[2 * ALL];
    double angle = 0.0;
    antler_series *series = NULL;
    for (size_t t = 0; t < ALL; t++) {
        x[2 * t] = cos(angle), x[2 * t + 1] = sin(angle);
        angle += t < FIRST ? 0.37 : 0.20;
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, ALL, x, NULL));
    return series;
}

/* A model of the rate at the end is right for the held-back rows, and wrong for all rows. */
static void test_all_rows(void **state)
{
    (void)state;
    antler_series *series = two_rates(), *others = NULL, *held_back = NULL;
    antler_model *model = turning(0.20, 1.0);
    ant_validation_opts opts;
    ant_validation_measures whole;
    CHECK_OK(ant_series_split(series, 0.2, &others, &held_back));
    CHECK_OK(ant_validation_choose(series, &opts));
    const ant_validation_measures last = measure(0.20, 1.0, held_back), unknown = {NAN, NAN, NAN},
                                  floor = {0.05, 0.05, NAN};
    CHECK_OK(ant_validation_compare(model, series, &opts, &whole));
    assert_true(last.hellinger < 0.05 && last.dstsp < 0.05);
    assert_true(whole.hellinger > 0.4 && whole.dstsp < 0.5 && isnan(whole.prediction_error));
    assert_true(ant_validation_score_both(&last, &floor, &unknown, &unknown) == 0.0);
    CHECK_NEAR(ant_validation_score_both(&last, &floor, &whole, &floor),
               log(fmax(whole.dstsp, 0.05) / 0.05) + log(whole.hellinger / 0.05), 1e-12);
    antler_verdict verdict = {.kind = ANTLER_VERDICT_GOOD, .figure = "dstsp"};
    ant_verdict_on_whole(&unknown, &floor, &verdict);
    ant_verdict_on_whole(&last, &floor, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_GOOD);
    ant_verdict_on_whole(&whole, &floor, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_FAR);
    assert_string_equal(verdict.figure, "hellinger_whole");
    assert_non_null(strstr(verdict.text, "Over all rows of the data D_H is"));
    antler_verdict short_data = {.kind = ANTLER_VERDICT_TOO_SHORT};
    ant_verdict_on_whole(&whole, &floor, &short_data);
    assert_int_equal(short_data.kind, ANTLER_VERDICT_TOO_SHORT);
    antler_verdict narrow = {.kind = ANTLER_VERDICT_TOO_SHORT, .figure = "dstsp_narrow"};
    ant_verdict_on_whole(&last, &floor, &narrow);
    assert_int_equal(narrow.kind, ANTLER_VERDICT_TOO_SHORT); /* nothing can make it good */
    ant_verdict_on_whole(&whole, &floor, &narrow);
    assert_int_equal(narrow.kind, ANTLER_VERDICT_FAR);
    /* 10,000 held-back rows of two Lorenz systems, one ten times as slow, whose 50,000 rows have slow = 3800
     */
    verdict = (antler_verdict){.kind = ANTLER_VERDICT_CLOSE, .figure = "dstsp"};
    ant_verdict_on_slow(10000, 0.0, &verdict);
    ant_verdict_on_slow(10000, 500.0, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_CLOSE);
    ant_verdict_on_slow(10000, 3800.0, &verdict);
    assert_int_equal(verdict.kind, ANTLER_VERDICT_TOO_SHORT);
    assert_non_null(strstr(verdict.text, "changes over 3800 rows, of which these 10000 rows have 2.6."));
    antler_verdict left = {.kind = ANTLER_VERDICT_LEFT_RANGE};
    ant_verdict_on_slow(10000, 3800.0, &left);
    assert_int_equal(left.kind, ANTLER_VERDICT_LEFT_RANGE);
    antler_model_free(model);
    antler_series_free(held_back);
    antler_series_free(others);
    antler_series_free(series);
}

/* z' = 1 + slope |z|: a map whose delay vectors lie on a line with corners. */
static antler_model *tent(double slope)
{
    antler_model *model = model_make(1, 1, 2, 0);
    model_set(model, "W", (double[]){slope, slope});
    model_set(model, "V", (double[]){1, -1});
    model_set(model, "h", (double[]){1});
    model_set(model, "B", (double[]){1});
    return model;
}

static antler_series *tent_rows(size_t length, double slope)
{
    double *x = malloc(length * sizeof *x), z = 0.3;
    for (size_t t = 0; t < length; t++) {
        x[t] = z;
        z = 1.0 + slope * fabs(z);
    }
    antler_series *series = series_make(length, 1, x, 0, NULL);
    free(x);
    return series;
}

/* What a fit says of a model: on held-back rows, then on all rows.  by_bins: the same on all rows by
 * histograms, over the limit of `close`. */
static antler_verdict judge_on_both(double slope, const antler_series *series, double *by_bins)
{
    antler_model *model = tent(slope);
    antler_series *parts[2], *halves[2];
    antler_floors floors = {0};
    antler_verdict verdict;
    ant_validation_opts opts;
    ant_validation_measures whole, floor;
    CHECK_OK(ant_series_split(series, 0.2, &parts[0], &parts[1]));
    CHECK_OK(ant_series_split(series, 0.5, &halves[0], &halves[1]));
    const antler_series *const both[] = {halves[0], halves[1]};
    CHECK_OK(ant_validation_choose(series, &opts));
    CHECK_OK(ant_validation_compare(model, series, &opts, &whole));
    CHECK_OK(ant_validation_floor(model, halves[1], halves[0], &opts, &floor));
    *by_bins = whole.dstsp / (7.0 * floor.dstsp + 0.1);
    CHECK_OK(antler_verdict_on(model, parts[1], NULL, 1, &floors, &verdict));
    CHECK_OK(ant_verdict_check_whole(model, series, both, &opts, &verdict));
    for (size_t i = 0; i < 2; i++) {
        antler_series_free(parts[i]);
        antler_series_free(halves[i]);
    }
    antler_model_free(model);
    return verdict;
}

/*
 * Beside an attractor without width, histograms call an error of two percent far: cells that the data only
 * touch lose all of their rows.  A verdict does not, and larger errors are still seen.
 */
static void test_thin_attractors(void **state)
{
    (void)state;
    antler_series *series = tent_rows(8000, -1.9);
    double by_bins = 0.0;
    assert_int_equal(judge_on_both(-1.9, series, &by_bins).kind, ANTLER_VERDICT_GOOD);
    assert_true(by_bins < 1.0);
    antler_verdict v = judge_on_both(-1.87, series, &by_bins);
    assert_int_equal(v.kind, ANTLER_VERDICT_GOOD);
    assert_true(by_bins > 2.0);
    v = judge_on_both(-1.8, series, &by_bins);
    assert_int_equal(v.kind, ANTLER_VERDICT_FAR);
    assert_string_equal(v.figure, "dstsp_whole");
    assert_int_equal(judge_on_both(-1.6, series, &by_bins).kind, ANTLER_VERDICT_FAR);
    antler_series_free(series);
}

/* Of a model that is far on held-back rows, all rows are not measured. */
static void test_all_rows_do_not_mend(void **state)
{
    (void)state;
    antler_series *series = tent_rows(4000, -1.9), *halves[2];
    antler_model *model = tent(-1.9);
    ant_validation_opts opts;
    CHECK_OK(ant_series_split(series, 0.5, &halves[0], &halves[1]));
    const antler_series *const both[] = {halves[0], halves[1]};
    CHECK_OK(ant_validation_choose(series, &opts));
    antler_verdict far = {.kind = ANTLER_VERDICT_FAR, .figure = "dstsp", .value = 3.0};
    CHECK_OK(ant_verdict_check_whole(model, series, both, &opts, &far));
    assert_int_equal(far.kind, ANTLER_VERDICT_FAR);
    CHECK_NEAR(far.value, 3.0, 0.0);
    antler_model_free(model);
    for (size_t i = 0; i < 2; i++)
        antler_series_free(halves[i]);
    antler_series_free(series);
}

static bool stays(double factor, const antler_series *held_back)
{
    antler_model *model = turning(0.37, factor);
    ant_validation_opts opts;
    bool found = false;
    CHECK_OK(ant_validation_choose(held_back, &opts));
    CHECK_OK(ant_validation_stays(model, held_back, &opts, &found));
    antler_model_free(model);
    return found;
}

/* A radius that shrinks or grows by 2e-4 is seen after 100,000 steps. */
static void test_what_stays(void **state)
{
    (void)state;
    antler_series *held_back = circles(400, 0);
    assert_true(stays(1.0, held_back));
    assert_false(stays(0.9998, held_back));
    assert_false(stays(1.0002, held_back));
    antler_series_free(held_back);
}

/* 12 channels of one turn and noise are compared in its two components, whatever their units are. */
static void test_many_channels_are_projected(void **state)
{
    (void)state;
    enum { N = 12, ROWS = 600 };
    static double x[ROWS * N], e[ROWS * N];
    antler_series *series = NULL, *projected = NULL, *few = circles(300, 0);
    ant_projection *projection = NULL;
    ant_stream stream = ant_stream_open(3, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, e, ROWS * N);
    for (size_t i = 0; i < ROWS * N; i++)
        x[i] = (double)(1 + i % N) * (cos(0.37 * (double)(i / N) + 0.5 * (double)(i % N)) + 0.1 * e[i]) + 7.0;
    CHECK_OK(antler_series_create(N, 0, &series));
    CHECK_OK(antler_series_append(series, ROWS, x, NULL));
    CHECK_OK(ant_projection_create(series, &projection));
    CHECK_OK(ant_projection_apply(projection, series, &projected));
    assert_int_equal(antler_series_dim(projected), 2);
    assert_int_equal(antler_series_length(projected, 0), ROWS);
    for (size_t n = 0; n < 2;
         n++) { /* half of the variance of 12 standardised variables each, but for noise */
        antler_variable_stats stats;
        CHECK_OK(antler_series_stats(projected, n, &stats));
        CHECK_NEAR(stats.mean, 0.0, 1e-9);
        assert_true(stats.sd * stats.sd > 0.3 * N && stats.sd * stats.sd < 0.7 * N);
    }
    ant_projection_free(projection);
    CHECK_OK(ant_projection_create(few, &projection));
    assert_null(projection);
    antler_series_free(few);
    antler_series_free(projected);
    antler_series_free(series);
}

static void test_divergence_is_an_outcome(void **state)
{
    (void)state;
    antler_series *held_back = circles(300, 0);
    const ant_validation_measures m = measure(0.37, 1.5, held_back);
    assert_true(isinf(m.dstsp) && isinf(m.hellinger) && isinf(m.prediction_error));
    antler_series_free(held_back);
}

/* Only the first rows are compared; long free runs may begin at any of them, which D_stsp shows a little. */
static void test_rows_are_limited(void **state)
{
    (void)state;
    antler_series *held_back = circles(300, 300), *longer = circles(300, 500);
    antler_model *model = turning(0.40, 1.0);
    ant_validation_opts opts;
    ant_validation_measures m, n;
    CHECK_OK(ant_validation_choose(held_back, &opts));
    opts.rows = 450; /* 299 of the first trajectory, 151 of the second */
    CHECK_OK(ant_validation_measure(model, held_back, &opts, &m));
    CHECK_OK(ant_validation_measure(model, longer, &opts, &n));
    CHECK_NEAR(n.dstsp, m.dstsp, 1e-3);
    CHECK_NEAR(n.hellinger, m.hellinger, 0.0);
    antler_model_free(model);
    antler_series_free(longer);
    antler_series_free(held_back);
}

/* In the user's units, and with the scaling of the model, the measures are the same. */
static void test_units(void **state)
{
    (void)state;
    antler_series *plain = circles(400, 0), *users = NULL;
    antler_model *model = turning(0.40, 1.0);
    ant_validation_opts opts;
    ant_validation_measures a, b, floor_a, floor_b;
    CHECK_OK(antler_series_create(2, 0, &users));
    add_circle(users, 400, 0.2, 50.0, 8.0);
    CHECK_OK(ant_validation_choose(plain, &opts));
    CHECK_OK(ant_validation_measure(model, plain, &opts, &a));
    CHECK_OK(ant_validation_floor(model, plain, plain, &opts, &floor_a));
    CHECK_OK(ant_model_set_scaling(model, (double[]){50.0, 50.0}, (double[]){8.0, 8.0}));
    CHECK_OK(ant_validation_measure(model, users, &opts, &b));
    CHECK_OK(ant_validation_floor(model, users, users, &opts, &floor_b));
    CHECK_NEAR(b.prediction_error, a.prediction_error, 1e-10);
    CHECK_NEAR(b.hellinger, a.hellinger, 1e-6);
    CHECK_NEAR(floor_b.prediction_error, floor_a.prediction_error, 1e-10);
    antler_model_free(model);
    antler_series_free(users);
    antler_series_free(plain);
}

/* More than three variables: Gaussian mixtures; the first seed is used for every model. */
static void test_many_variables(void **state)
{
    (void)state;
    enum { N = 5, T = 300 };
    double x[T * N];
    for (size_t i = 0; i < T * N; i++)
        x[i] = sin(0.2 * (double)(i / N) + (double)(i % N));
    antler_series *held_back = series_make(T, N, x, 0, NULL);
    const ant_model_dims dims = {.M = 6, .N = N, .L = 4};
    antler_model *model = model_random(&dims, 3);
    ant_validation_opts opts;
    ant_validation_measures a, b;
    CHECK_OK(ant_validation_choose(held_back, &opts));
    CHECK_OK(ant_validation_measure(model, held_back, &opts, &a));
    opts.threads = 2;
    CHECK_OK(ant_validation_measure(model, held_back, &opts, &b));
    assert_true(isfinite(a.dstsp) && a.dstsp > 0.5);
    CHECK_NEAR(b.dstsp, a.dstsp, 0.0);
    antler_model_free(model);
    antler_series_free(held_back);
}

/* ---- the choice of what is measured ------------------------------------------------------------------ */

/* cos(0.05 lag) falls below 1/e at lag 24. */
static void test_delay_of_one_variable(void **state)
{
    (void)state;
    double x[2000];
    for (size_t t = 0; t < 2000; t++)
        x[t] = 3.0 + sin(0.05 * (double)t);
    antler_series *series = series_make(2000, 1, x, 0, NULL), *shorter = series_make(200, 1, x, 0, NULL);
    ant_validation_opts opts;
    CHECK_OK(ant_validation_choose(series, &opts));
    assert_int_equal(opts.embed_dim, 3);
    assert_in_range(opts.embed_delay, 23, 25);
    CHECK_OK(ant_validation_choose(shorter, &opts));
    assert_int_equal(opts.embed_delay, 10); /* a twentieth of the rows at most */
    antler_series_free(shorter);
    antler_series_free(series);
}

/* A turn by `angle` per row with white noise on both variables; every `missing`-th row is lost (0: none). */
static antler_series *noisy_turn(size_t rows, double angle, double noise, size_t missing)
{
    double *x = malloc(2 * rows * sizeof *x), *e = malloc(2 * rows * sizeof *e);
    ant_stream stream = ant_stream_open(3, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, e, 2 * rows);
    for (size_t t = 0; t < rows; t++) {
        const bool lost = missing > 0 && t % missing == missing - 1;
        x[2 * t] = lost ? NAN : cos(angle * (double)t) + noise * e[2 * t];
        x[2 * t + 1] = lost ? NAN : sin(angle * (double)t) + noise * e[2 * t + 1];
    }
    antler_series *series = series_make(rows, 2, x, 0, NULL);
    free(e);
    free(x);
    return series;
}

/* Steps of a fast, clean signal are not noise, and nor is what is as large as the signal. */
static void test_noise_that_is_seen(void **state)
{
    (void)state;
    const struct {
        double angle, noise, seen;
        size_t missing;
    } cases[] = {{0.07, 0.0, 0.0, 0}, {0.07, 0.02, 0.02, 0}, {0.07, 0.02, 0.02, 9}, {0.07, 0.1, 0.1, 0},
                 {0.07, 0.2, 0.0, 0}, {0.7, 0.0, 0.0, 0},    {2.0, 0.0, 0.0, 0},    {0.07, 0.02, 0.0, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double x[2 * 4000];
        antler_series *series = noisy_turn(4000, cases[i].angle, cases[i].noise, cases[i].missing);
        CHECK_OK(antler_series_read_f64(series, 0, 0, 4000, x, NULL));
        for (size_t n = 0; n < 2; n++)
            CHECK_NEAR(ant_noise_seen(x + n, 4000, 2), cases[i].seen, 0.1 * cases[i].seen);
        antler_series_free(series);
    }
    const double few[7] = {1, -1, 1, -1, 1, -1, 1};
    assert_true(ant_noise_seen(few, 7, 1) == 0.0);
}

/* The true model of noisy rows is as far from them as parts of them are from each other, within a factor of
 * 3: the radius of the free run is that of its first row, which is noisy, too. */
static void test_noise_is_not_blamed_on_the_model(void **state)
{
    (void)state;
    antler_series *series = noisy_turn(24000, 0.07, 0.03, 0), *first = NULL, *second = NULL;
    antler_model *model = turning(0.07, 1.0);
    ant_validation_opts opts;
    ant_validation_measures whole, floor;
    CHECK_OK(ant_series_split(series, 0.5, &first, &second));
    CHECK_OK(ant_validation_choose(series, &opts));
    CHECK_OK(ant_validation_compare(model, series, &opts, &whole));
    CHECK_OK(ant_validation_floor(model, second, first, &opts, &floor));
    assert_true(whole.dstsp < 3.0 * floor.dstsp && whole.hellinger < floor.hellinger);
    antler_model_free(model);
    model = turning(0.07, 1.00001); /* noise does not hide a radius that grows by a fourth */
    ant_validation_measures wrong;
    CHECK_OK(ant_validation_compare(model, series, &opts, &wrong));
    assert_true(wrong.dstsp > 5.0 * whole.dstsp);
    antler_model_free(model);
    antler_series_free(second);
    antler_series_free(first);
    antler_series_free(series);
}

static void test_too_short(void **state)
{
    (void)state;
    antler_series *series = circles(103, 60), *enough = circles(30, 104);
    ant_validation_opts opts;
    CHECK_FAILS(ant_validation_choose(series, &opts), ANTLER_ERROR_DATA,
                "has 103 rows, and a validation needs 104");
    CHECK_OK(ant_validation_choose(enough, &opts));
    antler_series_free(enough);
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_score_of_diverged),
        cmocka_unit_test(test_score_without_floor),
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_ends_of_long_runs),
        cmocka_unit_test(test_all_rows),
        cmocka_unit_test(test_thin_attractors),
        cmocka_unit_test(test_all_rows_do_not_mend),
        cmocka_unit_test(test_many_channels_are_projected),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_divergence_is_an_outcome),
        cmocka_unit_test(test_rows_are_limited),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_many_variables),
        cmocka_unit_test(test_delay_of_one_variable),
        cmocka_unit_test(test_noise_that_is_seen),
        cmocka_unit_test(test_noise_is_not_blamed_on_the_model),
        cmocka_unit_test(test_too_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
