/* test_held_back.c - rows that training does not see: the split, validations, and the best model. */
#include "check.h"

#include "data/series.h"
#include "train/held_back.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the split --------------------------------------------------------------------------------------- */

static void test_share(void **state)
{
    (void)state;
    assert_int_equal(ant_series_last_rows(1000, 0.2), 200);
    assert_int_equal(ant_series_last_rows(100, 0.29), 29);
    assert_int_equal(ant_series_last_rows(9, 0.1), 0);
    assert_int_equal(ant_series_last_rows(19, 0.1), 1);
    assert_int_equal(ant_series_last_rows(1000, 0.0), 0);
}

/* Values name their place: 1000 * trajectory + row. */
static antler_series *labelled(void)
{
    static const size_t lengths[] = {40, 4, 25};
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(1, 1, &series));
    for (size_t i = 0; i < 3; i++) {
        double x[40], s[40];
        for (size_t t = 0; t < lengths[i]; t++) {
            x[t] = (double)(1000 * i + t);
            s[t] = -x[t];
        }
        CHECK_OK(antler_series_append(series, lengths[i], x, s));
    }
    CHECK_OK(antler_series_set_name(series, 0, "u"));
    CHECK_OK(antler_series_set_dt(series, 0.5));
    return series;
}

static void check_rows(const antler_series *series, size_t trajectory, size_t rows, double first)
{
    double x[40], s[40];
    assert_int_equal(antler_series_length(series, trajectory), rows);
    CHECK_OK(antler_series_read_f64(series, trajectory, 0, rows, x, s));
    for (size_t t = 0; t < rows; t++) {
        CHECK_NEAR(x[t], first + (double)t, 0.0);
        CHECK_NEAR(s[t], -x[t], 0.0);
    }
}

static void test_split(void **state)
{
    (void)state;
    antler_series *series = labelled(), *first = NULL, *last = NULL;
    CHECK_OK(ant_series_split(series, 0.2, &first, &last));
    assert_int_equal(antler_series_count(first), 3);
    assert_int_equal(antler_series_count(last), 2); /* a fifth of 4 rows is none */
    check_rows(first, 0, 32, 0.0);
    check_rows(first, 1, 4, 1000.0);
    check_rows(first, 2, 20, 2000.0);
    check_rows(last, 0, 8, 32.0);
    check_rows(last, 1, 5, 2020.0);
    assert_string_equal(antler_series_name(last, 0), "u");
    CHECK_NEAR(antler_series_dt(last), 0.5, 0.0);
    antler_series_free(last);
    antler_series_free(first);
    antler_series_free(series);
}

/* ---- training ---------------------------------------------------------------------------------------- */

enum { ROWS = 600, PARAMETERS = 512, LOG = 64 };

/* An oscillation that slows down; from row `from` on, all values are larger by `shift`. */
static antler_series *oscillation(size_t rows, size_t from, double shift)
{
    antler_series *series = NULL;
    double x[2 * ROWS];
    for (size_t t = 0; t < rows; t++) {
        const double phase = 0.3 * (double)t - 5e-5 * (double)(t * t);
        x[2 * t] = 3.0 + 2.0 * cos(phase) + (t >= from ? shift : 0.0);
        x[2 * t + 1] = sin(phase) + 0.3 * cos(2.0 * phase) + (t >= from ? shift : 0.0);
    }
    CHECK_OK(antler_series_create(2, 0, &series));
    CHECK_OK(antler_series_append(series, rows, x, NULL));
    return series;
}

static antler_settings small_settings(void)
{
    antler_settings s;
    antler_settings_default(&s);
    s.latent_dim = 3;
    s.hidden_dim = 8;
    s.sequence_length = 20;
    s.batch_size = 4;
    s.updates = 60;
    s.log_interval = 5;
    s.kappa = 0.9;
    s.gtf_alpha = 0.15;
    s.start_lr = 1e-2;
    s.validation = 0.0;
    s.threads = 2;
    s.runs = 2;
    s.device = ANTLER_DEVICE_CPU;
    return s;
}

