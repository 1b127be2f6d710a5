/* golden_ground.c - golden checks of systems and measures. */
#include "golden.h"

#include <antler/antler.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double trajectory_tolerance = 1e-7; /* of each variable's range */
static const double measure_tolerance = 1e-9;    /* relative */

/* ---- system_<name>: an exact trajectory ---------------------------------------------------------- */

static bool system_matches(const golden_case *c)
{
    return golden_has(c, "trajectory");
}

/* "system_lorenz63" or "system_lorenz63_b" -> lorenz63 */
static const antler_system_info *system_of(const golden_case *c)
{
    const char *name = strncmp(c->name, "system_", 7) == 0 ? c->name + 7 : c->name;
    for (size_t i = 0; i < antler_system_count(); i++) {
        const antler_system_info *system = antler_system_at(i);
        if (strncmp(system->name, name, strlen(system->name)) == 0)
            return system;
    }
    return NULL;
}

static void compare_trajectory(golden_case *c, const golden_array *want, const antler_series *series)
{
    const size_t dim = want->columns;
    double *got = malloc(want->count * sizeof *got);
    double error = 0.0;
    if (got == NULL || antler_series_read_f64(series, 0, 0, want->rows, got, NULL) != ANTLER_OK) {
        golden_broken(c, "the orbit could not be read: %s", antler_message());
        free(got);
        return;
    }
    for (size_t j = 0; j < dim; j++) {
        double low = INFINITY, high = -INFINITY, difference = 0.0;
        for (size_t t = 0; t < want->rows; t++) {
            const double value = want->values[t * dim + j];
            low = fmin(low, value);
            high = fmax(high, value);
            difference = fmax(difference, fabs(got[t * dim + j] - value));
        }
        error = fmax(error, difference / (high - low));
    }
    const double zero = 0.0;
    golden_compare(c, "trajectory / range", "double", &error, &zero, 1, trajectory_tolerance);
    free(got);
}

static void system_check(golden_case *c)
{
    const antler_system_info *system = system_of(c);
    if (system == NULL) {
        golden_broken(c, "there is no built-in system of this name");
        return;
    }
    golden_array want = golden_load(c, "trajectory");
    antler_simulate_opts opts;
    antler_series *series = NULL;
    if (!c->broken && antler_simulate_opts_default(system->name, &opts) == ANTLER_OK &&
        want.columns == system->dim) {
        opts.length = want.rows;
        opts.dt = golden_number(c, "dt", opts.dt);
        opts.has_t0 = opts.has_initial = opts.all_variables = true;
        opts.t0 = golden_number(c, "t0", 0.0);
        memcpy(opts.initial, want.values, want.columns * sizeof *opts.initial);
        opts.transient = 0.0;
        opts.standardise = false;
        if (antler_simulate(&opts, &series) == ANTLER_OK)
            compare_trajectory(c, &want, series);
        else
            golden_broken(c, "%s", antler_message());
    }
    antler_series_free(series);
    golden_free(&want);
}

/* ---- dstsp: the value for given samples ----------------------------------------------------------- */

static bool dstsp_matches(const golden_case *c)
{
    return golden_has(c, "dstsp") && golden_has(c, "samples");
}

static bool embedded_matches(const golden_case *c)
{
    return dstsp_matches(c) && golden_has(c, "embedded_x");
}

/* f times the variance (1/T) of each column: the mixture's covariance. */
static void mixture_variance(const double *x, size_t length, size_t dim, double *variance)
{
    const double factor = antler_bandwidth(ANTLER_DSTSP_GMM, length, dim);
    for (size_t j = 0; j < dim; j++) {
        double mean = 0.0, square = 0.0;
        for (size_t t = 0; t < length; t++)
            mean += x[t * dim + j] / (double)length;
        for (size_t t = 0; t < length; t++)
            square += (x[t * dim + j] - mean) * (x[t * dim + j] - mean) / (double)length;
        variance[j] = factor * square;
    }
}

static void compare_dstsp(golden_case *c, const double *x, size_t true_points, const double *y,
                          size_t generated_points, size_t dim)
{
    golden_array samples = golden_load(c, "samples"), want = golden_load(c, "dstsp");
    double *variance = calloc(dim, sizeof *variance), value = 0.0;
    if (!c->broken && variance != NULL) {
        mixture_variance(x, true_points, dim, variance);
        if (golden_has(c, "variance")) {
            golden_array expected = golden_load(c, "variance");
            if (!c->broken)
                golden_compare(c, "variance", "double", variance, expected.values, dim, measure_tolerance);
            golden_free(&expected);
        }
        const antler_progress silent = {0};
        if (antler_dstsp_samples(x, true_points, y, generated_points, dim, variance, samples.values,
                                 samples.rows, 0, silent, &value, NULL) == ANTLER_OK)
            golden_compare(c, "D_stsp", "gmm, double", &value, want.values, 1, measure_tolerance);
        else
            golden_broken(c, "%s", antler_message());
    }
    free(variance);
    golden_free(&want);
    golden_free(&samples);
}

