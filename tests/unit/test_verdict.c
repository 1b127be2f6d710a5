/* test_verdict.c - floors, naive forecasts, the range of the data, and a case for every verdict. */
#include "measure/white.h"
#include "model_support.h"
#include "unit/simulated.h"

#include <math.h>

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

/* z' = h + slope |z|: a constant for slope 0, and close to uniform noise for h = 1, slope -1.99. */
static antler_model *tent(double h, double slope)
{
    antler_model *model = model_make(1, 1, 2, 0);
    model_set(model, "W", (double[]){slope, slope});
    model_set(model, "V", (double[]){1, -1});
    model_set(model, "h", (double[]){h});
    model_set(model, "B", (double[]){1});
    return model;
}

static antler_series *circle(size_t length)
{
    double *x = malloc(2 * length * sizeof *x);
    for (size_t t = 0; t < length; t++) {
        x[2 * t] = cos(0.37 * (double)t + 0.2);
        x[2 * t + 1] = sin(0.37 * (double)t + 0.2);
    }
    antler_series *series = series_make(length, 2, x, 0, NULL);
    free(x);
    return series;
}

/* level + width * uniform noise in (-1, 1); `walk`: its sums */
static antler_series *noise(size_t length, double level, double width, bool walk)
{
    double *x = malloc(length * sizeof *x), sum = 0.0;
    fill_random(x, length, 5);
    for (size_t t = 0; t < length; t++) {
        sum += x[t];
        x[t] = level + width * (walk ? sum : x[t]);
    }
    antler_series *series = series_make(length, 1, x, 0, NULL);
    free(x);
    return series;
}

static antler_evaluate_opts options(void)
{
    antler_evaluate_opts opts;
    antler_evaluate_opts_default(&opts);
    opts.measure.samples = 500;
    opts.rmse.steps = 20;
    opts.with_lyapunov = false;
    return opts;
}

/* Evaluate and forget the model and the data. */
static antler_evaluate_result evaluated(antler_model *model, antler_series *truth,
                                        const antler_evaluate_opts *opts, antler_status expected)
{
    antler_evaluate_result r;
    assert_int_equal(antler_evaluate(model, truth, opts, &r), expected);
    antler_series_free(truth);
    antler_model_free(model);
    antler_measure_result_clear(&r.plain);
    return r;
}

/* The kind, the figure, and a part of the sentence and of the advice. */
static void check_verdict(const antler_evaluate_result *r, antler_verdict_kind kind, const char *figure,
                          const char *text, const char *advice)
{
    const antler_verdict *v = &r->verdict;
    if (v->kind != kind)
        print_error("%s: %s\n", antler_verdict_name(v->kind), v->text);
    assert_int_equal(v->kind, kind);
    assert_string_equal(v->figure, figure);
    if (strstr(v->text, text) == NULL || strstr(v->advice, advice) == NULL)
        print_error("%s\n%s\n", v->text, v->advice);
    assert_non_null(strstr(v->text, text));
    assert_non_null(strstr(v->advice, advice));
    assert_true(v->text[strlen(v->text) - 1] == '.' && v->advice[strlen(v->advice) - 1] == '.');
}

/* A sine: its parts are the same, so floors are 0 and the absolute limits decide. */
static void test_good_and_far(void **state)
{
    (void)state;
    const antler_evaluate_opts opts = options();
    antler_evaluate_result r = evaluated(turning(0.37, 1.0), circle(900), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_GOOD, "dstsp", "as much as parts of the data", "Use it");
    assert_true(r.floors.values[antler_measure_index("dstsp")] < 1e-3);
    CHECK_NEAR(r.spread, 1.0, 1e-3);
    CHECK_NEAR(r.reach, 1.0, 1e-3);
    CHECK_NEAR(r.rmse.skill, 1.0, 1e-12);
    CHECK_NEAR(r.rmse.average, 1.0, 0.01); /* the mean of a circle is its centre, 1 away */
    CHECK_NEAR(r.floors.values[antler_measure_index("rmse")], fmin(r.rmse.average, r.rmse.persistence), 0.0);
    r = evaluated(turning(0.6, 1.0), circle(900), &opts, ANTLER_OK); /* the right states, another frequency */
    check_verdict(&r, ANTLER_VERDICT_FAR, "hellinger", "D_H is 0.", "Change the settings");
    assert_true(r.verdict.value > r.verdict.limit && r.verdict.limit > r.verdict.floor);
    r = evaluated(turning(0.37, 0.9996), circle(900), &opts, ANTLER_OK); /* shrinks to 1/3 */
    assert_int_not_equal(r.verdict.kind, ANTLER_VERDICT_GOOD);
}

