/*
 * agreement.h - how far the states and the gradient of a learner are from the reference: plain loops in
 * double on the same windows and parameters.
 */
#ifndef ANT_TRAIN_AGREEMENT_H
#define ANT_TRAIN_AGREEMENT_H

#include "solve/solve.h"
#include "train/learning.h"

/*
 * Compare states (batch, T, M) and gradient (total) with the reference, on windows x (batch, T+1, N) and s
 * (batch, T, K), parameters (total) and the strength alpha of forcing.
 */
antler_status ant_agreement_compare(const antler_settings *settings, const ant_model_layout *layout,
                                    double alpha, const double *parameters, const double *x, const double *s,
                                    const double *states, const double *gradient,
                                    ant_solve_agreement *agreement);

/* The check of one update of one replica: begin before the update, end after it, free. */
typedef struct ant_check {
    double *x, *s, *states, *gradient, *parameters, *moments; /* of this one update; x = NULL: no check */
    double alpha;                                             /* set by the caller after the beginning */
} ant_check;

antler_status ant_check_begin(ant_check *check, const ant_learner_ops *ops, void *learner, size_t replica,
                              const antler_settings *settings, const ant_model_layout *layout);
antler_status ant_check_end(const ant_check *check, const ant_learner_ops *ops, void *learner, size_t replica,
                            const antler_settings *settings, const ant_model_layout *layout,
                            ant_solve_agreement *agreement);
void ant_check_free(ant_check *check);

#endif
