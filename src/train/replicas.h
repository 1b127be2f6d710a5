/*
 * replicas.h - all runs of a training at once, as replicas of one learner on an engine (engine/engine.h).
 *
 * Rows, checkpoints, stops and divergence are those of run.h; only the updates happen elsewhere, many between
 * two looks of the host.
 */
#ifndef ANT_TRAIN_REPLICAS_H
#define ANT_TRAIN_REPLICAS_H

#include "engine/engine.h"
#include "solve/solve.h"
#include "train/run.h"

/* The engine for the settings; NULL: the CPU. */
antler_status ant_replicas_engine(const antler_settings *settings, const ant_engine **engine);

/* What a learner needs to know, without replicas and data. */
ant_engine_learning ant_replicas_describe(const antler_settings *settings, const ant_model_layout *layout);

/*
 * Train `count` runs to the last update, a stop or a divergence each; `ended` is told of every one of them.
 * False: the engine has no room for them, and `device: auto` leaves them to the CPU, untouched.
 */
bool ant_replicas_train(const ant_engine *engine, ant_run *runs, size_t count, const ant_run_context *context,
                        void (*ended)(void *reporter, const ant_run *run));

/*
 * Compare states (batch, T, M) and gradient (total) with the plain loops in double, on the same windows,
 * (batch, T+1, N) and (batch, T, K), and parameters (total).
 */
antler_status ant_replicas_compare(const antler_settings *settings, const ant_model_layout *layout,
                                   const double *parameters, const double *x, const double *s,
                                   const double *states, const double *gradient,
                                   ant_solve_agreement *agreement);

#endif
