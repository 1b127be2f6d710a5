/* test_windows.c - the packed data and the windows drawn from them. */
#include "check.h"
#include "train/dataset.h"

#include <stdlib.h>

enum { N = 2, K = 1, TRAJECTORIES = 5 };
static const size_t lengths[TRAJECTORIES] = {30, 11, 10, 200, 3};

/* Every value says where it stands: 1000 * trajectory + row, negative in variable 2, +0.5 in the input. */
static antler_series *labelled(void)
{
    antler_series *series = NULL;
    CHECK_OK(antler_series_create(N, K, &series));
    for (size_t j = 0; j < TRAJECTORIES; j++) {
        double x[200 * N], s[200];
        for (size_t i = 0; i < lengths[j]; i++) {
            s[i] = 1000.0 * (double)j + (double)i + 0.5;
            x[i * N] = 1000.0 * (double)j + (double)i;
            x[i * N + 1] = -x[i * N];
        }
        CHECK_OK(antler_series_append(series, lengths[j], x, s));
    }
    return series;
}

static void every_window_lies_in_one_trajectory(void **state)
{
    (void)state;
    antler_series *series = labelled();
    for (size_t steps = 1; steps < 199; steps += steps < 15 ? 1 : 37) {
        ant_dataset *d = NULL;
        CHECK_OK(ant_dataset_create(series, steps, false, ANTLER_PRECISION_DOUBLE, &d));
        const ant_windows windows = ant_dataset_windows(d);
        const double *x = d->x, *s = d->s;
        uint64_t expected = 0, number = 0;
        for (size_t j = 0; j < TRAJECTORIES; j++) {
            if (lengths[j] <= steps)
                continue;
            expected += lengths[j] - steps;
            for (size_t first = 0; first + steps < lengths[j]; first++, number++) {
                const size_t row = ant_windows_row(&windows, number);
                for (size_t i = 0; i <= steps; i++) {
                    const double want = 1000.0 * (double)j + (double)(first + i);
                    assert_true(x[(row + i) * N] == want && x[(row + i) * N + 1] == -want);
                    assert_true(s[row + i] == want + 0.5);
                }
            }
        }
        assert_true(d->start[d->count] == expected && number == expected);
        ant_dataset_free(d);
    }
    ant_dataset *none = NULL;
    CHECK_FAILS(ant_dataset_create(series, 200, false, ANTLER_PRECISION_FLOAT, &none), ANTLER_ERROR_ARGUMENT,
                "201 rows");
    antler_series_free(series);
}

static void starts_are_uniform_and_named_by_their_stream(void **state)
{
    (void)state;
    enum { DRAWS = 40000, BATCH = 40 };
    antler_series *series = labelled();
    ant_dataset *d = NULL;
    CHECK_OK(ant_dataset_create(series, 8, false, ANTLER_PRECISION_FLOAT, &d));
    const ant_windows windows = ant_dataset_windows(d);
    const size_t starts = (size_t)d->start[d->count];
    size_t *counts = calloc(d->rows, sizeof *counts), rows[BATCH], again[BATCH], other[BATCH];
    for (uint32_t update = 1; update <= DRAWS / BATCH; update++) {
        ant_windows_draw(&windows, 7, 1, update, BATCH, rows);
        for (size_t i = 0; i < BATCH; i++)
            counts[rows[i]]++;
    }
    double chi_square = 0.0;
    const double mean = (double)DRAWS / (double)starts;
    for (uint64_t number = 0; number < starts; number++) {
        const double off = (double)counts[ant_windows_row(&windows, number)] - mean;
        chi_square += off * off / mean;
    }
    /* starts-1 degrees of freedom, five standard deviations */
    assert_true(fabs(chi_square - (double)(starts - 1)) < 5.0 * sqrt(2.0 * (double)(starts - 1)));
    /* The first windows of a smaller batch are those of a larger one; streams differ by seed, run, update. */
    ant_windows_draw(&windows, 7, 1, 5, BATCH, rows);
    ant_windows_draw(&windows, 7, 1, 5, 3, again);
    assert_memory_equal(rows, again, 3 * sizeof *rows);
    for (int which = 0; which < 3; which++) {
        ant_windows_draw(&windows, which == 0 ? 8 : 7, which == 1 ? 2 : 1, which == 2 ? 6 : 5, BATCH, other);
        assert_memory_not_equal(rows, other, sizeof rows);
    }
    free(counts);
    ant_dataset_free(d);
    antler_series_free(series);
}

/* Standardising while packing: mean 0, sd 1, and the way back through an earlier scaling. */
static void packing_standardises_and_remembers(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    antler_series *series = NULL;
    double *x = calloc(ROWS * N, sizeof *x), old_mean[N] = {100.0, -7.0}, old_scale[N] = {3.0, 0.25};
    for (size_t i = 0; i < ROWS; i++) {
        x[i * N] = 1e6 + sin(0.37 * (double)i); /* float would lose this before it is centred */
        x[i * N + 1] = 5.0 * cos(0.11 * (double)i);
    }
    CHECK_OK(antler_series_create(N, 0, &series));
    CHECK_OK(antler_series_append(series, ROWS, x, NULL));
    CHECK_OK(antler_series_apply_scaling(series, old_mean, old_scale));
    ant_dataset *d = NULL;
    CHECK_OK(ant_dataset_create(series, 10, true, ANTLER_PRECISION_FLOAT, &d));
    const float *packed = d->x;
    assert_true(d->scaled);
    for (size_t v = 0; v < N; v++) {
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            const double p = (double)packed[i * N + v];
            mean += p / ROWS;
            square += p * p / ROWS;
            CHECK_NEAR(p * d->scale[v] + d->mean[v], x[i * N + v], 1e-6 * (v == 0 ? 1.0 : 5.0));
        }
        CHECK_NEAR(mean, 0.0, 1e-6);
        CHECK_NEAR(square, 1.0, 1e-6);
    }
    ant_dataset *same = NULL, *other = NULL;
    CHECK_OK(ant_dataset_create(series, 10, true, ANTLER_PRECISION_FLOAT, &same));
    assert_true(same->fingerprint == d->fingerprint);
    CHECK_OK(ant_dataset_create(series, 10, false, ANTLER_PRECISION_FLOAT, &other));
    assert_true(other->fingerprint != d->fingerprint);
    ant_dataset_free(d);
    ant_dataset_free(same);
    ant_dataset_free(other);
    antler_series_free(series);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_window_lies_in_one_trajectory),
        cmocka_unit_test(starts_are_uniform_and_named_by_their_stream),
        cmocka_unit_test(packing_standardises_and_remembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
