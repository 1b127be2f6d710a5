/*
 * measure_table.h - the table of measures with what computes them.
 *
 * To add a measure: one row in measure_table.c.  A forecast measure has a function of one window
 * (forecast_error.h); any other takes its value from the result of an evaluation.
 */
#ifndef ANT_MEASURE_MEASURE_TABLE_H
#define ANT_MEASURE_MEASURE_TABLE_H

#include "measure/forecast_error.h"

typedef struct ant_measure {
    antler_measure_info info;
    ant_forecast_fn *forecast; /* of forecast measures; NULL for others */
    bool search;               /* the steps of the forecast are only the limit of a search */
    bool (*wanted)(const antler_evaluate_opts *opts);
    /* Of other measures.  NaN: not measured; infinite: diverged. */
    double (*value)(const antler_evaluate_opts *opts, const antler_evaluate_result *result);
} ant_measure;

const ant_measure *ant_measure_at(size_t index); /* NULL past the end */

/* Fill `values` from all other fields of a result. */
void ant_measure_values(const antler_evaluate_opts *opts, antler_evaluate_result *result);

#endif
