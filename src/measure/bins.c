/* bins.c - D_stsp from histograms whose cells are found by sorting the points (spec 8). */
#include "measure/bins.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_BINS = 1000000 };

/* A point on its way into the histogram: points with equal keys share a cell. */
typedef struct tagged {
    uint64_t key;
    size_t point; /* row among the true points, or true count + row among the generated ones */
} tagged;

/* All points that lie inside the box. */
typedef struct cells {
    size_t count;      /* of points inside */
    size_t true_count; /* numbers below this in `point` are true */
    tagged *points;    /* (count) */
} cells;

antler_status ant_bins_check(const antler_measure_opts *opts)
{
    ANT_CHECK(opts->bins >= 2 && opts->bins <= MOST_BINS, ANTLER_ERROR_ARGUMENT,
              "%zu bins per axis: give a number from 2 to %d", opts->bins, (int)MOST_BINS);
    ANT_CHECK(isfinite(opts->bin_margin) && opts->bin_margin >= 0.0, ANTLER_ERROR_ARGUMENT,
              "the bin margin is %g: give a number of standard deviations, 0 or more", opts->bin_margin);
    ANT_CHECK(isfinite(opts->bin_laplace) && opts->bin_laplace > 0.0, ANTLER_ERROR_ARGUMENT,
              "the Laplace constant is %g: give a number above 0, such as 1e-5", opts->bin_laplace);
    return ANTLER_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t left = ((const tagged *)a)->key, right = ((const tagged *)b)->key;
    return (left > right) - (left < right);
}

/* Sort by key and number the distinct keys 0, 1, ...: the same cells under small numbers. */
static uint64_t renumber(cells *c)
{
    qsort(c->points, c->count, sizeof *c->points, compare_keys);
    uint64_t number = 0;
    for (size_t i = 0; i < c->count; i++) {
        const uint64_t key = c->points[i].key;
        c->points[i].key = number;
        if (i + 1 < c->count && c->points[i + 1].key != key)
            number++;
    }
    return number + 1;
}

static double value_of(const cells *c, const ant_points *truth, const ant_points *generated, size_t i,
                       size_t axis)
{
    const size_t point = c->points[i].point;
    return point < c->true_count ? truth->values[point * truth->dim + axis]
                                 : generated->values[(point - c->true_count) * generated->dim + axis];
}

typedef struct axis_range {
    double low, high;
} axis_range;

static axis_range range_of(const ant_points *truth, size_t axis, double margin)
{
    axis_range range = {truth->values[axis], truth->values[axis]};
    for (size_t t = 1; t < truth->count; t++) {
        const double value = truth->values[t * truth->dim + axis];
        range.low = fmin(range.low, value);
        range.high = fmax(range.high, value);
    }
    range.low -= margin;
    range.high += margin;
    return range;
}

/* Extend every key by the bin along one axis and drop the points outside the range. */
static void bin_axis(cells *c, const ant_points *truth, const ant_points *generated, size_t axis,
                     axis_range range, size_t bins)
{
    const double width = range.high - range.low;
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        const double value = value_of(c, truth, generated, i, axis);
        if (!(value >= range.low && value <= range.high))
            continue;
        const double position = (value - range.low) / width * (double)bins;
        /* The upper edge belongs to the last bin. */
        const uint64_t bin = position < (double)bins ? (uint64_t)position : bins - 1;
        const uint64_t key = c->points[i].key * bins + bin;
        c->points[kept++] = (tagged){.key = key, .point = c->points[i].point};
    }
    c->count = kept;
}

/* Give every point its cell.  Keys are renumbered whenever the next axis might not fit into 64 bits. */
static void fill_cells(cells *c, const ant_points *truth, const ant_points *generated, const double *sd,
                       const antler_measure_opts *opts)
{
    uint64_t keys = 1; /* every key is below this */
    for (size_t axis = 0; axis < truth->dim; axis++) {
        if (keys > UINT64_MAX / opts->bins)
            keys = renumber(c);
        bin_axis(c, truth, generated, axis, range_of(truth, axis, opts->bin_margin * sd[axis]), opts->bins);
        keys *= opts->bins;
    }
    renumber(c);
}

/* log(exp(a) + exp(b)) */
static double log_sum(double a, double b)
{
    const double larger = fmax(a, b), smaller = fmin(a, b);
    return larger + log1p(exp(smaller - larger));
}

/*
 * With S = sum c + e B the log of p / q is log((c + e) / (c' + e)) + log(S' / S), and p sums to 1, so
 *     D = 1/S sum_occupied (c + e) log((c + e) / (c' + e)) + log(S' / S).
 * S is kept as a logarithm because B may exceed every double.
 */
static double divergence(const cells *c, size_t dim, const antler_measure_opts *opts, size_t *filled)
{
    const double laplace = opts->bin_laplace;
    double sum = 0.0, all_true = 0.0;
    *filled = 0;
    for (size_t first = 0, next; first < c->count; first = next) {
        double true_here = 0.0;
        for (next = first; next < c->count && c->points[next].key == c->points[first].key; next++)
            true_here += c->points[next].point < c->true_count ? 1.0 : 0.0;
        const double generated_here = (double)(next - first) - true_here;
        sum += (true_here + laplace) * log((true_here + laplace) / (generated_here + laplace));
        all_true += true_here;
        ++*filled;
    }
    const double log_empty = log(laplace) + (double)dim * log((double)opts->bins);
    const double log_true = log_sum(log(all_true), log_empty);
    const double log_generated = log_sum(log((double)c->count - all_true), log_empty);
    return sum * exp(-log_true) + (log_generated - log_true);
}

antler_status ant_bins_dstsp(const ant_points *truth, const ant_points *generated, const double *sd,
                             const antler_measure_opts *opts, double *dstsp, size_t *filled)
{
    cells c = {.count = truth->count + generated->count, .true_count = truth->count};
    c.points = malloc(c.count * sizeof *c.points);
    if (c.points == NULL)
        return ant_fail_memory(c.count * sizeof *c.points, "the histogram");
    for (size_t i = 0; i < c.count; i++)
        c.points[i] = (tagged){.key = 0, .point = i};
    fill_cells(&c, truth, generated, sd, opts);
    *dstsp = divergence(&c, truth->dim, opts, filled);
    free(c.points);
    return ANTLER_OK;
}