static antler_settings validated_settings(void)
{
    antler_settings s = small_settings();
    s.validation = 0.2;
    s.validation_interval = 15;
    return s;
}

typedef struct outcome {
    double parameters[PARAMETERS], best[PARAMETERS], mean[2], scale[2];
    antler_validation validation;
    antler_train_row rows[LOG];
    size_t count; /* of rows of run 2 */
    atomic_size_t asked;
    size_t period; /* stop at every period-th question */
} outcome;

static void on_row(void *cookie, const antler_train_row *row)
{
    outcome *o = cookie;
    if (row->run == 2)
        o->rows[o->count++] = *row;
}

static int on_stop(void *cookie)
{
    outcome *o = cookie;
    return o->period > 0 && (atomic_fetch_add(&o->asked, 1) + 1) % o->period == 0;
}

static void read_parameters(const antler_model *model, double *to)
{
    for (size_t i = 0, at = 0; i < antler_model_parameter_count(model); i++) {
        antler_parameter p;
        CHECK_OK(antler_model_parameter_at(model, i, &p));
        assert_true(at + p.rows * p.columns <= PARAMETERS);
        memcpy(to + at, p.values, p.rows * p.columns * sizeof *to);
        at += p.rows * p.columns;
    }
}

/* Train to the end over all stops; what run 2 has learnt. */
static void train(const antler_settings *s, const antler_series *series, outcome *o)
{
    antler_trainer *trainer = NULL;
    antler_model *model = NULL, *best = NULL;
    const antler_train_events events = {
        .struct_size = sizeof events, .cookie = o, .row = on_row, .stop = on_stop};
    CHECK_OK(antler_trainer_create(s, series, &trainer));
    antler_status status = ANTLER_CANCELLED;
    while (status == ANTLER_CANCELLED)
        status = antler_trainer_run(trainer, &events, NULL);
    CHECK_OK(status);
    CHECK_OK(antler_trainer_model(trainer, 2, &model));
    read_parameters(model, o->parameters);
    assert_true(antler_model_scaling(model, o->mean, o->scale));
    if (s->validation > 0.0) {
        CHECK_OK(antler_trainer_best_model(trainer, 2, &o->validation, &best));
        read_parameters(best, o->best);
    } else {
        CHECK_FAILS(antler_trainer_best_model(trainer, 2, NULL, &best), ANTLER_ERROR_ARGUMENT,
                    "was not validated");
    }
    antler_model_free(best);
    antler_model_free(model);
    antler_trainer_free(trainer);
}

static outcome *new_outcome(void)
{
    outcome *o = calloc(1, sizeof *o);
    assert_non_null(o);
    return o;
}