static void test_collapsed(void **state)
{
    (void)state;
    const antler_evaluate_opts opts = options();
    antler_evaluate_result r = evaluated(turning(0.37, 0.98), circle(900), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_COLLAPSED, "spread", "ends near a point", "gtf_alpha");
    assert_true(r.spread < 1e-3 && !r.diverged);
}

/* Values grow by 0.3 percent a step: beyond 5 half ranges from step 550 on, and far below the limit of 1e6.
 */
static void test_left_the_range(void **state)
{
    (void)state;
    antler_evaluate_opts opts = options();
    antler_evaluate_result r = evaluated(turning(0.37, 1.003), circle(900), &opts, ANTLER_DIVERGED);
    check_verdict(&r, ANTLER_VERDICT_LEFT_RANGE, "reach", "left the data's range at step 5", "clipped: true");
    assert_true(r.diverged && r.left_range && isinf(r.values[antler_measure_index("dstsp")]));
    assert_in_range(r.diverged_step, 530, 560);
    assert_true(r.reach > 1000.0);
    opts.range_factor = 0.0; /* no limit: it is only far */
    opts.measure.dstsp = ANTLER_DSTSP_BINS;
    r = evaluated(turning(0.37, 1.003), circle(900), &opts, ANTLER_OK);
    assert_false(r.diverged || r.left_range);
    check_verdict(&r, ANTLER_VERDICT_FAR, "reach", "half ranges from the middle", "Change the settings");
    opts.range_factor = 5.0;
    r = evaluated(turning(0.37, 2.0), circle(900), &opts, ANTLER_DIVERGED);
    check_verdict(&r, ANTLER_VERDICT_DIVERGED, "reach", "diverged at step 2", "clipped: true");
    assert_false(r.left_range);
}

/* The same collapsed model, with trainings that had and had not come to an end. */
static void test_undertrained(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    double update[ROWS], falling[ROWS], flat[ROWS], lr[ROWS], tiny[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        update[i] = 100.0 * (double)(i + 1);
        falling[i] = exp(-0.05 * (double)i);
        flat[i] = 0.2;
        lr[i] = 1e-3;
        tiny[i] = 1e-6;
    }
    const antler_loss_curve still = {sizeof(antler_loss_curve), ROWS, update, falling, lr},
                            done = {sizeof(antler_loss_curve), ROWS, update, flat, lr},
                            begun = {sizeof(antler_loss_curve), ROWS, update, flat, tiny};
    antler_evaluate_opts opts = options();
    opts.training = &still;
    antler_evaluate_result r = evaluated(turning(0.37, 0.98), circle(900), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_UNDERTRAINED, "loss_fall", "fell by 39 percent", "updates");
    opts.training = &begun;
    r = evaluated(turning(0.37, 0.98), circle(900), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_UNDERTRAINED, "travel", "add up to 0.004", "updates");
    opts.training = &done;
    r = evaluated(turning(0.37, 0.98), circle(900), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_COLLAPSED);
    opts.training = &still; /* of noise none is better, however long it is trained */
    r = evaluated(tent(0.0, 0.0), noise(3000, 0.0, 1.0, false), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_NOISE, "white", "nothing to predict", "white noise");
    opts.training = &still; /* a good model is good, whatever its training */
    r = evaluated(turning(0.37, 1.0), circle(900), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_GOOD);
}

