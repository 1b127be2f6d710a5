/*
 * run.h - one training run from any update to any other, in memory.
 *
 * All that a run carries from update to update is here, in a form that a checkpoint can hold, so that
 * stopping, resuming and finishing are the same code as going on.
 */
#ifndef ANT_TRAIN_RUN_H
#define ANT_TRAIN_RUN_H

#include "train/learner.h"

/* Sums since the last row of the log, and since the start.  All doubles: a checkpoint holds them as one
 * array. */
typedef struct ant_tally {
    double updates;                       /* since the last row */
    double loss, mar, readout, singular;  /* sums since the last row */
    double iterations;                    /* sum since the last row */
    double states_agree, gradient_agrees; /* largest since the last row; -1: no check */
    double fallbacks;                     /* since the start */
    double seconds;                       /* since the start */
} ant_tally;

enum { ANT_TALLY_COUNT = sizeof(ant_tally) / sizeof(double) };

typedef struct ant_run {
    size_t number;           /* from 1 */
    size_t update;           /* done */
    bool begun;              /* `state` is valid; otherwise initial parameters are drawn */
    ant_learner_state state; /* while no learner is at work */
    ant_tally tally;
    antler_status status; /* of the last attempt */
    char message[512];    /* unless OK */
} ant_run;

/* The run as it moves: rows for the log, states for checkpoints.  Called on the run's own thread. */
typedef struct ant_run_hooks {
    void *cookie;
    /* Before all others; may bring the run forward.  Changes nothing of a run that `found` is to make; such a
       one is opened again after it. */
    antler_status (*open)(void *cookie, ant_run *run);
    antler_status (*prepare)(void *cookie);    /* the training can begin: make, once, what new runs need */
    void (*close)(void *cookie, ant_run *run); /* after all others */
    antler_status (*row)(void *cookie, const ant_run *run, const antler_train_row *row);
    antler_status (*save)(void *cookie, const ant_run *run); /* a checkpoint: state is up to date */
    antler_status (*diverged)(void *cookie,
                              const ant_run *run); /* diverged: state has the last good parameters */
    const char *(*folder)(void *cookie, const ant_run *run);
} ant_run_hooks;

/* What all runs of a training share. */
typedef struct ant_run_context {
    const antler_settings *settings;
    const ant_dataset *dataset;
    const ant_model_layout *layout;
    size_t runs;                /* of this call */
    int threads;                /* inside one run */
    const ant_run_hooks *hooks; /* NULL: in memory only */
    void *reporter;
    /* Serialised reports to the caller; `stop` may be called at any time. */
    void (*begin)(void *reporter, const antler_train_note *note);
    void (*report)(void *reporter, const antler_train_row *row);
    bool (*stop)(void *reporter);
} ant_run_context;

antler_status ant_run_create(ant_run *run, size_t number, size_t total);
void ant_run_destroy(ant_run *run);

/* Go on to the last update, a stop or a divergence.  The outcome is in run->status and run->message. */
void ant_run_train(ant_run *run, const ant_run_context *context);

/*
 * The parts of that, for whoever moves several runs at once: open, found and open again; until the end, log
 * and save when they are due; conclude with the state up to date; close.
 */
antler_status ant_run_open(ant_run *run, const ant_run_context *context);
antler_status ant_run_prepare(const ant_run_context *context);
void ant_run_announce(const ant_run *run, const ant_run_context *context, const char *choice);

bool ant_run_row_due(const ant_run *run, const antler_settings *settings);
bool ant_run_save_due(const ant_run *run, const antler_settings *settings);

/* A row of the log from the tally, which begins anew; `last`: learning rate, alpha and norm. */
antler_status ant_run_log(ant_run *run, const ant_run_context *context, const ant_update *last,
                          const char *solver);
antler_status ant_run_save(ant_run *run, const ant_run_context *context);

/* Write what the end needs: OK and CANCELLED a checkpoint, DIVERGED the last good model. */
antler_status ant_run_conclude(ant_run *run, const ant_run_context *context, antler_status status);
antler_status ant_run_cancelled(const ant_run *run, const ant_run_context *context); /* the sentence */

/* Keep the status and its sentence, and close the files. */
void ant_run_close(ant_run *run, const ant_run_context *context, antler_status status);

#endif
