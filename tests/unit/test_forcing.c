/* The strength of forcing by schedule, and the interval of sparse forcing (spec 10). */
#include "unit/check.h"

#include "base/random.h"
#include "train/forcing_rule.h"

#include <antler/antler.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 2000 };

static void test_schedules(void **state)
{
    (void)state;
    antler_settings s;
    antler_settings_default(&s);
    s.updates = 5;
    s.gtf_alpha = 0.8;
    assert_true(ant_alpha_scheduled(&s, 3) == 0.8);
    s.gtf_alpha_end = 0.2;
    static const double linear[] = {0.8, 0.65, 0.5, 0.35, 0.2};
    for (size_t i = 0; i < 5; i++) {
        s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_LINEAR;
        CHECK_NEAR(ant_alpha_scheduled(&s, i + 1), linear[i], 1e-15);
        s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_EXPONENTIAL;
        CHECK_NEAR(ant_alpha_scheduled(&s, i + 1), 0.8 * pow(0.25, (double)i / 4.0), 1e-15);
        s.gtf_alpha_schedule = ANTLER_ALPHA_SCHEDULE_COSINE;
        CHECK_NEAR(ant_alpha_scheduled(&s, i + 1), 0.5 + 0.3 * cos(M_PI * (double)i / 4.0), 1e-15);
    }
    s.updates = 1;
    assert_true(ant_alpha_scheduled(&s, 1) == 0.8);
}

/* Mutual information as H(x) + H(y) - H(x, y), up to the sum over one count: by plain counting. */
static double plain_information(const double *x, size_t rows, size_t lag)
{
    static double joint[64][64];
    double one[64] = {0}, two[64] = {0}, low = x[0], high = x[0], sum = 0.0;
    memset(joint, 0, sizeof joint);
    for (size_t t = 0; t < rows; t++) {
        low = fmin(low, x[t]);
        high = fmax(high, x[t]);
    }
    const double pairs = (double)(rows - lag);
    for (size_t t = 0; t + lag < rows; t++) {
        const size_t i = (size_t)fmin(63.0, floor(64.0 * (x[t] - low) / (high - low)));
        const size_t j = (size_t)fmin(63.0, floor(64.0 * (x[t + lag] - low) / (high - low)));
        joint[i][j] += 1.0 / pairs;
        one[i] += 1.0 / pairs;
        two[j] += 1.0 / pairs;
    }
    for (size_t i = 0; i < 64; i++) {
        sum -= one[i] > 0.0 ? one[i] * log(one[i]) : 0.0;
        sum -= two[i] > 0.0 ? two[i] * log(two[i]) : 0.0;
        for (size_t j = 0; j < 64; j++)
            sum += joint[i][j] > 0.0 ? joint[i][j] * log(joint[i][j]) : 0.0;
    }
    return sum;
}

/* An oscillation with noise: values say least of each other about a quarter of a period apart. */
static void test_mutual_information(void **state)
{
    (void)state;
    static double x[10 * ROWS];
    const size_t rows = 10 * ROWS, whole[] = {0, rows};
    ant_stream stream = ant_stream_open(5, 0, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, x, rows);
    for (size_t t = 0; t < rows; t++)
        x[t] = cos(2.0 * M_PI * (double)t / 40.3) + 0.4 * x[t];
    size_t want = 1;
    while (!(plain_information(x, rows, want) < plain_information(x, rows, want - 1) &&
             plain_information(x, rows, want) <= plain_information(x, rows, want + 1)))
        want++;
    assert_int_equal(ant_lag_of_mutual_information(x, whole, 1, rows / 2), want);
    assert_in_range(want, 7, 13);
}

/* A cosine of period P: its autocorrelation is lowest at P / 2. */
static void test_lags(void **state)
{
    (void)state;
    double x[ROWS];
    const size_t whole[] = {0, ROWS}, parts[] = {0, 700, 1400, ROWS};
    for (size_t t = 0; t < ROWS; t++)
        x[t] = 3.0 + cos(2.0 * M_PI * (double)t / 40.3);
    assert_int_equal(ant_lag_of_autocorrelation(x, whole, 1, ROWS / 2), 20);
    assert_int_equal(ant_lag_of_autocorrelation(x, whole, 1, 20), 0); /* not below the limit */
    /* Pairs do not cross from one trajectory into the next. */
    for (size_t t = 700; t < 1400; t++)
        x[t] = 3.0 - cos(2.0 * M_PI * (double)t / 40.3);
    assert_int_equal(ant_lag_of_autocorrelation(x, parts, 3, 350), 20);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = 7.0;
    assert_int_equal(ant_lag_of_autocorrelation(x, whole, 1, ROWS / 2), 0);
    assert_int_equal(ant_lag_of_mutual_information(x, whole, 1, ROWS / 2), 0);
}