/* Nothing can be learnt from noise: a constant and an orbit that looks like it are told apart by no verdict.
 */
static void test_white_noise(void **state)
{
    (void)state;
    const antler_evaluate_opts opts = options();
    antler_evaluate_result r = evaluated(tent(0.0, 0.0), noise(3000, 0.0, 1.0, false), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_NOISE, "white", "nothing to predict", "white noise");
    r = evaluated(tent(1.0, -1.99), noise(3000, 0.0, 1.0, false), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_NOISE, "white", "nothing to predict", "white noise");
    r = evaluated(tent(5.0, 0.0), noise(3000, 5.0, 0.01, false), &opts,
                  ANTLER_OK); /* a constant with noise */
    check_verdict(&r, ANTLER_VERDICT_NOISE, "white", "nothing to predict", "white noise");
    r = evaluated(tent(50.0, 0.0), noise(3000, 0.0, 1.0, false), &opts, ANTLER_DIVERGED);
    check_verdict(&r, ANTLER_VERDICT_LEFT_RANGE, "reach", "left the data's range", "white noise");
}

/* What inputs do to a row is not known from the rows before it. */
static void test_noise_with_inputs(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    double x[ROWS], s[ROWS];
    const antler_evaluate_opts opts = options();
    fill_random(x, ROWS, 1);
    fill_random(s, ROWS, 2);
    for (int driven = 0; driven < 2; driven++) {
        antler_series *series = series_make(ROWS, 1, x, (size_t)driven, driven ? s : NULL);
        antler_floors floors;
        antler_look look;
        CHECK_OK(antler_floors_of(series, &opts, &floors));
        CHECK_OK(antler_look_at(series, &look));
        assert_int_equal(floors.white, !driven);
        assert_int_equal(look.white, !driven);
        antler_series_free(series);
    }
}

/* Noise through a filter, and a map whose spectrum is flat, are no white noise. */
static void test_other_noise(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    const antler_evaluate_opts opts = options();
    double x[ROWS], shocks[ROWS], logistic = 0.3;
    fill_random(shocks, ROWS, 6);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = (t == 0 ? 0.0 : 0.3 * x[t - 1]) + shocks[t];
    antler_evaluate_result r = evaluated(tent(0.0, 0.0), series_make(ROWS, 1, x, 0, NULL), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_COLLAPSED, "spread", "ends near a point", "noise around a constant");
    for (size_t t = 0; t < ROWS; t++)
        x[t] = logistic = 3.99 * logistic * (1.0 - logistic);
    r = evaluated(tent(0.5, 0.0), series_make(ROWS, 1, x, 0, NULL), &opts, ANTLER_OK);
    assert_int_equal(r.floors.white, 0);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_COLLAPSED);
}

/* Independent rows of any distribution are white, also of many channels that depend on each other at one
 * time. */
static void test_white(void **state)
{
    (void)state;
    enum { ROWS = 1500, N = 16 };
    double *x = malloc(sizeof *x * ROWS * N);
    for (unsigned seed = 1; seed <= (SANITIZED ? 2 : 8); seed++)
        for (int kind = 0; kind < 4; kind++) {
            bool white = false;
            const size_t n = kind == 3 ? N : 1 + seed % 3;
            fill_random(x, ROWS * n, seed + 100 * (unsigned)kind);
            for (size_t i = 0; i < ROWS * n; i++) /* (-1, 1): uniform, skewed, two values, a common part */
                x[i] = kind == 0   ? 1.73 * x[i]
                       : kind == 1 ? x[i] * x[i] * x[i] * 2.6
                       : kind == 2 ? (x[i] > 0.0 ? 1.0 : -1.0)
                                   : 1.5 * (0.7 * x[i] + 0.7 * x[i - i % n]);
            CHECK_OK(ant_rows_are_white(x, ROWS, n, &white));
            assert_true(white);
            for (size_t t = ROWS - 1; t > 0; t--) /* the last variable follows the first one, a row later */
                x[t * n + n - 1] = 0.8 * x[t * n + n - 1] + 0.4 * x[(t - 1) * n];
            CHECK_OK(ant_rows_are_white(x, ROWS, n, &white));
            assert_false(white);
        }
    free(x);
}

