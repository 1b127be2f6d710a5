/*
 * validation.h - a model judged on rows that its training has not seen (spec 14): three measures, the same
 * three between parts of the data as their floor, and one score from both.
 */
#ifndef ANT_MEASURE_VALIDATION_H
#define ANT_MEASURE_VALIDATION_H

#include "base/status.h"

typedef struct ant_validation_measures {
    double dstsp, hellinger, prediction_error; /* infinite: diverged; NaN in a floor: left out of the score */
} ant_validation_measures;

/* What is measured.  Chosen once from the data, so that all models are measured alike. */
typedef struct ant_validation_opts {
    size_t rows;        /* free rows that are compared, over all trajectories, at most */
    size_t steps;       /* n of PE(n) */
    size_t embed_dim;   /* of D_stsp: 3 for a single variable, else 1 */
    size_t embed_delay; /* rows after which the autocorrelation falls below 1/e; 1 without an embedding */
    int threads;        /* of D_stsp; 0: all.  They do not change the result */
} ant_validation_opts;

enum { ANT_VALIDATION_ROWS = 20000 }; /* the default of `rows` */

/* Rows that a held-back trajectory of `dim` variables needs; shorter ones are left out. */
size_t ant_validation_rows_needed(size_t dim);

/* ANTLER_ERROR_DATA, with the number of rows, where no trajectory is long enough. */
antler_status ant_validation_choose(const antler_series *held_back, ant_validation_opts *opts);

/*
 * Free runs of the model from the first rows of the held-back trajectories, after the warm-up of
 * antler_evaluate, compared with the rows that follow it; and PE(n).  On the CPU.  A model that diverges is
 * an outcome: all three are infinite then, and the status is ANTLER_OK.
 */
antler_status ant_validation_measure(const antler_model *model, const antler_series *held_back,
                                     const ant_validation_opts *opts, ant_validation_measures *out);

/*
 * The same measures of the data themselves: D_stsp and D_H between the held-back rows and `others`, rows of
 * the same system, and PE(n) of the forecast by the nearest row of `others`.  The model gives the units.
 */
antler_status ant_validation_floor(const antler_model *model, const antler_series *held_back,
                                   const antler_series *others, const ant_validation_opts *opts,
                                   ant_validation_measures *out);

/*
 * One number from the three: the sum of ln(max(measure, floor) / floor).  0: nothing is worse than the data
 * themselves; smaller is better; +infinity: diverged.  (validation_score.c)
 */
double ant_validation_score(const ant_validation_measures *measured, const ant_validation_measures *floor);

#endif
