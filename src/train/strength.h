/*
 * strength.h - the strength of forcing of runs whose strength is estimated: from the windows and parameters
 * of their next update (spec 10), for learners that do not estimate it themselves.
 */
#ifndef ANT_TRAIN_STRENGTH_H
#define ANT_TRAIN_STRENGTH_H

#include "train/learning.h"

typedef struct ant_strength ant_strength;

/* *strength = NULL where gtf_alpha_method is constant.  It borrows settings and layout. */
antler_status ant_strength_create(const antler_settings *settings, const ant_model_layout *layout,
                                  ant_strength **strength);
void ant_strength_free(ant_strength *strength); /* accepts NULL */

/* Whether the strength is estimated before update number `update`, from 1. */
bool ant_strength_due(const antler_settings *settings, size_t update);

/*
 * Move *alpha by the estimate for the next update of a replica.  parameters: (total), those of now.  An
 * estimate that cannot be made leaves it as it is; what diverged shows in the gradient.
 */
antler_status ant_strength_estimate(ant_strength *strength, const ant_learner_ops *ops, void *learner,
                                    size_t replica, const double *parameters, double *alpha);

#endif
