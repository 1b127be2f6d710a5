/*
 * alpha_estimate.h - the strength of teacher forcing from the Jacobians of a shPLRNN at the teacher states of
 * a batch (spec 10), in double.
 *
 *     ant_alpha_begin(e, parameters);
 *     for each sequence, for t = 1 .. T:  ant_alpha_add(e, sequence, x_t);
 *     ant_alpha_norm(e, &norm);
 *     alpha = ant_alpha_next(alpha, ant_alpha_of_norm(norm), decay);
 *
 * A Jacobian depends on the activation pattern alone.  Rows are collected in tiles; within a tile, each
 * pattern is decomposed once, and its Jacobian is that of the pattern before it with the units that switch.
 * After create nothing is allocated.
 */
#ifndef ANT_SOLVE_ALPHA_ESTIMATE_H
#define ANT_SOLVE_ALPHA_ESTIMATE_H

#include "model/model.h"

typedef enum ant_alpha_method {
    ANT_ALPHA_CONSTANT, /* no estimate */
    ANT_ALPHA_JACOBIAN_UPPER_BOUND,
    ANT_ALPHA_BATCH_MAXIMUM,
    ANT_ALPHA_PRODUCT_UPPER_BOUND,
    ANT_ALPHA_EXPLOG,
    ANT_ALPHA_ARITHMETIC_MEAN,
    ANT_ALPHA_METHODS /* their number */
} ant_alpha_method;

const char *ant_alpha_method_name(ant_alpha_method method);

typedef struct ant_alpha_estimator ant_alpha_estimator;

/* For a shPLRNN and batches of `batch` sequences; any method but constant. */
antler_status ant_alpha_create(const ant_model_dims *dims, ant_alpha_method method, size_t batch,
                               ant_alpha_estimator **estimator);

void ant_alpha_free(ant_alpha_estimator *estimator); /* accepts NULL */

/* The method reads rows; otherwise the parameters suffice, and ant_alpha_add does nothing. */
bool ant_alpha_reads_rows(const ant_alpha_estimator *estimator);

/* Begin an estimate.  parameters: (total).  ANTLER_NON_FINITE when B is not finite. */
antler_status ant_alpha_begin(ant_alpha_estimator *estimator, const double *parameters);

/*
 * One row of a sequence < batch; the teacher state is B+ x.  x: (N).  ANTLER_NON_FINITE or
 * ANTLER_NOT_CONVERGED: the estimate cannot be finished.
 */
antler_status ant_alpha_add(ant_alpha_estimator *estimator, size_t sequence, const double *x);

/* Finish: the norm of spec 10 over all rows since begin.  Sequences without rows do not count. */
antler_status ant_alpha_norm(ant_alpha_estimator *estimator, double *norm);

/* max(0, 1 - 1/norm) */
double ant_alpha_of_norm(double norm);

/* The estimate where it is larger, else decay alpha + (1 - decay) estimate. */
double ant_alpha_next(double alpha, double estimate, double decay);

#endif
