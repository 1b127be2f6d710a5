/*
 * trial.h - one trial of a fit: a candidate, trained with several runs in a folder, each run judged on
 * held-back rows.
 */
#ifndef ANT_FIT_TRIAL_H
#define ANT_FIT_TRIAL_H

#include "fit/propose.h"
#include "measure/validation.h"

/* What all trials of a fit share. */
typedef struct ant_fit_context {
    const antler_series *series; /* all rows; a training holds some back by itself */
    const antler_series *held_back;
    const antler_series *others; /* the rows that are not held back, for the floor */
    ant_validation_opts opts;
    ant_validation_measures floor; /* of the data themselves */
    bool has_floor;                /* both floors: known once there is a model, which gives the units */
    ant_validation_opts whole;     /* for all rows; its `rows` 0: half of the data is too short for a floor */
    ant_validation_measures whole_floor; /* between the halves of the data; NaN: none */
    const antler_series *halves[2];
    const antler_train_events *events;
} ant_fit_context;

typedef struct ant_fit_run {
    ant_validation_measures measures; /* on the held-back rows */
    ant_validation_measures whole;    /* on all rows: D_stsp and D_H; NaN: not measured */
    double score;                     /* smaller is better; infinite: diverged; NaN: not trained */
} ant_fit_run;

typedef struct ant_trial {
    ant_candidate candidate; /* its settings have runs, updates, name and seed */
    size_t rung, number;     /* from 1 */
    ant_fit_run *runs;       /* (candidate.settings.runs) */
    size_t best;             /* the run with the smallest score, from 1; 0: none yet */
} ant_trial;

antler_status ant_trial_create(ant_trial *trial);
void ant_trial_free(ant_trial *trial);

/* The score of the best run; infinite without one. */
double ant_trial_score(const ant_trial *trial);

/*
 * Train the runs, or continue what their folder holds, and judge each.  ANTLER_CANCELLED when stopped: runs
 * that were trained to their end are judged also then.
 */
antler_status ant_trial_make(ant_trial *trial, ant_fit_context *context);

/* Leave out the best run: the next best takes its place. */
void ant_trial_drop_best(ant_trial *trial);

/* The folder of one run of a trial, and in it the model that validated best. */
antler_status ant_trial_folder(const ant_trial *trial, size_t run, size_t bytes, char *path);
antler_status ant_trial_best(const ant_trial *trial, size_t run, size_t bytes, char *path);

#endif