/* A value that only the one before the last predicts, and one of which noise hides most, are not white. */
static void test_hidden_maps(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    double x[ROWS], noise[ROWS];
    for (unsigned seed = 1; seed <= (SANITIZED ? 1 : 4); seed++) {
        bool white = true;
        fill_random(x, 2, seed);
        for (size_t t = 0; t < ROWS; t++)
            x[t] = t < 2 ? 0.5 + 0.4 * x[t] : 3.9999 * x[t - 2] * (1.0 - x[t - 2]);
        for (size_t t = 0; t < ROWS; t++)
            x[t] = sqrt(8.0) * (x[t] - 0.5);
        CHECK_OK(ant_rows_are_white(x, ROWS, 1, &white));
        assert_false(white);
        fill_random(noise, ROWS, 10 + seed);
        fill_random(x, 1, 20 + seed);
        x[0] = 0.5 + 0.4 * x[0];
        for (size_t t = 1; t < ROWS; t++)
            x[t] = 3.9999 * x[t - 1] * (1.0 - x[t - 1]);
        for (size_t t = 0; t < ROWS; t++) /* variances 1/8 and 1/12 */
            x[t] = sqrt(24.0 / 5.0) * (x[t] - 0.5 + 0.5 * noise[t]);
        CHECK_OK(ant_rows_are_white(x, ROWS, 1, &white));
        assert_false(white);
    }
}

/* Rare events and rows that lack values are white, too; what returns after 50 rows is not. */
static void test_white_besides(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    double x[2 * ROWS], y[2 * ROWS];
    for (unsigned seed = 1; seed <= (SANITIZED ? 2 : 8); seed++) {
        bool white = false;
        fill_random(x, 2 * ROWS, seed);
        fill_random(y, 2 * ROWS, 100 + seed);
        for (size_t t = 0; t < 2 * ROWS; t++) /* an event in 50 rows, standardised */
            y[t] = y[t] < -0.96 ? 7.0 : -1.0 / 7.0;
        CHECK_OK(ant_rows_are_white(y, ROWS, 1, &white));
        assert_true(white);
        for (size_t t = 0; t < ROWS; t++)
            y[t] = t % 50 == 7 ? 7.0 : 0.4 * x[t] - 1.0 / 7.0;
        CHECK_OK(ant_rows_are_white(y, ROWS, 1, &white));
        assert_false(white);
        fill_random(y, 2 * ROWS, 200 + seed);
        for (size_t t = 0; t < 2 * ROWS; t++)
            x[t] = y[t] < -0.4 ? NAN : 1.73 * x[t];
        CHECK_OK(ant_rows_are_white(x, ROWS, 2, &white));
        assert_true(white);
        for (size_t t = 0; t < 2 * ROWS; t++) /* hardly a row is complete */
            x[t] = t % 40 != 0 && t % 2 == 0 ? NAN : x[t];
        CHECK_OK(ant_rows_are_white(x, ROWS, 2, &white));
        assert_false(white);
    }
}

/* Of many variables not all products are affordable. */
static void test_white_channels(void **state)
{
    (void)state;
    enum { ROWS = 2000, N = SANITIZED ? 200 : 1000 };
    double *x = malloc(sizeof *x * ROWS * N);
    bool white = false;
    fill_random(x, (size_t)ROWS * N, 3);
    for (size_t i = 0; i < (size_t)ROWS * N; i++)
        x[i] *= 1.73;
    CHECK_OK(ant_rows_are_white(x, ROWS, N, &white));
    assert_true(white);
    for (size_t t = ROWS - 1; t > 0; t--) /* the last variable follows itself */
        x[t * N + N - 1] = 0.8 * x[t * N + N - 1] + 0.6 * x[(t - 1) * N + N - 1];
    CHECK_OK(ant_rows_are_white(x, ROWS, N, &white));
    assert_false(white);
    free(x);
}

