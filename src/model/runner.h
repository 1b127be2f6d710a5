/*
 * runner.h - a model packed for running free, in double: the same interface for every kind.
 *
 * The recurrent state is a vector of n numbers: all that a step needs of the past.  The first `latent` of
 * them are the states that callers read and set.
 *
 *     shplrnn   z (M)                                                                   latent = n
 *     lssm      z (M), then the observation x (N), its next input                       latent = M
 *     mamba2    the last inputs of the convolution, the states of the heads, x (N)      latent = n
 */
#ifndef ANT_MODEL_RUNNER_H
#define ANT_MODEL_RUNNER_H

#include "base/arena.h"
#include "base/lanes.h"
#include "engine/engine.h"
#include "model/handle.h"

/* One kind's functions on its packed weights, `self`.  One runner serves one thread. */
typedef struct ant_runner_ops {
    size_t self_bytes;
    size_t (*state_dim)(const ant_model_dims *dims);  /* n */
    size_t (*latent_dim)(const ant_model_dims *dims); /* latent */
    void (*carve)(void *self, const ant_model_dims *dims, ant_arena *arena);
    antler_status (*pack)(void *self, const antler_model *model);

    /* The state that belongs to given latent numbers.  latent: (latent); state: (n). */
    void (*begin)(const void *self, const double *latent, double *state);

    /*
     * Warm-up: the state after all rows; the next step is free.  NaN in x is a missing value (spec 12).
     * x: (rows, N), rows >= 1; s: (rows, K) or NULL, row t beside x_t; state: (n).
     */
    void (*warm)(const void *self, const double *x, const double *s, size_t rows, double *state);

    /* Free steps.  from: (n); s: (count, K) or NULL when K = 0; states: (count, n), not overlapping from;
       x: (count, N), the observation of each. */
    void (*steps)(const void *self, const double *from, const double *s, size_t count, double *states,
                  double *x);

    /*
     * Tangent vectors through the Jacobian of the step out of `from` with input s: next_k = J vector_k.
     * vectors, next: (count, stride), rows padded with zeros.  scratch: push_scratch() doubles.
     */
    void (*push)(const void *self, const double *from, const double *s, size_t count, size_t stride,
                 const double *vectors, double *next, double *scratch);
    size_t (*push_scratch)(const void *self);

    /* Multiply-adds of one step, about. */
    double (*step_work)(const void *self);

    /* The packed weights as engines take them; valid as long as the runner.  NULL: no engine runs it. */
    void (*map)(const void *self, ant_engine_map *map);
} ant_runner_ops;

typedef struct ant_runner {
    size_t n, latent, N, K;
    const ant_runner_ops *ops;
    void *self;
    ant_arena arena;
} ant_runner;

/* Pack a model.  ANTLER_NON_FINITE when a parameter is NaN or infinite. */
antler_status ant_runner_create(const antler_model *model, ant_runner **runner);
void ant_runner_free(ant_runner *runner);

/*
 * The engine for `device`, and the model in the form that engines take; NULL: the CPU, which also runs the
 * kinds that no engine offers.  large_enough: see engine/engine.h.
 */
antler_status ant_runner_engine(const ant_runner *runner, antler_device device, bool large_enough,
                                ant_engine_map *map, const ant_engine **engine);

/* The same for orbits side by side, `steps` steps in all of them together. */
antler_status ant_runner_engine_for(const ant_runner *runner, antler_device device, size_t orbits,
                                    double steps, ant_engine_map *map, const ant_engine **engine);

static inline double ant_runner_step_work(const ant_runner *r)
{
    return r->ops->step_work(r->self);
}

static inline void ant_runner_warm(const ant_runner *r, const double *x, const double *s, size_t rows,
                                   double *state)
{
    r->ops->warm(r->self, x, s, rows, state);
}

static inline void ant_runner_steps(const ant_runner *r, const double *from, const double *s, size_t count,
                                    double *states, double *x)
{
    r->ops->steps(r->self, from, s, count, states, x);
}

#endif