/* Training with a held-back share is training on the cut series: windows and statistics see nothing else. */
static void test_only_observes(void **state)
{
    (void)state;
    const antler_settings with = validated_settings(), without = small_settings();
    antler_series *whole = oscillation(ROWS, ROWS, 0.0), *cut = oscillation(ROWS / 5 * 4, ROWS, 0.0);
    antler_series *other = oscillation(ROWS, ROWS / 5 * 4, 7.0); /* other values in the held-back rows */
    outcome *a = new_outcome(), *b = new_outcome(), *c = new_outcome();
    train(&with, whole, a);
    train(&without, cut, b);
    train(&with, other, c);
    assert_memory_equal(a->parameters, b->parameters, sizeof a->parameters);
    assert_memory_equal(a->parameters, c->parameters, sizeof a->parameters);
    assert_memory_equal(a->mean, b->mean, sizeof a->mean);
    assert_memory_equal(a->scale, c->scale, sizeof a->scale);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        assert_true(a->rows[i].loss == b->rows[i].loss && isnan(b->rows[i].val_dstsp));
    assert_true(a->validation.prediction_error != c->validation.prediction_error);
    free(c);
    free(b);
    free(a);
    antler_series_free(other);
    antler_series_free(cut);
    antler_series_free(whole);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Rows have the measures every 15 updates and at the end; stops at any update change nothing. */
static void test_rows_and_stops(void **state)
{
    (void)state;
    antler_settings s = validated_settings();
    s.updates = 52;
    antler_series *series = oscillation(ROWS, ROWS, 0.0);
    outcome *whole = new_outcome();
    train(&s, series, whole);
    size_t validated = 0;
    double lowest = INFINITY;
    for (size_t i = 0; i < whole->count; i++) {
        const antler_train_row *row = &whole->rows[i];
        const bool due = row->update % 15 == 0 || row->update == 52;
        assert_true(isnan(row->val_dstsp) == !due && isnan(row->val_hellinger) == !due);
        assert_true(isnan(row->val_prediction_error) == !due);
        validated += due ? 1 : 0;
        lowest = due && row->update == whole->validation.update ? row->val_prediction_error : lowest;
    }
    assert_int_equal(validated, 4);
    CHECK_NEAR(lowest, whole->validation.prediction_error, 0.0);
    for (size_t period = 7; period < 50; period += 10) {
        outcome *o = new_outcome();
        o->period = period;
        train(&s, series, o);
        assert_int_equal(o->count, whole->count);
        for (size_t i = 0; i < o->count; i++)
            assert_true(same(o->rows[i].val_dstsp, whole->rows[i].val_dstsp));
        assert_memory_equal(o->best, whole->best, sizeof o->best);
        assert_memory_equal(&o->validation, &whole->validation, sizeof o->validation);
        free(o);
    }
    free(whole);
    antler_series_free(series);
}

/* A validation between two rows is in the next of them. */
static void test_next_row(void **state)
{
    (void)state;
    antler_settings s = validated_settings();
    s.validation_interval = 22;
    s.log_interval = 10;
    antler_series *series = oscillation(ROWS, ROWS, 0.0);
    outcome *o = new_outcome();
    train(&s, series, o);
    for (size_t i = 0; i < o->count; i++) {
        const size_t update = o->rows[i].update;
        assert_true(isnan(o->rows[i].val_dstsp) == !(update == 30 || update == 50 || update == 60));
    }
    free(o);
    antler_series_free(series);
}

/* ---- what is kept, and when -------------------------------------------------------------------------- */

static void test_best(void **state)
{
    (void)state;
    const ant_validation_measures m = {1.0, 2.0, 3.0};
    const double scores[] = {INFINITY, 5.0, 6.0, 5.0, INFINITY, NAN};
    const size_t best[] = {10, 20, 20, 40, 40, 40}; /* of equal ones the later */
    ant_run run;
    CHECK_OK(ant_run_create(&run, 1, 2));
    for (size_t i = 0; i < 6; i++) {
        run.update = 10 * (i + 1);
        run.state.parameters[1] = (double)run.update;
        ant_run_keep_validation(&run, 2, &m, scores[i]);
        assert_int_equal(run.best.update, best[i]);
        CHECK_NEAR(run.best.parameters[1], (double)best[i], 0.0);
        CHECK_NEAR(run.validation.hellinger, 2.0, 0.0);
    }
    ant_run_destroy(&run);
}

static void test_due(void **state)
{
    (void)state;
    antler_settings s = validated_settings();
    ant_run run = {0};
    size_t due = 0;
    for (run.update = 1; run.update <= s.updates; run.update++)
        due += ant_run_validation_due(&run, &s) ? 1 : 0;
    assert_int_equal(due, 4);
    s.validation_interval = 59;
    run.update = 60;
    assert_true(ant_run_validation_due(&run, &s)); /* the last one */
    s.validation_interval = 0;
    assert_false(ant_run_validation_due(&run, &s));
}

/* At most 15, a multiple of log_interval, and few where the training is short beside the held-back rows. */
static void test_interval(void **state)
{
    (void)state;
    antler_settings s;
    antler_settings_default(&s);
    antler_series *series = oscillation(ROWS, ROWS, 0.0);
    const ant_held_back held_back = {.series = series};
    assert_int_equal(ant_validation_interval(&s, &held_back, false), 1400); /* 20,000 / 15 */
    s.log_interval = 1;
    assert_int_equal(ant_validation_interval(&s, &held_back, false), 1334);
    s.updates = 10;
    assert_int_equal(ant_validation_interval(&s, &held_back, false), 10);
    s.log_interval = 100;
    assert_int_equal(ant_validation_interval(&s, &held_back, false), 10);
    s.updates = 300; /* 1,200 rows that cost 8 steps each: a twentieth of 960,000 steps is 5 validations */
    s.log_interval = 1;
    assert_int_equal(ant_validation_interval(&s, &held_back, false), 60);
    assert_int_equal(ant_validation_interval(&s, &held_back, true), 150);
    antler_series_free(series);
}

/* The number that was chosen is what the training uses. */
static void test_interval_is_resolved(void **state)
{
    (void)state;
    antler_settings s = validated_settings();
    s.validation_interval = 0;
    antler_series *series = oscillation(ROWS, ROWS, 0.0);
    outcome *o = new_outcome();
    train(&s, series, o);
    size_t validated = 0;
    for (size_t i = 0; i < o->count; i++)
        validated += isnan(o->rows[i].val_dstsp) ? 0 : 1;
    assert_true(validated >= 1 && validated <= 15);
    free(o);
    antler_series_free(series);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

static void expect_fault(antler_settings s, size_t rows, antler_status status, const char *fragment)
{
    antler_series *series = oscillation(rows, rows, 0.0);
    antler_trainer *trainer = NULL;
    CHECK_FAILS(antler_trainer_create(&s, series, &trainer), status, fragment);
    antler_series_free(series);
}

static void test_faults(void **state)
{
    (void)state;
    antler_settings s = validated_settings();
    s.validation = 0.1;
    expect_fault(s, ROWS, ANTLER_ERROR_ARGUMENT,
                 "holds back 60 rows of the longest trajectory, and 104 are needed");
    s = validated_settings();
    s.sequence_length = 480;
    expect_fault(s, ROWS, ANTLER_ERROR_ARGUMENT, "has 480 without those held back for validation");
    s = small_settings();
    s.validation_interval = 10;
    expect_fault(s, ROWS, ANTLER_ERROR_ARGUMENT, "does nothing without held-back rows");
    s = validated_settings();
    snprintf(s.validation_data, sizeof s.validation_data, "test.npy");
    s.validation = 0.0;
    expect_fault(s, ROWS, ANTLER_ERROR_NOT_FOUND, "validation_data: test.npy");
}

/* A variable that stands still in the held-back rows, or in those for training, is named with its place. */
static void test_constant_variable(void **state)
{
    (void)state;
    const antler_settings s = validated_settings();
    for (int late = 0; late < 2; late++) {
        double x[2 * ROWS];
        for (size_t t = 0; t < ROWS; t++) {
            x[2 * t] = sin(0.3 * (double)t);
            x[2 * t + 1] = (t >= ROWS / 5 * 4) == (late == 1) ? 1.0 : sin(0.2 * (double)t);
        }
        antler_series *series = NULL;
        antler_trainer *trainer = NULL;
        CHECK_OK(antler_series_create(2, 0, &series));
        CHECK_OK(antler_series_append(series, ROWS, x, NULL));
        CHECK_FAILS(antler_trainer_create(&s, series, &trainer), ANTLER_ERROR_DATA,
                    late == 1 ? "the held-back rows: " : "the rows for training: ");
        antler_series_free(series);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_only_observes),
        cmocka_unit_test(test_rows_and_stops),
        cmocka_unit_test(test_next_row),
        cmocka_unit_test(test_best),
        cmocka_unit_test(test_due),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_interval_is_resolved),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_constant_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