/* Two cosines of periods 40 and 60, or a line that never turns. */
static antler_series *make_series(bool turns)
{
    static double x[2 * ROWS];
    antler_series *series = NULL;
    for (size_t t = 0; t < ROWS; t++) {
        x[2 * t] = turns ? cos(2.0 * M_PI * (double)t / 40.0) : (double)t;
        x[2 * t + 1] = turns ? sin(2.0 * M_PI * (double)t / 60.0) : exp(-0.01 * (double)t);
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, ROWS, x, NULL));
    return series;
}

static antler_settings sparse_settings(antler_interval_method method)
{
    antler_settings s;
    antler_settings_default(&s);
    s.device = ANTLER_DEVICE_CPU;
    s.latent_dim = 3;
    s.hidden_dim = 8;
    s.sequence_length = 60;
    s.batch_size = 2;
    s.updates = 3;
    s.log_interval = 1;
    s.threads = 1;
    s.kappa = 0.9;
    s.start_lr = 1e-3;
    s.validation = 0.0;
    s.forcing_interval_method = method;
    s.lyapunov_exponent = method == ANTLER_INTERVAL_PREDICTABILITY ? 0.02 : 0.0;
    return s;
}

typedef struct seen {
    char text[512];
    double loss, alpha;
} seen;

static void keep_text(void *cookie, const antler_train_note *note)
{
    snprintf(((seen *)cookie)->text, 512, "%s", note->text);
}

static void keep_row(void *cookie, const antler_train_row *row)
{
    ((seen *)cookie)->loss = row->loss;
    ((seen *)cookie)->alpha = row->alpha;
}

static antler_status train(const antler_settings *s, const antler_series *series, seen *found)
{
    antler_trainer *trainer = NULL;
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = found, .begin = keep_text, .row = keep_row};
    antler_status status = antler_trainer_create(s, series, &trainer);
    if (status == ANTLER_OK)
        status = antler_trainer_run(trainer, &events, NULL);
    antler_trainer_free(trainer);
    return status;
}

/* Found at the start, recorded, and used: the same training as with the number given. */
static void test_found_interval(void **state)
{
    (void)state;
    static const struct {
        antler_interval_method method;
        size_t interval;
        const char *text;
    } cases[] = {
        {ANTLER_INTERVAL_AUTOCORRELATION, 25, "sparse forcing every 25 steps (first minimum of the autocorr"},
        {ANTLER_INTERVAL_PREDICTABILITY, 35, "sparse forcing every 35 steps (predictability time)"},
    };
    antler_series *series = make_series(true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        seen found = {.loss = 0.0}, given = {.loss = 0.0}, every = {.loss = 0.0};
        antler_settings s = sparse_settings(cases[i].method);
        CHECK_OK(train(&s, series, &found));
        assert_non_null(strstr(found.text, cases[i].text));
        s = sparse_settings(ANTLER_INTERVAL_GIVEN);
        s.forcing_interval = cases[i].interval;
        CHECK_OK(train(&s, series, &given));
        s.forcing_interval = 0;
        CHECK_OK(train(&s, series, &every));
        assert_true(found.loss == given.loss && found.loss != every.loss);
        assert_true(isnan(found.alpha) && every.alpha == s.gtf_alpha);
        assert_null(strstr(every.text, "sparse"));
    }
    antler_series_free(series);
}

static void test_refusals(void **state)
{
    (void)state;
    antler_series *series = make_series(false);
    antler_settings s = sparse_settings(ANTLER_INTERVAL_AUTOCORRELATION);
    antler_problem *problem = NULL;
    CHECK_FAILS(train(&s, series, &(seen){.loss = 0.0}), ANTLER_ERROR_ARGUMENT,
                "no minimum within 1000 rows");
    CHECK_FAILS(antler_problem_create(&s, 2, 0, &problem), ANTLER_ERROR_ARGUMENT, "set forcing_interval");
    antler_series_free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),          cmocka_unit_test(test_lags),
        cmocka_unit_test(test_mutual_information), cmocka_unit_test(test_found_interval),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
