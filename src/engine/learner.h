/*
 * learner.h - a learner makes the updates of one or several runs: one table for the CPU
 * (train/learner_tmpl.c, one run) and for engines (all runs of a training as replicas).
 *
 * The training loop (train/loop.h) owns rows of the log, checkpoints, stops and messages; a learner only
 * computes.
 */
#ifndef ANT_ENGINE_LEARNER_H
#define ANT_ENGINE_LEARNER_H

#include "base/lacks.h"
#include "base/status.h"

enum { ANT_ENGINE_PATTERNS = 1024 }; /* of missing values that an engine takes, at most */

/*
 * A training: `replicas` runs side by side, each with its own parameters and windows, on data that they
 * share. A run gives the same result alone and beside others.
 */
typedef struct ant_engine_learning {
    size_t M, N, L, K, rank; /* spec 1 */
    size_t total;            /* parameters of one run */
    bool clipped;
    const antler_settings *settings; /* valid as long as the learner; its `runs` fixes the division of work */
    size_t replicas;
    const uint32_t *runs;  /* (replicas): numbers of the runs, which select their random streams */
    int threads;           /* CPU threads of one run; engines ignore it */
    struct ant_comm *comm; /* ranks that share each update on the CPU; NULL: none */
    double limit;          /* a parameter beyond this has diverged */
    const double *alphas;  /* (updates): strengths of forcing by schedule, read by `create`; NULL: none */
    /* The data as in train/dataset.h, in the precision of the settings; x = NULL: windows come by
     * set_windows. */
    size_t rows, trajectories;
    const void *x, *s;
    const size_t *row;
    const uint64_t *start;
    /* Missing values (spec 12): their patterns, and the rows at which windows may begin, in rising order.
     * NULL: none. */
    const ant_lacks *lacks;
    const size_t *eligible;
    size_t eligible_count;
} ant_engine_learning;

/* Sums and facts of one run for its log.  Ten doubles, the same on the device (kernels/abi.h). */
typedef struct ant_tally {
    double updates;                      /* since the last row of the log */
    double loss, mar, readout, singular; /* sums since the last row */
    double iterations;                   /* sum since the last row */
    double fallbacks;                    /* since the start */
    double lr, gradient_norm;            /* of the last update */
    double seconds;                      /* since the start; the loop counts them */
} ant_tally;

/* Why a run diverged: the first of these that was not finite, or a parameter beyond the limit. */
typedef enum ant_divergence {
    ANT_DIVERGED_NOT,
    ANT_DIVERGED_LOSS,
    ANT_DIVERGED_GRADIENT,
    ANT_DIVERGED_MAR,
    ANT_DIVERGED_READOUT,
    ANT_DIVERGED_SINGULAR,
    ANT_DIVERGED_NORM,
    ANT_DIVERGED_PARAMETER,
} ant_divergence;

/* The position of a run.  A run that diverged keeps its last good parameters and makes no more updates. */
typedef struct ant_outcome {
    size_t update; /* done */
    ant_divergence diverged;
    size_t parameter;                     /* index of the one beyond the limit */
    double states_agree, gradient_agrees; /* of the updates that the learner checked itself; NaN: none */
    double alpha; /* strength of forcing of the last update, where the learner estimates it itself */
} ant_outcome;

typedef struct ant_learner_ops {
    bool asynchronous; /* many updates in one call of `run` save time; false: the loop requests one at a time
                        */
    bool estimates;    /* `run` estimates the strength of forcing (spec 10); false: the loop does it */

    antler_status (*create)(const ant_engine_learning *work, void **learner);
    void (*free)(void *learner);                /* accepts NULL */
    const char *(*solver)(const void *learner); /* its name, and why it was chosen */
    const char *(*choice)(const void *learner);

    /* The state of a run after `update` updates, in double, which holds floats exactly.  Each: (total). */
    antler_status (*put)(void *learner, size_t replica, size_t update, const double *parameters,
                         const double *m, const double *v);
    antler_status (*get)(void *learner, size_t replica, double *parameters, double *m, double *v);

    /* The strength of forcing of a run whose strength is estimated (spec 10): that of its last update, which
       the next estimate begins with. */
    antler_status (*put_alpha)(void *learner, size_t replica, double alpha);

    /* `updates` updates of every run that has neither diverged nor reached its last update.  tallies:
       (replicas), in and out; outcomes: (replicas). */
    antler_status (*run)(void *learner, size_t updates, ant_tally *tallies, ant_outcome *outcomes);

    /* The windows of a run's next update, or those that it is given: (batch, T+1, N), (batch, T, K). */
    antler_status (*windows)(void *learner, size_t replica, double *x, double *s);

    /* ---- For checks and for problems (train/problem.h).  NULL: the learner checks its own updates. ---- */

    antler_status (*set_windows)(void *learner, size_t replica, const double *x, const double *s);

    /* Loss and gradient of replica 0 on its windows, without an update. */
    antler_status (*solve)(void *learner, antler_solve_report *report);

    /* Of the last solve or update of a run.  states: (batch, T, M); gradient of the loss: (total). */
    antler_status (*inspect)(void *learner, size_t replica, double *states, double *gradient);

    size_t (*bytes)(const void *learner); /* on the device */
} ant_learner_ops;

#endif
