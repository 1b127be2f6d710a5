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
    size_t bins;        /* of D_stsp, per axis; 0: Gaussian mixtures */
    size_t samples;     /* of the mixtures; 0: 1,000.  Default 0 */
    size_t late;        /* steps of the long runs at least; 0: twice the rows.  Default 0 */
    int threads;        /* of D_stsp; 0: all.  They do not change the result */
} ant_validation_opts;

enum {
    ANT_VALIDATION_ROWS = 20000, /* the default of `rows` */
    ANT_WHOLE_ROWS = 100000,     /* `rows` for all rows of a data set */
    ANT_VERDICT_SAMPLES =
        5000, /* of the mixtures of a verdict: at its limits their standard error is small */
};

/*
 * Replaces a verdict on held-back rows where these are fewer than 20 of the times over which the amplitude of
 * all rows changes: so few rows do not show the change themselves.  slow: in rows, 0 where nothing is slow
 */
void ant_verdict_on_slow(size_t rows, double slow, antler_verdict *verdict);

/* Whether more rows or runs can still make it worse: it is good, close, or undecided (`dstsp_narrow`), which
 * can become far. */
bool ant_verdict_may_worsen(const antler_verdict *verdict);

/*
 * Replaces a verdict of good or close that the measures on all rows contradict, by the limits of D_stsp and
 * D_H.  NaN in either is unknown.
 */
void ant_verdict_on_whole(const ant_validation_measures *whole, const ant_validation_measures *floor,
                          antler_verdict *verdict);

/*
 * Measures D_stsp and D_H on all rows and between their halves, and replaces a verdict of good or close that
 * they contradict.  D_stsp is by mixtures, whatever the options say (spec 14).  opts: of a validation on
 * these rows
 */
antler_status ant_verdict_check_whole(const antler_model *model, const antler_series *series,
                                      const antler_series *const halves[2], const ant_validation_opts *opts,
                                      antler_verdict *verdict);

/* Append the first rows of all trajectories that are long enough, `rows` in all at most, in the model's
 * units. */
antler_status ant_validation_take(const antler_model *model, const antler_series *from, size_t rows,
                                  antler_series *to);

/* Rows that a held-back trajectory of `dim` variables needs; shorter ones are left out. */
size_t ant_validation_rows_needed(size_t dim);

/* ANTLER_ERROR_DATA, with the number of rows, where no trajectory is long enough. */
antler_status ant_validation_choose(const antler_series *held_back, ant_validation_opts *opts);

/*
 * Free runs of the model from the first rows of the held-back trajectories, after the warm-up of
 * antler_evaluate, compared with the rows that follow it; the ends of longer ones (measure/late.h); and
 * PE(n).  On the CPU.  A model that diverges is
 * an outcome: all three are infinite then, and the status is ANTLER_OK.
 */
antler_status ant_validation_measure(const antler_model *model, const antler_series *held_back,
                                     const ant_validation_opts *opts, ant_validation_measures *out);

/*
 * D_stsp and D_H of the free runs from the first rows of all trajectories against the rows that follow, and
 * nothing else: for all rows of a data set, where the held-back ones are too few to show slow variations.  A
 * model that diverges is an outcome, as above.
 */
antler_status ant_validation_compare(const antler_model *model, const antler_series *series,
                                     const ant_validation_opts *opts, ant_validation_measures *out);

/* Whether free runs of 100,000 steps from four rows neither diverge nor end in points. */
antler_status ant_validation_stays(const antler_model *model, const antler_series *held_back,
                                   const ant_validation_opts *opts, bool *stays);

/*
 * The same measures of the data themselves: D_stsp and D_H between the held-back rows and `others`, rows of
 * the same system, and PE(n) of the forecast by the nearest row of `others`.  The model gives the units.
 */
antler_status ant_validation_floor(const antler_model *model, const antler_series *held_back,
                                   const antler_series *others, const ant_validation_opts *opts,
                                   ant_validation_measures *out);

/* The weight of the prediction error.  A good forecast of a few steps does not make up for a wrong attractor:
 * fits of a bursting neuron chose such models with a weight of 1. */
#define ANT_PREDICTION_SHARE 0.25

/*
 * One number from the three: the sum of ln(max(measure, floor) / floor).  0: nothing is worse than the data
 * themselves; smaller is better; +infinity: diverged.  (validation_score.c)
 */
double ant_validation_score(const ant_validation_measures *measured, const ant_validation_measures *floor);

/* The same with the larger excess of two sets of measures in place of each: the held-back rows, and all rows.
 */
double ant_validation_score_both(const ant_validation_measures *held_back,
                                 const ant_validation_measures *held_back_floor,
                                 const ant_validation_measures *whole,
                                 const ant_validation_measures *whole_floor);

#endif
