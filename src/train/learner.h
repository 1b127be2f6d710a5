/*
 * learner.h - one run's numbers: parameters, moments, the plan that solves its windows, and one update.
 *
 * A learner exists for float and for double; the code above it knows only this table.  After create, an
 * update allocates nothing.
 */
#ifndef ANT_TRAIN_LEARNER_H
#define ANT_TRAIN_LEARNER_H

#include "model/model.h"
#include "train/dataset.h"

typedef struct ant_learner_config {
    const antler_settings *settings;
    const ant_dataset *dataset;
    const ant_model_layout *layout;
    uint32_t run; /* the replica of random streams, from 1 */
    int threads;  /* inside this run */
} ant_learner_config;

/* What moves from update to update, in double, where floats are exact.  Each: (layout.total). */
typedef struct ant_learner_state {
    double *parameters;
    double *m, *v; /* moments of the optimiser */
} ant_learner_state;

/* What one update found. */
typedef struct ant_update {
    double loss, mar, readout, singular;
    int iterations;
    size_t fallbacks;
    double lr, alpha, gradient_norm;      /* alpha is NaN where nothing is forced */
    double states_agree, gradient_agrees; /* NaN unless checked */
} ant_update;

typedef struct ant_learner_ops {
    antler_status (*create)(const ant_learner_config *config, void **learner);
    void (*free)(void *learner);
    /* Draw initial parameters (SPEC 4); moments are zero. */
    antler_status (*initialise)(void *learner);
    /* Update number `update`, from 1.  ANTLER_DIVERGED: with the term in the sentence; see `good`. */
    antler_status (*update)(void *learner, uint32_t update, ant_update *result);
    void (*get)(const void *learner, const ant_learner_state *state);
    void (*put)(void *learner, const ant_learner_state *state);
    /* The last parameters whose loss and gradient were finite.  parameters: (total). */
    void (*good)(const void *learner, double *parameters);
    const char *(*solver)(const void *learner); /* its name */
    const char *(*choice)(const void *learner); /* and why it was taken */
} ant_learner_ops;

extern const ant_learner_ops ant_learner_ops_f32, ant_learner_ops_f64;

/* A parameter beyond this has exploded, whatever the loss says. */
#define ANT_PARAMETER_LIMIT 1e6

/* ANTLER_DIVERGED with the update, what was not finite, and what to try; or with the parameter that exploded.
 */
antler_status ant_learner_diverged(const ant_model_layout *layout, size_t update, const char *term);
antler_status ant_learner_exploded(const ant_model_layout *layout, size_t update, size_t parameter);

#endif
