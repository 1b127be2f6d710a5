/* measure.c - compares a generated series set with the true one: D_stsp, D_H, moments (spec 8). */
#include "base/machine.h"
#include "base/sized.h"
#include "data/missing.h"
#include "measure/compare.h"
#include "measure/dstsp.h"
#include "measure/noise.h"
#include "measure/spectrum.h"

#include <math.h>
#include <stdlib.h>

void(antler_measure_opts_default)(antler_measure_opts *opts, size_t struct_size)
{
    const antler_measure_opts standard = {
        .dstsp = ANTLER_DSTSP_GMM,
        .samples = 10000,
        .seed = 1,
        .bins = 30,
        .bin_margin = 0.1,
        .bin_laplace = 1e-5,
        .embed_dim = 1,
        .embed_delay = 1,
        .smoothing = 20.0,
    };
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

/* The arrays of a result are one allocation, which hellinger_each begins. */
static antler_status result_create(antler_measure_result *result, size_t dim)
{
    double *numbers = calloc(5 * dim, sizeof *numbers);
    if (numbers == NULL)
        return ant_fail_memory(5 * dim * sizeof *numbers, "the measures");
    *result = (antler_measure_result){
        .struct_size = sizeof *result,
        .dstsp = NAN,
        .hellinger = NAN,
        .cpu = ant_cpu_level_name(ant_cpu_level_best()),
        .dim = dim,
        .hellinger_each = numbers,
        .mean_true = numbers + dim,
        .mean_generated = numbers + 2 * dim,
        .sd_true = numbers + 3 * dim,
        .sd_generated = numbers + 4 * dim,
    };
    for (size_t j = 0; j < 5 * dim; j++)
        numbers[j] = NAN;
    return ANTLER_OK;
}

void antler_measure_result_clear(antler_measure_result *result)
{
    if (result == NULL)
        return;
    ANT_CLEAR(antler_measure_result, result);
    free(result->hellinger_each);
    *result = (antler_measure_result){.struct_size = sizeof *result};
}

static antler_status check_sets(const antler_series *truth, const antler_series *generated)
{
    const size_t true_dim = antler_series_dim(truth), generated_dim = antler_series_dim(generated);
    ANT_CHECK(true_dim == generated_dim, ANTLER_ERROR_DATA,
              "the true orbit has %zu variable%s and the generated one %zu: compare the same columns",
              true_dim, true_dim == 1 ? "" : "s", generated_dim);
    ANT_CHECK(antler_series_count(generated) >= 1, ANTLER_ERROR_DATA, "the generated set has no trajectory");
    for (size_t i = 0; i < antler_series_count(generated); i++)
        ANT_CHECK(antler_series_length(generated, i) >= 2, ANTLER_ERROR_DATA,
                  "trajectory %zu of the generated orbit has %zu row%s: at least 2 are needed", i + 1,
                  antler_series_length(generated, i), antler_series_length(generated, i) == 1 ? "" : "s");
    antler_status status = ant_series_check_gaps(truth, 2, true);
    return status == ANTLER_OK ? ANTLER_OK : ant_fail_within(status, "the true orbit");
}

/* Means and deviations of both; a generated value that is not finite means that the model diverged. */
static antler_status fill_statistics(const antler_series *truth, const antler_series *generated, bool gaps,
                                     antler_measure_result *result)
{
    antler_variable_stats worst = {0};
    size_t worst_variable = 0, bad = 0;
    for (size_t j = 0; j < result->dim; j++) {
        antler_variable_stats stats;
        ANT_TRY(antler_series_stats(truth, j, &stats));
        result->mean_true[j] = stats.mean;
        result->sd_true[j] = stats.sd;
        ANT_TRY(antler_series_stats(generated, j, &stats));
        result->mean_generated[j] = stats.mean;
        result->sd_generated[j] = stats.sd;
        if ((gaps ? 0 : stats.nan) + stats.inf == 0)
            continue;
        const bool earlier = bad == 0 || stats.bad_trajectory < worst.bad_trajectory ||
                             (stats.bad_trajectory == worst.bad_trajectory && stats.bad_row < worst.bad_row);
        if (earlier) {
            worst = stats;
            worst_variable = j;
        }
        bad += stats.nan + stats.inf;
    }
    ANT_CHECK(
        bad == 0, ANTLER_DIVERGED,
        "the generated orbit diverged: %s is not finite in row %zu of trajectory %zu (%zu such value%s in "
        "all)",
        antler_series_name(generated, worst_variable), worst.bad_row + 1, worst.bad_trajectory + 1, bad,
        bad == 1 ? "" : "s");
    return ANTLER_OK;
}

/* Rows that trajectory `pair` has in both sets. */
static size_t shared_rows(const antler_series *truth, const antler_series *generated, size_t pair)
{
    const size_t a = antler_series_length(truth, pair), b = antler_series_length(generated, pair);
    return a < b ? a : b;
}

enum { FEWEST_ROWS = 32 }; /* of a stretch without gaps whose spectrum is used */

/* The longest stretch in which both have values; returns its rows.  x, y: (rows) numbers, `stride` apart */
static size_t longest_stretch(const double *x, const double *y, size_t rows, size_t stride, size_t *first)
{
    size_t longest = 0, begin = 0;
    *first = 0;
    for (size_t t = 0; t < rows; t++) {
        if (isnan(x[t * stride]) || isnan(y[t * stride])) {
            begin = t + 1;
        } else if (t + 1 - begin > longest) {
            longest = t + 1 - begin;
            *first = begin;
        }
    }
    return longest;
}

/* Add the distances of one pair of trajectories to hellinger_each.  work: (2 rows N + 2 (rows/2 + 1)) */
static antler_status add_pair(const antler_series *truth, const antler_series *generated, size_t pair,
                              double smoothing, double *work, size_t *pairs, antler_measure_result *result)
{
    const size_t rows = shared_rows(truth, generated, pair);
    double *x = work;                   // (rows, N)
    double *y = x + rows * result->dim; // (rows, N)
    double *spectra = y + rows * result->dim;
    ANT_TRY(antler_series_read_f64(truth, pair, 0, rows, x, NULL));
    ANT_TRY(antler_series_read_f64(generated, pair, 0, rows, y, NULL));
    size_t longest = 0;
    for (size_t j = 0; j < result->dim; j++) {
        double distance;
        size_t first, count = longest_stretch(x + j, y + j, rows, result->dim, &first);
        const size_t at = first * result->dim + j;
        if (count < rows && count < FEWEST_ROWS)
            continue;
        const double sigma = /* the same width in frequency, whose bins are wider in a shorter stretch */
            count == rows ? smoothing : smoothing * ((double)count / (double)rows);
        ANT_TRY(ant_spectrum_distance(x + at, y + at, count, result->dim, sigma, spectra, &distance));
        result->hellinger_each[j] += distance;
        pairs[j]++;
        longest = count > longest ? count : longest;
    }
    result->hellinger_rows += longest;
    return ANTLER_OK;
}

static antler_status fill_hellinger(const antler_series *truth, const antler_series *generated,
                                    const antler_measure_opts *opts, antler_measure_result *result)
{
    const size_t dim = result->dim;
    size_t pairs = antler_series_count(truth), longest = 0;
    if (antler_series_count(generated) < pairs)
        pairs = antler_series_count(generated);
    for (size_t i = 0; i < pairs; i++) {
        const size_t rows = shared_rows(truth, generated, i);
        longest = rows > longest ? rows : longest;
    }
    const size_t numbers = 2 * longest * dim + 2 * (longest / 2 + 1);
    double *work = malloc(numbers * sizeof *work);
    size_t *used = calloc(dim, sizeof *used); // (dim): pairs of each variable
    if (work == NULL || used == NULL) {
        free(work);
        free(used);
        return ant_fail_memory(numbers * sizeof *work, "the power spectra");
    }
    for (size_t j = 0; j < dim; j++)
        result->hellinger_each[j] = 0.0;
    antler_status status = ANTLER_OK;
    double last_report = 0.0;
    for (size_t i = 0; i < pairs && status == ANTLER_OK; i++) {
        if (ant_progress_due(&last_report))
            status = ant_progress_report(opts->progress, "power spectra", (double)i / (double)pairs);
        if (status == ANTLER_OK)
            status = add_pair(truth, generated, i, opts->smoothing, work, used, result);
    }
    double sum = 0.0;
    size_t measured = 0; /* variables */
    for (size_t j = 0; j < dim; j++) {
        result->hellinger_each[j] = used[j] > 0 ? result->hellinger_each[j] / (double)used[j] : NAN;
        sum += used[j] > 0 ? result->hellinger_each[j] : 0.0;
        measured += used[j] > 0;
    }
    result->hellinger = measured > 0 ? sum / (double)measured : NAN;
    free(used);
    free(work);
    return status;
}

static antler_status fill(const antler_series *truth, const antler_series *generated, bool gaps,
                          const antler_measure_opts *opts, antler_measure_result *result)
{
    antler_status status = fill_statistics(truth, generated, gaps, result);
    if (status == ANTLER_OK)
        status = fill_hellinger(truth, generated, opts, result);
    return status == ANTLER_OK ? ant_dstsp(truth, generated, opts, result) : status;
}

/* gaps: the generated set is data, too, so that NaN is a missing value and noise is there already */
static antler_status measure(const antler_series *truth, const antler_series *generated, bool gaps,
                             const antler_measure_opts *opts, antler_measure_result *result)
{
    *result = (antler_measure_result){.struct_size = sizeof *result};
    ANT_CHECK(truth != NULL && generated != NULL && opts != NULL, ANTLER_ERROR_ARGUMENT,
              "a measure needs a true set, a generated set and options");
    ANT_OPTIONS_PART(antler_measure_opts, opts);
    ANT_TRY(ant_dstsp_check(opts));
    ANT_TRY(ant_spectrum_check_smoothing(opts->smoothing));
    ANT_TRY(check_sets(truth, generated));
    ANT_TRY(result_create(result, antler_series_dim(truth)));
    antler_series *noisy = NULL;
    antler_status status = opts->match_noise && !gaps ? ant_noise_match(truth, generated, &noisy) : ANTLER_OK;
    if (status == ANTLER_OK)
        status = fill(truth, noisy == NULL ? generated : noisy, gaps, opts, result);
    antler_series_free(noisy);
    if (status < ANTLER_OK)
        antler_measure_result_clear(result);
    return status;
}

antler_status(antler_measure)(const antler_series *truth, const antler_series *generated,
                              const antler_measure_opts *opts, antler_measure_result *result,
                              size_t struct_size)
{
    ANT_NEED(result != NULL);
    ANT_RESULT(antler_measure_result, result, struct_size, antler_measure(truth, generated, opts, &whole),
               ANT_CLEAR_REST(antler_measure_result, struct_size));
    return measure(truth, generated, false, opts, result);
}

antler_status ant_measure_data(const antler_series *truth, const antler_series *generated,
                               const antler_measure_opts *opts, antler_measure_result *result)
{
    return measure(truth, generated, true, opts, result);
}
