/* late.c - D_stsp of the last rows of long free runs that begin at rows all over the data (spec 14). */
#include "measure/late.h"

#include "data/series.h"
#include "measure/range.h"
#include "model/start.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS = 4,
    TIMES = 2, /* each run has this many times the rows of the truth at least */
};

/* Append the last rows of every trajectory. */
static antler_status append_last(const antler_series *orbits, size_t rows, antler_series *to)
{
    const size_t N = antler_series_dim(orbits);
    double *x = malloc(rows * N * sizeof *x); // (rows, N)
    antler_status status = ANTLER_OK;
    if (x == NULL)
        return ant_fail_memory(rows * N * sizeof *x, "the last rows of free runs");
    for (size_t i = 0; i < antler_series_count(orbits) && status == ANTLER_OK; i++) {
        status = antler_series_read_f64(orbits, i, antler_series_length(orbits, i) - rows, rows, x, NULL);
        if (status == ANTLER_OK)
            status = antler_series_append(to, rows, x, NULL);
    }
    free(x);
    return status;
}

/* The last rows of the long runs, in the model's units: `rows` of each. */
static antler_status run_long(const antler_model *model, const antler_series *starts, size_t steps,
                              size_t rows, antler_series *late)
{
    antler_generate_opts opts;
    antler_series *orbits = NULL;
    antler_generate_opts_default(&opts);
    opts.start.context = starts;
    opts.start.trajectory = ant_series_longest(starts);
    opts.start.warmup =
        ant_model_warmup(model, ANTLER_WARMUP_AUTO, antler_series_length(starts, opts.start.trajectory) / 2);
    opts.steps = TIMES * rows > steps ? TIMES * rows : steps;
    opts.orbits = RUNS;
    opts.device = ANTLER_DEVICE_CPU;
    antler_status status = antler_generate(model, &opts, &orbits, NULL);
    if (status == ANTLER_OK)
        status = append_last(orbits, rows, late);
    antler_series_free(orbits);
    return status;
}

/*
 * A run that ends in a point can come closer than a wrong orbit where the data often rest near it, as
 * bursting neurons do.  It is no reconstruction: below this spread D_stsp is at least what histograms give to
 * orbits that never meet the data.
 */
static const double LEAST_SPREAD = 0.1;

static antler_status measure_ends(const antler_series *truth, const antler_series *late,
                                  const antler_measure_opts *opts, double *dstsp)
{
    antler_measure_result result = {0};
    double spread = 0.0;
    ANT_TRY(ant_spread(truth, late, &spread));
    const antler_status status = antler_measure(truth, late, opts, &result);
    *dstsp = spread < LEAST_SPREAD ? fmax(result.dstsp, ANT_LATE_COLLAPSED) : result.dstsp;
    antler_measure_result_clear(&result);
    return status;
}

antler_status ant_late_dstsp(const antler_model *model, const antler_series *starts, size_t steps,
                             const antler_series *truth, const ant_projection *projection,
                             const antler_measure_opts *opts, double *dstsp)
{
    const size_t rows = antler_series_total_length(truth);
    const size_t least = 2 + (opts->embed_dim - 1) * opts->embed_delay;
    antler_series *late = NULL, *projected = NULL;
    *dstsp = NAN;
    if (antler_series_input_dim(starts) > 0 || rows < least)
        return ANTLER_OK;
    ANT_TRY(antler_series_create(antler_series_dim(starts), 0, &late));
    antler_status status = run_long(model, starts, steps, rows, late);
    if (status == ANTLER_OK)
        status = ant_projection_apply(projection, late, &projected);
    if (status == ANTLER_OK)
        status = measure_ends(truth, projected, opts, dstsp);
    if (status != ANTLER_OK)
        *dstsp = INFINITY;
    antler_series_free(projected);
    antler_series_free(late);
    return status > ANTLER_OK && status != ANTLER_CANCELLED ? ANTLER_OK : status;
}
