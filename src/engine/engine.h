/*
 * engine.h - work that another machine than the CPU can take over, as a coarse table.
 *
 * Rooms describe a whole piece of work (a million sums, many orbits) and ask for an engine; NULL means: do it
 * yourself, on the CPU, which is the reference for every engine.  Only src/engine/cuda knows what is behind
 * it.
 */
#ifndef ANT_ENGINE_ENGINE_H
#define ANT_ENGINE_ENGINE_H

#include "base/status.h"

/* Reports of a call that is one part of a longer work: fractions run from `begin` to `begin + span`. */
typedef struct ant_engine_report {
    antler_progress progress;
    const char *what;
    double begin, span;
} ant_engine_report;

/*
 * log_sum_i = log sum_t 2^(-|x_i - y_t|^2 / 2) over all points, where x_i and y_t are sample i and point t
 * after (value - centre) scale; -infinity where that is below the range of a double.
 */
typedef struct ant_engine_kernel_sums {
    const double *points;         /* (length, dim) */
    const double *centre, *scale; /* (dim) */
    const double *samples;        /* (count, dim) */
    size_t length, dim, count;
    ant_engine_report report;
    double *log_sum; /* (count) */
} ant_engine_kernel_sums;

/*
 * A shPLRNN in double (SPEC 1), W multiplied out, whose hidden units may see the inputs, too: phi(V z + E s +
 * b).  Rows of Vt and Et are `l_stride` apart, those of Wt and Ct `m_stride`.
 */
typedef struct ant_engine_shplrnn {
    bool clipped;
    size_t l_stride, m_stride;
    const double *A, *h;    /* (M) */
    const double *b;        /* (L) */
    const double *Vt;       /* (M, l_stride) */
    const double *Wt;       /* (L, m_stride) */
    const double *Ct;       /* (K, m_stride) */
    const double *Et;       /* (K, l_stride); NULL: they do not */
    const double *B, *pinv; /* (N, M), (M, N) */
} ant_engine_shplrnn;

/* A Mamba-2 in double: its parameters by the names and in the shapes of model/mamba2.h, D = M. */
typedef struct ant_engine_mamba2 {
    const double *in_W, *in_b, *C, *ln_w, *ln_b, *proj_in, *conv_W, *conv_b, *dt_bias, *A_log, *skip, *norm_w,
        *proj_out, *W1, *b1, *W2, *b2, *out_W, *out_b;
} ant_engine_mamba2;

/* The forms in which models run free on an engine; each has a row in the table of engine/cuda/map.c. */
typedef enum ant_engine_form {
    ANT_FORM_SHPLRNN,
    ANT_FORM_MAMBA2,
    ANT_FORMS /* their number */
} ant_engine_form;

/* The step of a model that feeds on itself. */
typedef struct ant_engine_map {
    ant_engine_form form;
    size_t n; /* numbers of the recurrent state (model/runner.h) */
    size_t M, N, L, K;
    union {
        ant_engine_shplrnn shplrnn; /* n = M */
        ant_engine_mamba2 mamba2;
    };
} ant_engine_map;

/* Orbits of one map, all at once: each warms up on rows of its own or begins at a state, then runs free. */
typedef struct ant_engine_orbits {
    const ant_engine_map *map;
    size_t count, rows, steps; /* orbits; rows of warm-up, 0: begin at `from`; free steps */
    const double *x;           /* (count, rows, N), in the model's units */
    const double *s;           /* (count, rows + steps, K): row t beside x_t, then those of the free steps */
    const double *from;        /* (count, n), when rows is 0 */
    ant_engine_report report;
    double *xhat;   /* (count, steps, N) */
    size_t *finite; /* (count): steps before the first whose state is not finite */
    size_t latent;  /* numbers of a state that are wanted */
    double *states; /* (count, steps, latent); NULL when latent is 0 */
} ant_engine_orbits;

/*
 * Tangent vectors along one orbit, orthonormalised after every `interval` steps, at the end of the transient
 * and at the end.  A step with an observation beyond the limit, or that is not finite, ends it.
 */
typedef struct ant_engine_tangents {
    const ant_engine_map *map;
    size_t transient, steps, interval;
    size_t count;          /* tangent vectors, <= n */
    const double *from;    /* (n) */
    const double *vectors; /* (count, stride): where they begin */
    size_t stride;
    /* Fills s: (count, K) with the inputs of steps first .. first+count-1. */
    void (*inputs)(const void *cookie, size_t first, size_t count, double *s);
    const void *cookie;
    double limit;
    ant_engine_report report;
    double *logs;    /* (events, count): log |R_kk| of every QR after the transient, in order */
    size_t bad_step; /* the first step that diverged, counted from 1; 0: none */
} ant_engine_tangents;

