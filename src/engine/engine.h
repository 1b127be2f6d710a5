/*
 * engine.h - an engine: a device that takes over whole work (a million sums, many orbits, a training), as a
 * table.
 *
 * Callers describe the work in one struct and choose an engine; NULL means: compute on the CPU, which is the
 * reference for every engine.  Only src/engine/cuda names the device.
 */
#ifndef ANT_ENGINE_ENGINE_H
#define ANT_ENGINE_ENGINE_H

#include "engine/learner.h"

/* Progress of a call that is one part of longer work: fractions run from `begin` to `begin + span`. */
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
 * A shPLRNN in double (spec 1), W multiplied out; its hidden units may also take the inputs: phi(V z + E s +
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
    const double *Et;       /* (K, l_stride); NULL: no inputs in the hidden units */
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

/* The free step of a model. */
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
    size_t latent;  /* numbers of a state to be stored */
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

typedef struct ant_engine {
    const char *name; /* "cuda" */

    /* What it runs on: "NVIDIA H200".  Valid for the life of the process. */
    const char *(*device)(void);

    /* Each log sum is good to 2e-4 and, taken over many samples, free of bias: docs/gpu.md. */
    antler_status (*kernel_sums)(const ant_engine_kernel_sums *work);

    /* In double; they differ from the CPU's by rounding, which grows along chaotic orbits. */
    antler_status (*orbits)(const ant_engine_orbits *work);
    antler_status (*tangents)(ant_engine_tangents *work);

    const ant_learner_ops *learner; /* training */
} ant_engine;

/* Which of several GPUs this process takes: `number` modulo their count, from 0, before one is open. */
void ant_engine_number(size_t number);

/*
 * The engine for `device`; NULL: the CPU.  AUTO takes the GPU where there is a usable one and `large_enough`
 * is true, and otherwise the CPU, without a message; CUDA fails with the reason where there is none.
 */
antler_status ant_engine_choose(antler_device device, bool large_enough, const ant_engine **engine);

#endif
