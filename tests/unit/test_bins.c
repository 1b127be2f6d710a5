/* test_bins.c - the binned D_stsp against dense histograms and known answers. */
#include "golden_case.h"

#include "base/random.h"
#include "measure/bins.h"

static ant_points random_points(size_t count, size_t dim, double centre, double spread, uint64_t seed)
{
    ant_stream stream = ant_stream_open(seed, 0, 0, ANT_PURPOSE_INITIAL_STATE);
    ant_points points = {.count = count, .dim = dim, .values = malloc(count * dim * sizeof(double))};
    assert_non_null(points.values);
    ant_stream_normals(&stream, points.values, count * dim);
    for (size_t i = 0; i < count * dim; i++)
        points.values[i] = centre + spread * points.values[i];
    return points;
}

static void deviations(const ant_points *points, double *sd)
{
    for (size_t j = 0; j < points->dim; j++) {
        double mean = 0.0, squares = 0.0;
        for (size_t t = 0; t < points->count; t++)
            mean += points->values[t * points->dim + j] / (double)points->count;
        for (size_t t = 0; t < points->count; t++)
            squares += pow(points->values[t * points->dim + j] - mean, 2.0) / (double)points->count;
        sd[j] = sqrt(squares);
    }
}

static antler_measure_opts bin_opts(size_t bins)
{
    antler_measure_opts o;
    antler_measure_opts_default(&o);
    o.dstsp = ANTLER_DSTSP_BINS;
    o.bins = bins;
    return o;
}

/* ---- the dense histogram ------------------------------------------------------------------------------- */

/* The cell of a point in a dense array, or -1 outside. */
static long dense_cell(const double *point, size_t dim, const double *low, const double *high, size_t bins)
{
    long cell = 0;
    for (size_t j = 0; j < dim; j++) {
        if (point[j] < low[j] || point[j] > high[j])
            return -1;
        long bin = (long)floor((point[j] - low[j]) / (high[j] - low[j]) * (double)bins);
        bin = bin == (long)bins ? bin - 1 : bin;
        cell = cell * (long)bins + bin;
    }
    return cell;
}

static double dense_divergence(const ant_points *x, const ant_points *y, const double *sd,
                               const antler_measure_opts *o, size_t *filled)
{
    const size_t dim = x->dim, cells = (size_t)lround(pow((double)o->bins, (double)dim));
    double low[3], high[3], divergence = 0.0;
    double *counts = calloc(2 * cells, sizeof *counts), total[2] = {0.0, 0.0};
    assert_non_null(counts);
    for (size_t j = 0; j < dim; j++) {
        low[j] = high[j] = x->values[j];
        for (size_t t = 0; t < x->count; t++) {
            low[j] = fmin(low[j], x->values[t * dim + j]);
            high[j] = fmax(high[j], x->values[t * dim + j]);
        }
        low[j] -= o->bin_margin * sd[j];
        high[j] += o->bin_margin * sd[j];
    }
    const ant_points *sets[] = {x, y};
    for (size_t s = 0; s < 2; s++) {
        for (size_t t = 0; t < sets[s]->count; t++) {
            const long cell = dense_cell(sets[s]->values + t * dim, dim, low, high, o->bins);
            if (cell >= 0)
                counts[2 * (size_t)cell + s] += 1.0;
        }
    }
    *filled = 0;
    for (size_t c = 0; c < cells; c++) {
        *filled += counts[2 * c] > 0.0 || counts[2 * c + 1] > 0.0;
        for (size_t s = 0; s < 2; s++)
            total[s] += counts[2 * c + s] + o->bin_laplace;
    }
    for (size_t c = 0; c < cells; c++) {
        const double p = (counts[2 * c] + o->bin_laplace) / total[0];
        const double q = (counts[2 * c + 1] + o->bin_laplace) / total[1];
        divergence += p * log(p / q);
    }
    free(counts);
    return divergence;
}

static void test_matches_dense_histogram(void **state)
{
    (void)state;
    const size_t bins[] = {2, 7, 30};
    const double laplaces[] = {1e-5, 0.5}, margins[] = {0.0, 0.1};
    for (size_t dim = 1; dim <= 3; dim++) {
        for (size_t variant = 0; variant < 12; variant++) {
            antler_measure_opts o = bin_opts(bins[variant % 3]);
            o.bin_laplace = laplaces[variant / 3 % 2];
            o.bin_margin = margins[variant / 6];
            ant_points x = random_points(700, dim, 1.0, 2.0, 10 * dim + variant);
            ant_points y = random_points(1900, dim, 1.5, 3.0, 1000 + variant); /* part of it lies outside */
            double sd[3], got = NAN;
            size_t filled = 0, expected_filled = 0;
            deviations(&x, sd);
            CHECK_OK(ant_bins_dstsp(&x, &y, sd, &o, &got, &filled));
            const double expected = dense_divergence(&x, &y, sd, &o, &expected_filled);
            if (!(fabs(got - expected) <= 1e-10 * fabs(expected)))
                fail_msg("dim %zu, bins %zu: %.17g instead of %.17g", dim, o.bins, got, expected);
            assert_int_equal(filled, expected_filled);
            assert_true(got > 0.0);
            free(y.values);
            free(x.values);
        }
    }
}

/* ---- known answers --------------------------------------------------------------------------------------
 */

static void test_same_orbit_is_zero(void **state)
{
    (void)state;
    for (size_t dim = 1; dim <= 40; dim += 13) {
        ant_points x = random_points(500, dim, 0.0, 1.0, dim);
        double sd[40], got = NAN;
        size_t filled = 0;
        antler_measure_opts o = bin_opts(30);
        deviations(&x, sd);
        CHECK_OK(ant_bins_dstsp(&x, &x, sd, &o, &got, &filled));
        assert_true(fabs(got) < 1e-12);
        free(x.values);
    }
}

