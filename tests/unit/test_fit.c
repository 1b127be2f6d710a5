/* test_fit.c - what a look finds in data that were made for it, the candidates, and how a budget is divided.
 */
#include "check.h"

#include "base/random.h"
#include "fit/budget.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 4000 };

static antler_series *series_of(size_t rows, size_t dim, const double *x)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(dim, 0, &series));
    CHECK_OK(antler_series_append(series, rows, x, NULL));
    return series;
}

static antler_look look_at(size_t rows, size_t dim, const double *x)
{
    antler_look look;
    antler_series *series = series_of(rows, dim, x);
    CHECK_OK(antler_look_at(series, &look));
    antler_series_free(series);
    return look;
}

static antler_series *lorenz(size_t rows)
{
    antler_simulate_opts o;
    antler_series *series = NULL;
    CHECK_OK(antler_simulate_opts_default("lorenz63", &o));
    o.length = rows;
    CHECK_OK(antler_simulate(&o, &series));
    return series;
}

static void normals(double *x, size_t count, uint32_t number)
{
    ant_stream stream = ant_stream_open(5, number, 0, ANT_PURPOSE_OBSERVATION_NOISE);
    ant_stream_normals(&stream, x, count);
}

static void sine_has_its_period(void **state)
{
    (void)state;
    static double x[ROWS];
    for (size_t t = 0; t < ROWS; t++)
        x[t] = sin(2.0 * M_PI * (double)t / 80.0);
    const antler_look look = look_at(ROWS, 1, x);
    assert_true(look.period >= 79.0 && look.period <= 81.0);
    /* cos(2 pi t / 80) falls below 1/e at t = 15.2 */
    assert_true(look.decay == 16.0 && look.delay == 8);
    assert_true(look.noise < 1e-3);
    assert_int_equal(look.dimension, 1);
}

/* An oscillation whose amplitude changes over 1500 rows, and one whose amplitude does not. */
static void slow_amplitudes_are_found(void **state)
{
    (void)state;
    static double x[ROWS], e[ROWS];
    normals(e, ROWS, 3);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = (1.0 + 0.9 * sin(2.0 * M_PI * (double)t / 1500.0)) * (sin(1.3 * (double)t) + 0.3 * e[t]);
    const antler_look look = look_at(ROWS, 1, x);
    assert_true(look.decay < 5.0);
    assert_true(look.slow > 150.0 && look.slow < 400.0);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = sin(1.3 * (double)t) + 0.3 * e[t];
    assert_true(look_at(ROWS, 1, x).slow == 0.0);
}

static void noise_is_found(void **state)
{
    (void)state;
    static double x[ROWS], e[ROWS];
    normals(e, ROWS, 0);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = sqrt(2.0) * sin(2.0 * M_PI * (double)t / 80.0) + 0.1 * e[t];
    const antler_look look = look_at(ROWS, 1, x);
    assert_true(fabs(look.noise - 0.1) < 0.01);
    const antler_look white = look_at(ROWS, 1, e);
    assert_true(fabs(white.noise - 1.0) < 0.05);
    assert_true(white.decay == 1.0);
}

/* 12 channels that mix two oscillations, with noise. */
static void channels_that_move_together(void **state)
{
    (void)state;
    enum { N = 12 };
    static double x[ROWS * N], e[ROWS * N], mix[2 * N];
    normals(e, ROWS * N, 1);
    normals(mix, 2 * N, 2);
    for (size_t t = 0; t < ROWS; t++) {
        const double u = sin(0.05 * (double)t), v = sin(0.05 * sqrt(5.0) * (double)t);
        for (size_t n = 0; n < N; n++)
            x[t * N + n] = mix[n] * u + mix[N + n] * v + 0.05 * e[t * N + n];
    }
    const antler_look look = look_at(ROWS, N, x);
    assert_int_equal(look.dimension, 2);
    antler_settings base;
    antler_settings_default(&base);
    assert_true(ant_propose(&look, &base, 0).settings.latent_dim < N);
}

/* x, y, z of Lorenz-63 determine their future; x alone does not. */
static void hidden_variables_are_found(void **state)
{
    (void)state;
    static double x[ROWS];
    antler_look look;
    antler_series *whole = lorenz(ROWS);
    CHECK_OK(antler_look_at(whole, &look));
    assert_false(look.hidden);
    double *all = malloc(ROWS * 3 * sizeof *all);
    assert_non_null(all);
    CHECK_OK(antler_series_read_f64(whole, 0, 0, ROWS, all, NULL));
    for (size_t t = 0; t < ROWS; t++)
        x[t] = all[3 * t];
    free(all);
    antler_series_free(whole);
    assert_true(look_at(ROWS, 1, x).hidden);
}