static void dstsp_check(golden_case *c)
{
    golden_array x = golden_load(c, "x"), y = golden_load(c, "generated");
    if (!c->broken)
        compare_dstsp(c, x.values, x.rows, y.values, y.rows, x.columns);
    golden_free(&y);
    golden_free(&x);
}

static void embedded_check(golden_case *c)
{
    const size_t m = (size_t)golden_number(c, "m", 1), tau = (size_t)golden_number(c, "tau", 1);
    golden_array x = golden_load(c, "x"), y = golden_load(c, "generated"),
                 want = golden_load(c, "embedded_x");
    if (!c->broken) {
        const size_t lost = (m - 1) * tau, dim = m * x.columns;
        double *ex = malloc((x.rows - lost) * dim * sizeof *ex),
               *ey = malloc((y.rows - lost) * dim * sizeof *ey);
        if (ex == NULL || ey == NULL || antler_embed(x.values, x.rows, x.columns, m, tau, ex) != ANTLER_OK ||
            antler_embed(y.values, y.rows, y.columns, m, tau, ey) != ANTLER_OK) {
            golden_broken(c, "%s", antler_message());
        } else {
            golden_compare(c, "delay vectors", "double", ex, want.values, want.count, 0.0);
            compare_dstsp(c, ex, x.rows - lost, ey, y.rows - lost, dim);
        }
        free(ey);
        free(ex);
    }
    golden_free(&want);
    golden_free(&y);
    golden_free(&x);
}

/* ---- hellinger: distances of smoothed spectra ----------------------------------------------------- */

static bool hellinger_matches(const golden_case *c)
{
    return golden_has(c, "distance_sigma20") || golden_has(c, "distance_sigma0");
}

/* Spectra of column j of both orbits, cut to the shorter, and their distance. */
static bool column_distance(const golden_array *x, const golden_array *y, size_t j, double sigma,
                            double *spectrum_x, double *spectrum_y, double *distance)
{
    const size_t length = x->rows < y->rows ? x->rows : y->rows;
    if (antler_power_spectrum(x->values + j, length, x->columns, sigma, spectrum_x) != ANTLER_OK ||
        antler_power_spectrum(y->values + j, length, y->columns, sigma, spectrum_y) != ANTLER_OK)
        return false;
    *distance = antler_hellinger(spectrum_x, spectrum_y, length / 2 + 1);
    return true;
}

static void compare_sigma(golden_case *c, const golden_array *x, const golden_array *y, int sigma)
{
    char distance_file[64], spectrum_file[64], quantity[64];
    snprintf(distance_file, sizeof distance_file, "distance_sigma%d", sigma);
    snprintf(spectrum_file, sizeof spectrum_file, "spectrum_x_sigma%d", sigma);
    if (!golden_has(c, distance_file))
        return;
    const size_t dim = x->columns, bins = (x->rows < y->rows ? x->rows : y->rows) / 2 + 1;
    golden_array want = golden_load(c, distance_file), spectrum = {0};
    double *got = calloc(dim, sizeof *got), *sx = calloc(bins, sizeof *sx), *sy = calloc(bins, sizeof *sy);
    double *all = calloc(bins * dim, sizeof *all);
    bool good = !c->broken && got != NULL && sx != NULL && sy != NULL && all != NULL;
    for (size_t j = 0; good && j < dim; j++) {
        good = column_distance(x, y, j, sigma, sx, sy, &got[j]);
        for (size_t k = 0; k < bins; k++)
            all[k * dim + j] = sx[k];
    }
    if (!good) {
        golden_broken(c, "%s", antler_message());
    } else {
        snprintf(quantity, sizeof quantity, "D_H, sigma %d", sigma);
        golden_compare(c, quantity, "double", got, want.values, dim, measure_tolerance);
        if (golden_has(c, spectrum_file)) {
            spectrum = golden_load(c, spectrum_file);
            snprintf(quantity, sizeof quantity, "spectrum, sigma %d", sigma);
            golden_compare(c, quantity, "double", all, spectrum.values, bins * dim, measure_tolerance);
        }
    }
    golden_free(&spectrum);
    golden_free(&want);
    free(all);
    free(sy);
    free(sx);
    free(got);
}

static void hellinger_check(golden_case *c)
{
    golden_array x = golden_load(c, "x"), y = golden_load(c, "generated");
    for (int sigma = 0; !c->broken && sigma <= 100; sigma++)
        compare_sigma(c, &x, &y, sigma);
    golden_free(&y);
    golden_free(&x);
}

const golden_kind golden_system = {"system", system_matches, system_check};
const golden_kind golden_dstsp = {"dstsp", dstsp_matches, dstsp_check};
const golden_kind golden_dstsp_embedded = {"dstsp_embedded", embedded_matches, embedded_check};
const golden_kind golden_hellinger = {"hellinger", hellinger_matches, hellinger_check};