static void test_random_walk(void **state)
{
    (void)state;
    const antler_evaluate_opts opts = options();
    antler_model *persistence = model_make(1, 1, 2, 0);
    model_set(persistence, "W", (double[]){1, -1});
    model_set(persistence, "V", (double[]){1, -1});
    model_set(persistence, "B", (double[]){1});
    antler_evaluate_result r = evaluated(persistence, noise(3000, 0.0, 1.0, true), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_TOO_SHORT);
    CHECK_NEAR(r.rmse.skill, 0.0, 1e-9); /* it is persistence itself */
    CHECK_NEAR(r.rmse.persistence, r.rmse.mean, 1e-9);
}

static antler_series *lorenz63(size_t length)
{
    antler_simulate_opts o = plain_opts("lorenz63");
    o.length = length;
    o.transient = 20.0;
    o.standardise = true;
    antler_series *series = NULL;
    CHECK_OK(antler_simulate(&o, &series));
    return series;
}

static void test_200_rows_of_lorenz63(void **state)
{
    (void)state;
    antler_evaluate_opts opts = options();
    antler_model *model = model_make(3, 3, 1, 0);
    model_set(model, "A", (double[]){0.9, 0.9, 0.9});
    model_set(model, "B", (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1});
    antler_evaluate_result r = evaluated(model, lorenz63(200), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_TOO_SHORT);
    assert_non_null(strstr(r.verdict.text, "lost its variance"));
}

/* The model was trained on Lorenz-63 with noise; it has not seen these rows. */
static void test_a_good_model_of_lorenz63(void **state)
{
    (void)state;
    antler_model *model = NULL;
    antler_evaluate_opts opts = options();
    opts.measure.samples = 2000;
    opts.model_units = true; /* the model was trained on such rows */
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    antler_evaluate_result r = evaluated(model, lorenz63(12000), &opts, ANTLER_OK);
    check_verdict(&r, ANTLER_VERDICT_GOOD, "dstsp", "as much as parts of the data", "Use it");
    assert_true(r.rmse.skill > 0.9);
}

/* Few rows of a chaotic attractor differ so much between their parts that a copy of half the spread passes:
 * they cannot call a model good.  Many rows can, and so can few of a periodic signal. */
static void test_rows_that_let_a_wrong_attractor_pass(void **state)
{
    (void)state;
    antler_model *model = NULL;
    antler_evaluate_opts opts = options();
    opts.measure.dstsp = ANTLER_DSTSP_GMM_SILVERMAN;
    opts.model_units = true;
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    antler_evaluate_result r = evaluated(model, lorenz63(680), &opts, ANTLER_OK);
    antler_floors floors = r.floors;
    const double floor = floors.values[antler_measure_index("dstsp")], limit = 2.0 * floor + 0.01;
    assert_true((double)floors.rows >= 20.0 * floors.correlation && floors.shift < 1.0);
    assert_true(floors.narrow > 0.5 && floors.narrow < limit && r.plain.dstsp < limit);
    check_verdict(&r, ANTLER_VERDICT_TOO_SHORT, "dstsp_narrow", "half the spread", "more rows");
    CHECK_NEAR(r.verdict.value, floors.narrow, 0.0);
    CHECK_NEAR(r.verdict.limit, limit, 1e-12);
    floors.narrow = 0.0; /* as from a program that does not know the field */
    opts.floors = &floors;
    CHECK_OK(antler_model_load(TEST_DATA "/models/lorenz63.npz", &model));
    r = evaluated(model, lorenz63(680), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_GOOD);

    antler_series *rows = circle(110);
    antler_verdict verdict;
    model = turning(0.37, 1.0);
    floors.rows = 0;
    CHECK_OK(antler_verdict_on(model, rows, NULL, 1, &floors, &verdict));
    assert_int_equal(verdict.kind, ANTLER_VERDICT_GOOD);
    assert_true(floors.narrow > 7.0 * floors.values[antler_measure_index("dstsp")] + 0.1);
    antler_series_free(rows);
    antler_model_free(model);
}

