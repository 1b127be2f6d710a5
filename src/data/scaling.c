/*
 * scaling.c - standardisation, applied when values are read.
 *
 * Two affine maps are kept.  Each column carries value = (stored - shift) / divisor; the set carries
 * user = value * scale + mean.  A new step value' = (value - m) / s composes with both:
 *     shift' = shift + m * divisor,  divisor' = divisor * s
 *     mean'  = mean + m * scale,     scale'   = scale * s
 */
#include "data/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* m, s: (dim), finite, s > 0 */
static void compose(antler_series *series, const double *m, const double *s)
{
    for (size_t p = 0; p < series->part_count; p++)
        for (size_t v = 0; v < series->dim; v++) {
            ant_column *column = &series->parts[p].columns[v];
            column->shift += m[v] * column->divisor;
            column->divisor *= s[v];
        }
    for (size_t v = 0; v < series->dim; v++) {
        series->mean[v] += m[v] * series->scale[v];
        series->scale[v] *= s[v];
    }
    series->scaled = true;
}

/* Check that variable v can be divided by its standard deviation. */
static antler_status judge(const antler_series *series, size_t v, const antler_variable_stats *stats)
{
    const char *name = series->names[v];
    ANT_CHECK(stats->nan == 0 && stats->inf == 0, ANTLER_ERROR_DATA,
              "%s has %zu values that are not finite and cannot be standardised; remove or interpolate them",
              name, stats->nan + stats->inf);
    ANT_CHECK(stats->min != stats->max, ANTLER_ERROR_DATA,
              "%s is constant (%g) and cannot be standardised; leave it out with --columns", name,
              stats->min);
    ANT_CHECK(isnormal(stats->sd) && isfinite(stats->max - stats->mean) && isfinite(stats->mean - stats->min),
              ANTLER_ERROR_DATA, "%s has deviations outside the range of double precision; rescale it", name);
    return ANTLER_OK;
}

antler_status antler_series_standardise(antler_series *series)
{
    ANT_CHECK(series != NULL && series->total_length > 0, ANTLER_ERROR_ARGUMENT,
              "an empty series cannot be standardised");
    const size_t dim = series->dim;
    antler_status status = ANTLER_OK;
    antler_variable_stats *stats = calloc(dim, sizeof *stats);
    double *mean = calloc(dim, sizeof *mean), *sd = calloc(dim, sizeof *sd);
    if (stats == NULL || mean == NULL || sd == NULL) {
        status = ant_fail_memory(dim * (sizeof *stats + 2 * sizeof *mean), "a standardisation");
        goto done;
    }
    status = ant_series_stats_range(series, 0, dim, stats);
    for (size_t v = 0; v < dim && status == ANTLER_OK; v++) {
        status = judge(series, v, &stats[v]);
        mean[v] = stats[v].mean;
        sd[v] = stats[v].sd;
    }
    if (status == ANTLER_OK)
        compose(series, mean, sd);
done:
    free(stats);
    free(mean);
    free(sd);
    return status;
}

antler_status antler_series_apply_scaling(antler_series *series, const double *mean, const double *scale)
{
    ANT_CHECK(series != NULL && mean != NULL && scale != NULL, ANTLER_ERROR_ARGUMENT,
              "a scaling needs a series, means and scales");
    for (size_t v = 0; v < series->dim; v++)
        ANT_CHECK(isfinite(mean[v]) && isfinite(scale[v]) && scale[v] > 0.0, ANTLER_ERROR_ARGUMENT,
                  "the scaling of %s is (x - %g) / %g; the mean must be finite and the scale positive",
                  series->names[v], mean[v], scale[v]);
    compose(series, mean, scale);
    return ANTLER_OK;
}

void ant_series_set_scaling(antler_series *series, const double *mean, const double *scale)
{
    memcpy(series->mean, mean, series->dim * sizeof *mean);
    memcpy(series->scale, scale, series->dim * sizeof *scale);
    series->scaled = true;
}

bool antler_series_scaling(const antler_series *series, double *mean, double *scale)
{
    if (series == NULL || mean == NULL || scale == NULL)
        return false;
    if (!series->scaled)
        return false;
    if (mean != NULL)
        memcpy(mean, series->mean, series->dim * sizeof *mean);
    if (scale != NULL)
        memcpy(scale, series->scale, series->dim * sizeof *scale);
    return true;
}
