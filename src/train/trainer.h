/* trainer.h - all runs of a training, on an engine or on the cores of the CPU. */
#ifndef ANT_TRAIN_TRAINER_H
#define ANT_TRAIN_TRAINER_H

#include "model/handle.h"
#include "train/held_back.h"
#include "train/loop.h"

struct antler_trainer {
    antler_settings settings; /* threads, segments, initial values and intervals resolved */
    ant_dataset *dataset;
    ant_held_back *held_back; /* NULL: no validation */
    ant_model_layout layout;
    const ant_engine *engine; /* NULL: the CPU */
    ant_run *runs;            /* (settings.runs) */
    size_t ranks;             /* that share the runs of a call; 0 and 1: none */
    ant_comm *comm;           /* they share each run; NULL: each rank has runs of its own */
    char start[256];          /* how the initial values were chosen; "": they were given */
};

/*
 * Train runs first .. last, from 1.  The number of threads inside a run follows from the settings alone,
 * not from how many runs are requested, so a run gives the same result alone and beside others.
 */
antler_status ant_trainer_train(antler_trainer *trainer, size_t first, size_t last,
                                const ant_run_hooks *hooks, const antler_train_events *events,
                                antler_train_result *result);

/* The model of a run in its present state, and the best one by validation. */
antler_status ant_trainer_make_model(const antler_trainer *trainer, const ant_run *run, antler_model **model);
antler_status ant_trainer_make_best(const antler_trainer *trainer, const ant_run *run, antler_model **model);

/* Validate the present models of these runs and keep what is found.  (validate.c) */
antler_status ant_trainer_validate(const antler_trainer *trainer, ant_run *const *runs, size_t count,
                                   int threads);

#endif