static void every_candidate_is_allowed(void **state)
{
    (void)state;
    antler_settings base;
    antler_settings_default(&base);
    const size_t dims[] = {1, 3, 40}, rows[] = {40, 300, 100000};
    size_t doubled = 0, halved = 0;
    for (size_t i = 0; i < 27; i++) {
        antler_look look = {.trajectories = 1,
                            .dim = dims[i % 3],
                            .rows = rows[i / 3 % 3],
                            .usual = rows[i / 3 % 3],
                            .decay = i < 18 ? 10.0 : 1000.0,
                            .dimension = i % 2 == 0 ? 1 : dims[i % 3],
                            .delay = 5,
                            .hidden = i % 2 == 0};
        ant_stream stream = ant_stream_open(1, 0, (uint32_t)i, ANT_PURPOSE_FIT);
        assert_true(ant_propose_count(&look) >= 5);
        for (size_t k = 0; k < ant_propose_count(&look); k++) {
            const ant_candidate c = ant_propose(&look, &base, k);
            CHECK_OK(antler_settings_check(&c.settings, NULL));
            assert_true(c.settings.sequence_length < look.usual);
            assert_true(c.reason[0] != '\0');
            ant_candidate varied = c;
            for (size_t v = 0; v < 20; v++) { /* variations of variations */
                const size_t hidden = varied.settings.hidden_dim;
                varied = ant_vary(&look, &varied.settings, &stream);
                doubled += varied.settings.hidden_dim == 2 * hidden;
                halved += varied.settings.hidden_dim == hidden / 2;
                CHECK_OK(antler_settings_check(&varied.settings, NULL));
                assert_true(varied.settings.sequence_length < look.usual);
            }
        }
    }
    assert_true(doubled > 10 && halved > 10); /* the hidden units go both ways */
    antler_look map = {
        .trajectories = 1, .dim = 1, .rows = 10000, .usual = 10000, .decay = 1.0, .dimension = 1};
    const size_t for_maps = ant_propose_count(&map);
    for (size_t k = 0; k < 3; k++) { /* maps forget at once: few steps or very strong forcing come first */
        const ant_candidate c = ant_propose(&map, &base, k);
        assert_true(c.settings.sequence_length == 10 || c.settings.gtf_alpha == 0.8);
    }
    map.decay = 10.0;
    assert_int_equal(ant_propose_count(&map) + 3, for_maps);
    assert_int_equal(ant_propose(&map, &base, 0).settings.sequence_length, 150);
}

static double cost(const ant_fit_plan *plan, size_t rung, double seconds, size_t parallel)
{
    const ant_fit_rung *r = &plan->rung[rung];
    return seconds * (double)r->updates * (double)r->trials * (double)(r->runs / parallel);
}

static void budgets_are_kept(void **state)
{
    (void)state;
    double seconds[12];
    const double minutes[] = {0.1, 1.0, 5.0, 60.0}, rates[] = {1e-4, 1e-3, 1e-2};
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < 12; k++)
            seconds[k] = rates[i / 4];
        const ant_fit_plan plan = ant_fit_plan_make(60.0 * minutes[i % 4], seconds, 12, 2);
        double sum = 0.0;
        for (size_t rung = 0; rung < ANT_FIT_RUNGS; rung++) {
            sum += cost(&plan, rung, rates[i / 4], 2);
            assert_true(plan.rung[rung].trials >= 1 && plan.rung[rung].runs >= 2 &&
                        plan.rung[rung].updates >= 200);
            assert_true(rung == 0 || plan.rung[rung].updates >= plan.rung[rung - 1].updates);
        }
        const double last = cost(&plan, ANT_FIT_RUNGS - 1, rates[i / 4], 2);
        ant_fit_plan focused = plan;
        ant_fit_plan_focus(&focused);
        assert_int_equal(focused.rung[ANT_FIT_RUNGS - 1].trials, 1);
        assert_true(cost(&focused, ANT_FIT_RUNGS - 1, rates[i / 4], 2) <= last);
        assert_true(focused.rung[ANT_FIT_RUNGS - 1].updates >= plan.rung[ANT_FIT_RUNGS - 1].updates);
        /* the least that a fit does may exceed a tiny budget */
        assert_true(sum <= 60.0 * minutes[i % 4] || plan.rung[0].updates == 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_has_its_period),        cmocka_unit_test(noise_is_found),
        cmocka_unit_test(slow_amplitudes_are_found),  cmocka_unit_test(channels_that_move_together),
        cmocka_unit_test(hidden_variables_are_found), cmocka_unit_test(every_candidate_is_allowed),
        cmocka_unit_test(budgets_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
