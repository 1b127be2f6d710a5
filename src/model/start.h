/*
 * start.h - where a free run begins: the context in the model's units, the warm-up, and the inputs that
 * drive the free steps.
 */
#ifndef ANT_MODEL_START_H
#define ANT_MODEL_START_H

#include "model/runner.h"

/* The affine map from a series' values to the model's units: model = value * gain + shift. */
typedef struct ant_units {
    double *gain, *shift; /* (N), owned: one allocation */
} ant_units;

/* `as_is`: the values are in the model's units already.  The series must have the model's N. */
antler_status ant_units_create(const antler_model *model, const antler_series *series, bool as_is,
                               ant_units *units);
void ant_units_free(ant_units *units);

/* Read rows of a trajectory in the model's units.  x: (count, N); s: (count, K) or NULL when K = 0. */
antler_status ant_units_read(const ant_units *units, const antler_series *series, size_t trajectory,
                             size_t first, size_t count, double *x, double *s);

/* The series has the model's N and K; `what` names it in the message. */
antler_status ant_model_check_series(const antler_model *model, const antler_series *series,
                                     const char *what);

/* Rows of warm-up for a request; ANTLER_WARMUP_AUTO takes at most `most`. */
size_t ant_model_warmup(const antler_model *model, size_t requested, size_t most);

/* Where the warm-up on the context begins and how many rows it takes; *warmup may be more than there are. */
void ant_start_rows(const antler_model *model, const antler_run_start *start, size_t *first, size_t *warmup);

/* A start that has been carried out. */
typedef struct ant_started {
    double *state; /* (n): the first free step begins here */
    double limit;  /* an orbit beyond +-limit has diverged */
    size_t warmup; /* rows that were used */
    /* Rows that drive the free steps: column0 .. column0+K-1 of one trajectory. */
    const antler_series *inputs; /* NULL: all inputs are 0, or K = 0 */
    size_t K, column0, trajectory, first, rows;
    antler_inputs_end end;
} ant_started;

/* ANTLER_ERROR_DATA when the context is too short or, with ANTLER_INPUTS_STOP, the inputs are. */
antler_status ant_start(const antler_model *model, const ant_runner *runner, const antler_run_start *start,
                        size_t steps, ant_started *started);
void ant_started_clear(ant_started *started);

/* Inputs of free steps step .. step+count-1, counted from 0.  s: (count, K). */
void ant_started_inputs(const ant_started *started, size_t step, size_t count, double *s);

/*
 * `steps` free steps out of each of `count` starts, side by side on an engine or one after the other on the
 * CPU.  x: (count, steps, N); z: (count, steps, latent) or NULL; done: (count), the rows of each that are
 * good: an orbit ends before the first state that is not finite or observation that passes the limit.
 */
antler_status ant_free_runs(const ant_runner *runner, const ant_started *started, size_t count, size_t steps,
                            antler_device device, antler_progress progress, double *x, double *z,
                            size_t *done);

/* Beyond this an orbit has diverged, given the rows that it follows.  x: (count) */
double ant_divergence_limit(const double *x, size_t count);

/* How many of these rows come before the first that has diverged.  x: (count, N); states: (count, n), or
   NULL: they are finite. */
size_t ant_rows_within(const ant_runner *runner, double limit, const double *x, const double *states,
                       size_t count);

#endif
