/*
 * learning.h - a training as learners take it (engine/learner.h), the learner of the CPU, and what diverged,
 * in words.
 */
#ifndef ANT_TRAIN_LEARNING_H
#define ANT_TRAIN_LEARNING_H

#include "engine/engine.h"
#include "model/model.h"

/* A parameter beyond this has diverged, whatever the loss is. */
#define ANT_PARAMETER_LIMIT 1e6

/* The engine for the settings; NULL: the CPU. */
antler_status ant_learning_engine(const antler_settings *settings, const ant_engine **engine);

/* Which missing values engines do not take, where these are of that kind: words for a sentence.  NULL: none.
 */
const char *ant_learning_gap_limit(const antler_settings *settings, const ant_lacks *lacks);

/* The description of a training for learners, without replicas and data. */
ant_engine_learning ant_learning_describe(const antler_settings *settings, const ant_model_layout *layout);

/* The learner of the CPU (learner_tmpl.c): one replica.  After create, an update allocates nothing. */
extern const ant_learner_ops ant_learner_ops_f32, ant_learner_ops_f64;
const ant_learner_ops *ant_learning_cpu(antler_precision precision);

/* ANTLER_DIVERGED with the update that diverged, the reason, and which settings to change. */
antler_status ant_learning_diverged(const ant_model_layout *layout, const ant_outcome *outcome);

#endif
