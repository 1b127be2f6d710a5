/* simulated.h - short simulations for unit tests. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include "check.h"

#include <stdlib.h>

/* The defaults without transient and standardising, with all variables. */
static inline antler_simulate_opts plain_opts(const char *system)
{
    antler_simulate_opts o;
    CHECK_OK(antler_simulate_opts_default(system, &o));
    o.transient = 0.0;
    o.standardise = false;
    o.all_variables = true;
    return o;
}

/* Simulate and return the values: (length, dim), freed by the test. */
static inline double *simulate(const antler_simulate_opts *o)
{
    antler_series *series = NULL;
    CHECK_OK(antler_simulate(o, &series));
    const size_t dim = antler_series_dim(series);
    assert_int_equal(antler_series_count(series), 1);
    assert_int_equal(antler_series_length(series, 0), o->length);
    double *x = malloc(o->length * dim * sizeof *x);
    assert_non_null(x);
    CHECK_OK(antler_series_read_f64(series, 0, 0, o->length, x, NULL));
    antler_series_free(series);
    return x;
}

#endif
