/* ranks_of_training.h - what the ranks of one training compare at its begin and collect at its end. */
#ifndef ANT_TRAIN_RANKS_OF_TRAINING_H
#define ANT_TRAIN_RANKS_OF_TRAINING_H

#include "comm/comm.h"
#include "train/trainer.h"

/* The same data and settings on all ranks that share a run: each has read them by itself. */
antler_status ant_ranks_compare(ant_comm *comm, const antler_trainer *trainer);

/* The counts and the outcome of all ranks where each has runs of its own.  own: of this rank */
antler_status ant_ranks_collect(ant_comm *comm, antler_status own, antler_train_result *counts);

#endif
