/* Spikes and saturation: what is noted, and what ordinary data are not noted for. */
#include "data/extremes.h"
#include "model_support.h"

#include <math.h>

enum { ROWS = 2000 };

/* Two trajectories of one variable; the sentences about it, one after the other. */
static void check_two(const double *x, const double *second, const double *known, size_t count,
                      const char *want)
{
    antler_series *series = series_make(ROWS, 1, x, 0, NULL);
    ant_notes notes = {0};
    if (second != NULL)
        CHECK_OK(antler_series_append(series, ROWS, second, NULL));
    CHECK_OK(ant_extremes_notes(series, known, count, &notes));
    if ((want == NULL && notes.count > 0) ||
        (want != NULL && (notes.count != 1 || strstr(notes.texts[0], want) == NULL)))
        fail_msg("%zu notes, the first '%s', not '%s'", notes.count, notes.count > 0 ? notes.texts[0] : "",
                 want != NULL ? want : "none");
    ant_notes_clear(&notes);
    antler_series_free(series);
}

static void check_noted(const double *x, const char *want)
{
    check_two(x, NULL, NULL, 0, want);
}

/* A sine with a little noise: median 0, robust standard deviation 1.05. */
static void make_sine(double *x)
{
    fill_random(x, ROWS, 4);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = sin(0.13 * (double)t) + 0.05 * x[t];
}

static void test_spikes(void **state)
{
    (void)state;
    double x[ROWS], y[ROWS];
    make_sine(x);
    make_sine(y);
    check_noted(x, NULL);
    x[700] = -7.5;
    x[1500] = 8.0;
    check_noted(x, "has 2 spikes, single values far from all others, the first -7.5 in row 701 of");
    y[1900] = 9.0;
    check_two(x, y, NULL, 0, "has 3 spikes, single values far from all others, the first -7.5 in row 701 of");
    check_two(y, x, NULL, 0, "has 3 spikes, single values far from all others, the first 9 in row 1901 of");
    check_two(x, NULL, (double[]){-7.5, 8.0}, 2, NULL); /* other notes are about them */
    x[700] = 4.0;                                       /* not so far */
    check_noted(x, "has 1 spike, ");
    x[1500] = 0.0;
    check_noted(x, NULL);
    x[0] = x[ROWS - 1] = 50.0;
    check_noted(x, "has 2 spikes, single values far from all others, the first 50 in row 1 of");
    x[1] = x[ROWS - 2] = NAN;
    check_noted(x, "has 2 spikes, single values far from all others, the first 50 in row 1 of");
    x[ROWS - 3] = NAN; /* the last one has no neighbours that would show that it stands alone */
    check_noted(x, NULL);
}

/* What lasts, what is frequent, and what a heavy tail has, is no spike. */
static void test_no_spikes(void **state)
{
    (void)state;
    double x[ROWS];
    make_sine(x);
    for (size_t t = 900; t < 904; t++) /* four rows on end: each has a near row on one side at least */
        x[t] = 30.0;
    check_noted(x, NULL);
    make_sine(x);
    for (size_t t = 50; t < ROWS; t += 100)
        x[t] = 30.0 + 1e-3 * (double)t;
    check_noted(x, NULL);
    size_t noted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fill_random(x, ROWS, seed);
        for (size_t t = 0; t < ROWS; t++) /* falls with the third power */
            x[t] = copysign(1.0 / cbrt(fabs(x[t])) - 1.0, x[t]);
        antler_series *series = series_make(ROWS, 1, x, 0, NULL);
        ant_notes notes = {0};
        CHECK_OK(ant_extremes_notes(series, NULL, 0, &notes));
        noted += notes.count;
        ant_notes_clear(&notes);
        antler_series_free(series);
    }
    assert_in_range(noted, 0, 2); /* by chance */
}

/* From `level` on values become it. */
static void cut(double *x, double level)
{
    for (size_t t = 0; t < ROWS; t++)
        x[t] = fmin(x[t], level);
}

static void test_saturation(void **state)
{
    (void)state;
    double x[ROWS];
    fill_random(x, ROWS, 4);
    check_noted(x, NULL);
    cut(x, 0.875);
    check_noted(x, "is exactly 0.875, its largest value, in 1");
    for (size_t t = 0; t < ROWS; t++)
        x[t] = 0.875 - x[t];
    check_noted(x, NULL); /* nothing is less than nothing */
    for (size_t t = 0; t < ROWS; t++)
        x[t] -= 0.5;
    check_noted(x, "is exactly -0.5, its smallest value, in 1");
    fill_random(x, ROWS, 5);
    cut(x, 0.0625);
    check_noted(x, NULL); /* nearly half of the rows: a state of rest */
    fill_random(x, ROWS, 5);
    cut(x, 0.9921875);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = 64.0 * rint(2.0 * x[t]) / 64.0; /* few different values */
    check_noted(x, NULL);
    fill_random(x, ROWS, 6);
    for (size_t t = 0; t < 40; t++) /* as many beside it */
        x[10 * t] = t % 2 == 0 ? 1.5 : 1.4999;
    check_noted(x, NULL);
    fill_random(x, ROWS, 6);
    for (size_t t = 0; t < ROWS; t++)
        x[t] = t < 1000 ? x[t] : NAN;
    for (size_t t = 0; t < 9; t++) /* 9 of 1,000 values */
        x[10 * t] = 1.5;
    check_noted(x, NULL);
    x[90] = 1.5;
    check_noted(x, "is exactly 1.5, its largest value, in 10 of 2000 rows, first in row 1 of");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spikes), cmocka_unit_test(test_no_spikes),
                                       cmocka_unit_test(test_saturation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
