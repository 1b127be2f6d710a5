/*
 * loop.h - the training loop: moves one or several runs on a learner (engine/learner.h) to the last update.
 *
 * On the CPU each run has a learner of its own; an engine trains all runs of a training as replicas of one
 * learner. Rows, checkpoints, stops and divergence are the same on both.
 */
#ifndef ANT_TRAIN_LOOP_H
#define ANT_TRAIN_LOOP_H

#include "train/run.h"

/*
 * Train `count` runs to the last update, a stop or a divergence each, and report the end of each; the outcome
 * is in run->status and run->message.  device: named in the first report; NULL: the CPU.  False: the device
 * has not enough memory or cannot be used, and `device: auto` leaves the runs to the CPU, unchanged.
 */
bool ant_loop_train(const ant_learner_ops *ops, const char *device, ant_run *runs, size_t count,
                    const ant_run_context *context);

#endif