/* Two cells on the diagonal of many axes: the counts are known, and bins^d exceeds 64 bits. */
static void test_many_dimensions(void **state)
{
    (void)state;
    enum { DIM = 40, TRUE_POINTS = 8, GENERATED = 12 };
    double x_values[TRUE_POINTS * DIM], y_values[GENERATED * DIM], sd[DIM], got = NAN;
    for (size_t t = 0; t < TRUE_POINTS; t++) /* 2 at the low end, 6 at the high end */
        for (size_t j = 0; j < DIM; j++)
            x_values[t * DIM + j] = t < 2 ? 0.0 : 1.0;
    for (size_t t = 0; t < GENERATED; t++) /* 9 low, 2 high, 1 low but for its last axis */
        for (size_t j = 0; j < DIM; j++)
            y_values[t * DIM + j] = t < 9 || (t == 11 && j < DIM - 1) ? 0.0 : 1.0;
    const ant_points x = {TRUE_POINTS, DIM, x_values}, y = {GENERATED, DIM, y_values};
    deviations(&x, sd);
    antler_measure_opts o = bin_opts(30);
    const double e = o.bin_laplace = 1e-60; /* so that e B = 1.2e-1 still counts */
    const double empty = 1e-60 * pow(30.0, DIM), true_sum = 8.0 + empty, generated_sum = 12.0 + empty;
    const double expected = (2.0 * log(2.0 / 9.0) + 6.0 * log(6.0 / 2.0) + e * log(e / 1.0)) / true_sum +
                            log(generated_sum / true_sum);
    size_t filled = 0;
    CHECK_OK(ant_bins_dstsp(&x, &y, sd, &o, &got, &filled));
    assert_int_equal(filled, 3);
    assert_true(fabs(got - expected) < 1e-12);
}

/* The first of 20 axes alone tells the orbits apart; with 16 bins its digits are the first to leave 64 bits.
 */
static void test_first_axis_is_not_lost(void **state)
{
    (void)state;
    enum { DIM = 20, POINTS = 10 };
    double x_values[POINTS * DIM], y_values[POINTS * DIM], sd[DIM], got = NAN;
    for (size_t t = 0; t < POINTS; t++) {
        for (size_t j = 0; j < DIM; j++)
            x_values[t * DIM + j] = y_values[t * DIM + j] = t == 0 ? 0.0 : 1.0;
        y_values[t * DIM] = 0.0;
    }
    const ant_points x = {POINTS, DIM, x_values}, y = {POINTS, DIM, y_values};
    deviations(&x, sd);
    antler_measure_opts o = bin_opts(16);
    size_t filled = 0;
    CHECK_OK(ant_bins_dstsp(&x, &y, sd, &o, &got, &filled));
    assert_int_equal(filled, 3);
}

/* No generated point inside: q is flat, and the divergence is finite. */
static void test_everything_outside(void **state)
{
    (void)state;
    ant_points x = random_points(1000, 2, 0.0, 1.0, 1), y = random_points(1000, 2, 1e9, 1.0, 2);
    antler_measure_opts o = bin_opts(30);
    double sd[2], got = NAN;
    size_t filled = 0, expected_filled = 0;
    deviations(&x, sd);
    CHECK_OK(ant_bins_dstsp(&x, &y, sd, &o, &got, &filled));
    assert_true(fabs(got - dense_divergence(&x, &y, sd, &o, &expected_filled)) < 1e-10);
    assert_true(got > 1.0);
    free(y.values);
    free(x.values);
}

/* So many axes that even log-free bins^d would overflow: the smoothing wins and nothing breaks. */
static void test_overflowing_cell_number(void **state)
{
    (void)state;
    enum { DIM = 300 };
    ant_points x = random_points(50, DIM, 0.0, 1.0, 1), y = random_points(60, DIM, 0.1, 1.0, 2);
    antler_measure_opts o = bin_opts(30);
    double sd[DIM], got = NAN;
    size_t filled = 0;
    deviations(&x, sd);
    CHECK_OK(ant_bins_dstsp(&x, &y, sd, &o, &got, &filled));
    assert_true(fabs(got) < 1e-12);
    assert_true(filled >= 50);
    free(y.values);
    free(x.values);
}

static void test_bad_options(void **state)
{
    (void)state;
    antler_measure_opts o = bin_opts(30);
    CHECK_OK(ant_bins_check(&o));
    o.bins = 1;
    assert_int_equal(ant_bins_check(&o), ANTLER_ERROR_ARGUMENT);
    o = bin_opts(2000000);
    assert_int_equal(ant_bins_check(&o), ANTLER_ERROR_ARGUMENT);
    const double bad_margins[] = {-0.1, NAN, INFINITY}, bad_laplaces[] = {0.0, -1.0, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        o = bin_opts(30);
        o.bin_margin = bad_margins[i];
        CHECK_FAILS(ant_bins_check(&o), ANTLER_ERROR_ARGUMENT, "margin");
    }
    for (size_t i = 0; i < 4; i++) {
        o = bin_opts(30);
        o.bin_laplace = bad_laplaces[i];
        CHECK_FAILS(ant_bins_check(&o), ANTLER_ERROR_ARGUMENT, "Laplace");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches_dense_histogram),
        cmocka_unit_test(test_same_orbit_is_zero),
        cmocka_unit_test(test_many_dimensions),
        cmocka_unit_test(test_first_axis_is_not_lost),
        cmocka_unit_test(test_everything_outside),
        cmocka_unit_test(test_overflowing_cell_number),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