/*
 * Training shPLRNNs: `replicas` runs side by side, each with its own parameters, windows and fate, on data
 * that they share.  A run does the same alone and among others.
 */
typedef struct ant_engine_learning {
    size_t M, N, L, K, rank; /* SPEC 1 */
    size_t total;            /* parameters of one run */
    bool clipped;
    const antler_settings
        *settings; /* valid as long as the learner; `runs` of them fixes the division of work */
    size_t replicas;
    const uint32_t *runs; /* (replicas): the names of their random streams */
    double limit;         /* a parameter beyond this has exploded */
    /* The data as in train/dataset.h, in the precision of the settings; x = NULL: windows come by
     * set_windows. */
    size_t rows, trajectories;
    const void *x, *s;
    const size_t *row;
    const uint64_t *start;
} ant_engine_learning;

/* Sums since they were last zero, and the last update's learning rate and norm.  Doubles, as on the device.
 */
typedef struct ant_engine_tally {
    double updates, loss, mar, readout, singular, iterations, fallbacks, lr, gradient_norm, unused;
} ant_engine_tally;

typedef enum ant_engine_fate {
    ANT_FATE_RUNNING,
    ANT_FATE_LOSS, /* what was not finite: the loss, its gradient, a regulariser, the norm ... */
    ANT_FATE_GRADIENT,
    ANT_FATE_MAR,
    ANT_FATE_READOUT,
    ANT_FATE_SINGULAR,
    ANT_FATE_NORM,
    ANT_FATE_PARAMETER, /* ... or a parameter that exploded */
} ant_engine_fate;

/* How far a run came.  One that is lost keeps its last good parameters and stands still. */
typedef struct ant_engine_outcome {
    size_t update; /* done */
    ant_engine_fate fate;
    size_t parameter; /* that exploded */
} ant_engine_outcome;

typedef struct ant_engine_solved {
    double loss;
    int iterations;
    double last_jump; /* at the borders of stretches, or the last change of Newton's method */
    bool converged;
    size_t fallbacks; /* sequences that did not converge */
    double seconds;   /* on the device: weights, solve and gradient */
} ant_engine_solved;

typedef struct ant_engine_learner_ops {
    antler_status (*create)(const ant_engine_learning *work, void **learner);
    void (*free)(void *learner);                /* accepts NULL */
    const char *(*solver)(const void *learner); /* its name, and in one sentence why it was taken */
    const char *(*choice)(const void *learner);
    size_t (*bytes)(const void *learner); /* on the device */

    /* A run's state after `update` updates, in double.  Each: (total). */
    antler_status (*put)(void *learner, size_t replica, size_t update, const double *parameters,
                         const double *m, const double *v);
    antler_status (*get)(void *learner, size_t replica, double *parameters, double *m, double *v);

    /* `updates` updates of every run that is neither lost nor done.  tallies: (replicas), in and out;
       outcomes: (replicas). */
    antler_status (*run)(void *learner, size_t updates, ant_engine_tally *tallies,
                         ant_engine_outcome *outcomes);

    /* The windows of a run's next update, or those that it is given: (batch, T+1, N), (batch, T, K) or NULL.
     */
    antler_status (*windows)(void *learner, size_t replica, double *x, double *s);
    antler_status (*set_windows)(void *learner, size_t replica, const double *x, const double *s);

    /* Loss and gradient of run 0 on its windows, without a step. */
    antler_status (*solve)(void *learner, ant_engine_solved *solved);

    /* Of the last solve or update of a run.  states: (batch, T, M); gradient of the loss: (total). */
    antler_status (*inspect)(void *learner, size_t replica, double *states, double *gradient);
} ant_engine_learner_ops;

typedef struct ant_engine {
    const char *name; /* "cuda" */

    /* What it runs on: "NVIDIA H200".  Valid for the life of the process. */
    const char *(*device)(void);

    /* Each log sum is good to 2e-4 and, taken over many samples, free of bias: docs/gpu.md. */
    antler_status (*kernel_sums)(const ant_engine_kernel_sums *work);

    /* In double; they differ from the CPU's by rounding, which chaos then lets grow. */
    antler_status (*orbits)(const ant_engine_orbits *work);
    antler_status (*tangents)(ant_engine_tangents *work);

    const ant_engine_learner_ops *learner;
} ant_engine;

/*
 * The engine for `device`; NULL: the CPU.  AUTO takes the GPU where there is a usable one and `large_enough`
 * is true, and otherwise the CPU, without a message; CUDA fails with the reason where there is none.
 */
antler_status ant_engine_choose(antler_device device, bool large_enough, const ant_engine **engine);

#endif
