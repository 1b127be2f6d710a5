/*
 * strength_device.h - estimates of alpha (spec 10) by the learner of a device, beside those of
 * solve/alpha_estimate.h, on the same parameters and windows.
 */
#ifndef ANT_TESTS_STRENGTH_DEVICE_H
#define ANT_TESTS_STRENGTH_DEVICE_H

#include "solve/alpha_estimate.h"
#include "train/learning.h"

#include <stdlib.h>

/* One update of every replica with an estimate, from the strength 0: it becomes the estimate.  settings: for
 * a device, with a method.  parameters: (replicas, total); x: (replicas, batch, T+1, N); s: (batch, T, K) or
 * NULL; alphas: (replicas), 0 also where an estimate cannot
 * be made. */
static inline antler_status estimate_on_device(const antler_settings *settings,
                                               const ant_model_layout *layout, size_t replicas,
                                               const double *parameters, const double *x, const double *s,
                                               double *alphas)
{
    const size_t total = layout->total, T = settings->sequence_length;
    const size_t values = settings->batch_size * (T + 1) * layout->dims.N;
    antler_settings own = *settings;
    const ant_engine *engine = NULL;
    void *learner = NULL;
    uint32_t *runs = calloc(replicas, sizeof *runs);
    double *moments = calloc(total, sizeof *moments);
    ant_tally *tallies = calloc(replicas, sizeof *tallies);
    ant_outcome *outcomes = calloc(replicas, sizeof *outcomes);
    own.gtf_alpha_interval = 1;
    own.gtf_alpha_decay = 0.0;
    own.updates = 1;
    ant_engine_learning work = ant_learning_describe(&own, layout);
    work.replicas = replicas;
    work.runs = runs;
    antler_status status = ant_learning_engine(&own, &engine);
    const ant_learner_ops *ops = status == ANTLER_OK ? engine->learner : NULL;
    if (status == ANTLER_OK)
        status = ops->create(&work, &learner);
    for (size_t i = 0; i < replicas && status == ANTLER_OK; i++) {
        status = ops->put(learner, i, 0, parameters + i * total, moments, moments);
        if (status == ANTLER_OK)
            status = ops->put_alpha(learner, i, 0.0);
        if (status == ANTLER_OK)
            status = ops->set_windows(learner, i, x + i * values, s);
    }
    if (status == ANTLER_OK)
        status = ops->run(learner, 1, tallies, outcomes);
    for (size_t i = 0; i < replicas && status == ANTLER_OK; i++)
        alphas[i] = outcomes[i].alpha;
    if (ops != NULL)
        ops->free(learner);
    free(outcomes);
    free(tallies);
    free(moments);
    free(runs);
    return status;
}

/* The same by solve/alpha_estimate.h, for one replica; 0 where it cannot be made. */
static inline antler_status estimate_on_cpu(const antler_settings *settings, const ant_model_layout *layout,
                                            const double *parameters, const double *x, double *alpha)
{
    const size_t T = settings->sequence_length, batch = settings->batch_size;
    ant_alpha_estimator *e = NULL;
    double norm = 0.0;
    ANT_TRY(ant_alpha_create(&layout->dims, (ant_alpha_method)settings->gtf_alpha_method, batch, &e));
    antler_status status = ant_alpha_begin(e, parameters);
    for (size_t i = 0; i < batch; i++) {
        for (size_t t = 1; t <= T && status == ANTLER_OK; t++)
            status = ant_alpha_add(e, i, x + (i * (T + 1) + t) * layout->dims.N);
    }
    if (status == ANTLER_OK)
        status = ant_alpha_norm(e, &norm);
    *alpha = status == ANTLER_OK ? ant_alpha_of_norm(norm) : 0.0;
    ant_alpha_free(e);
    return status;
}

#endif