/* The floors are the means over the cuts, and given floors are taken as they are. */
static void test_floors(void **state)
{
    (void)state;
    enum { ROWS = 1600, CUTS = 3 };
    antler_evaluate_opts opts = options();
    opts.measure.dstsp = ANTLER_DSTSP_BINS; /* never negative */
    antler_series *truth = noise(ROWS, 0.0, 1.0, false);
    double *x = series_values(truth), dstsp = 0.0, hellinger = 0.0;
    for (size_t parts = 2; parts <= 8; parts *= 2) {
        antler_series *sets[2];
        for (size_t k = 0; k < 2; k++) {
            CHECK_OK(antler_series_create(1, 0, &sets[k]));
            for (size_t part = k; part < parts; part += 2)
                CHECK_OK(antler_series_append(sets[k], ROWS / parts, x + part * (ROWS / parts), NULL));
        }
        for (size_t k = 0; k < 2; k++) {
            antler_measure_result m;
            CHECK_OK(antler_measure(sets[k], sets[1 - k], &opts.measure, &m));
            dstsp += m.dstsp / (2 * CUTS);
            hellinger += parts < 8 ? m.hellinger / 4.0 : 0.0;
            antler_measure_result_clear(&m);
        }
        antler_series_free(sets[0]);
        antler_series_free(sets[1]);
    }
    antler_floors floors;
    CHECK_OK(antler_floors_of(truth, &opts, &floors));
    CHECK_NEAR(floors.values[antler_measure_index("dstsp")], dstsp, 1e-12);
    CHECK_NEAR(floors.values[antler_measure_index("hellinger")], hellinger, 1e-12);
    CHECK_NEAR(floors.correlation, 1.0, 0.0);
    assert_int_equal(floors.rows, ROWS);
    assert_true(isnan(floors.values[antler_measure_index("dstsp_embedded")]) && floors.shift < 0.2);
    opts.floors = &floors;
    floors.values[antler_measure_index("hellinger")] = 0.125;
    const antler_evaluate_result r = evaluated(tent(1.0, -1.99), truth, &opts, ANTLER_OK);
    CHECK_NEAR(r.floors.values[antler_measure_index("hellinger")], 0.125, 0.0);
    free(x);
}

/* An embedding that no part has room for leaves no floor. */
static void test_no_room_for_floors(void **state)
{
    (void)state;
    antler_evaluate_opts opts = options();
    opts.measure.embed_dim = 2;
    opts.measure.embed_delay = 500;
    antler_evaluate_result r = evaluated(turning(0.37, 1.0), circle(900), &opts, ANTLER_OK);
    assert_true(isnan(r.floors.values[antler_measure_index("dstsp_embedded")]));
    check_verdict(&r, ANTLER_VERDICT_TOO_SHORT, "dstsp_embedded", "no floor", "shorter embedding");
    opts.with_verdict = false;
    r = evaluated(turning(0.37, 1.0), circle(900), &opts, ANTLER_OK);
    assert_int_equal(r.verdict.kind, ANTLER_VERDICT_NONE);
    assert_int_equal(r.floors.rows, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_and_far),
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_left_the_range),
        cmocka_unit_test(test_undertrained),
        cmocka_unit_test(test_white_noise),
        cmocka_unit_test(test_noise_with_inputs),
        cmocka_unit_test(test_other_noise),
        cmocka_unit_test(test_white),
        cmocka_unit_test(test_hidden_maps),
        cmocka_unit_test(test_white_besides),
        cmocka_unit_test(test_white_channels),
        cmocka_unit_test(test_random_walk),
        cmocka_unit_test(test_200_rows_of_lorenz63),
        cmocka_unit_test(test_a_good_model_of_lorenz63),
        cmocka_unit_test(test_rows_that_let_a_wrong_attractor_pass),
        cmocka_unit_test(test_floors),
        cmocka_unit_test(test_no_room_for_floors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
