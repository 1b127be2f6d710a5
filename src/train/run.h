/*
 * run.h - one training run in memory: its state between updates, and the events of its life.
 *
 * The state has a form that a checkpoint can hold, so stopping, resuming and finishing are one code path. The
 * updates themselves are made by the loop (loop.h).
 */
#ifndef ANT_TRAIN_RUN_H
#define ANT_TRAIN_RUN_H

#include "comm/comm.h"
#include "measure/validation.h"
#include "train/dataset.h"
#include "train/learning.h"

typedef struct ant_run {
    size_t number; /* from 1 */
    size_t update; /* done */
    bool begun;    /* the state is valid; otherwise initial parameters are drawn */
    struct {
        double *parameters, *m, *v; /* (layout.total): parameters, moments of the optimiser */
    } state;                        /* up to date while no learner works on the run */
    double alpha; /* strength of forcing of the last update, where it is estimated (spec 10) */
    ant_tally tally;
    double states_agree, gradient_agrees; /* largest since the last row of the log; -1: no check */
    ant_validation_measures validation;   /* since the last row of the log; NaN: none */
    struct {
        size_t update; /* 0: there was no validation */
        double score;
        ant_validation_measures measures;
        double *parameters; /* (layout.total) */
    } best;                 /* the model with the lowest score (spec 14) */
    antler_status status;   /* of the last attempt */
    bool elsewhere, before; /* in a shared training: another process has it; it had ended before */
    char message[512];      /* unless OK */
    char choice[512];       /* solver, kernels and device of the last checkpoint; "": unknown */
    char history[1024];     /* where they changed: "update 400: <choice>; ...", kept in the provenance */
    char notice[256];       /* for the user: how the run was restored; "": nothing to say */
} ant_run;

/* What keeps runs on disk (train.c); called on the thread that trains the run. */
typedef struct ant_run_hooks {
    void *cookie;
    /* First of all in a shared training: take the run, or set `elsewhere` or `before`; NULL: all are taken.
     */
    antler_status (*claim)(void *cookie, ant_run *run);
    /* Restores the newest checkpoint.  Does nothing for a run without a folder: `prepare` makes
       the folder, and `open` is called again after it. */
    antler_status (*open)(void *cookie, ant_run *run);
    /* The training of this run can begin: make what new runs need.  A second call does nothing. */
    antler_status (*prepare)(void *cookie, const ant_run *run);
    void (*close)(void *cookie, ant_run *run); /* last of all */
    antler_status (*row)(void *cookie, const ant_run *run, const antler_train_row *row);
    antler_status (*save)(void *cookie, const ant_run *run);     /* a checkpoint; the state is up to date */
    antler_status (*diverged)(void *cookie, const ant_run *run); /* the state has the last good parameters */
    const char *(*folder)(void *cookie, const ant_run *run);
} ant_run_hooks;

/* What all runs of a training share. */
typedef struct ant_run_context {
    const antler_settings *settings;
    const char *start; /* how the initial values were chosen, for new runs; "": they were given */
    const ant_dataset *dataset;
    const ant_model_layout *layout;
    size_t runs;                /* of this call */
    int threads;                /* CPU threads of one run */
    ant_comm *comm;             /* ranks that share each run; NULL: none.  Hooks: of rank 0 alone */
    const ant_run_hooks *hooks; /* NULL: in memory only */
    void *reporter;
    /* Serialised reports to the caller; `stop` and `save` may be called at any time. */
    void (*begin)(void *reporter, const antler_train_note *note);
    void (*report)(void *reporter, const antler_train_row *row);
    void (*end)(void *reporter, const ant_run *run);
    bool (*stop)(void *reporter);
    int (*save)(void *reporter); /* another number than before: a checkpoint is due now */
    /* Validate the present models of these runs, whose states are up to date; NULL: no held-back rows. */
    antler_status (*validate)(void *reporter, ant_run *const *runs, size_t count);
} ant_run_context;

antler_status ant_run_create(ant_run *run, size_t number, size_t total);
void ant_run_destroy(ant_run *run);

/* The run as rank 0 has opened it, on all ranks.  status: of opening it here */
antler_status ant_run_share(ant_run *run, const ant_run_context *context, antler_status status);

/* In this order: claim, open, prepare and open again, begin; log and save when due; conclude, close. */
antler_status ant_run_claim(ant_run *run, const ant_run_context *context);
antler_status ant_run_open(ant_run *run, const ant_run_context *context);
antler_status ant_run_prepare(const ant_run *run, const ant_run_context *context);
void ant_run_begin(const ant_run *run, const ant_run_context *context, const char *choice);

bool ant_run_row_due(const ant_run *run, const antler_settings *settings);
bool ant_run_save_due(const ant_run *run, const antler_settings *settings);
bool ant_run_validation_due(const ant_run *run, const antler_settings *settings);

/* A row of the log from the tally; then the sums begin again at 0. */
antler_status ant_run_log(ant_run *run, const ant_run_context *context, const char *solver);
antler_status ant_run_save(ant_run *run, const ant_run_context *context);

/* The last files of a run: for OK and CANCELLED a checkpoint, for DIVERGED the last good model. */
antler_status ant_run_conclude(ant_run *run, const ant_run_context *context, antler_status status);
antler_status ant_run_cancelled(const ant_run *run, const ant_run_context *context); /* with its message */

/* Keep the status and its message, and close the files. */
void ant_run_close(ant_run *run, const ant_run_context *context, antler_status status);

#endif
