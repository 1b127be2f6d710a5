/*
 * pass.h - forward and backward pass of all runs on the GPU, for every kind of model: what differs between
 * kinds is a row of the table in pass.c, everything else of an update is learner_cuda.c and
 * kernels/update_kernels.cuh.
 *
 * A pass reads parameters or the weights made of them, and the windows; it leaves the loss, in `facts`, and
 * the gradient of the loss: in `raw`, or as sums from which the kind's gradient_at (update_kernels.cuh) makes
 * it.
 */
#ifndef ANT_ENGINE_CUDA_PASS_H
#define ANT_ENGINE_CUDA_PASS_H

#include "engine/cuda/program.h"
#include "engine/engine.h"

/* FACTS of kernels/common.cuh. */
enum {
    ANT_CUDA_FACT_ITERATIONS,
    ANT_CUDA_FACT_LAST_JUMP,
    ANT_CUDA_FACT_CONVERGED = 4,
    ANT_CUDA_FACT_LOSS,
    ANT_CUDA_FACT_FALLBACKS
};
enum { ANT_CUDA_FACTS = 8 };
enum { ANT_CUDA_BARRIER_WORDS = 64 };

/* What the learner owns and every pass sees, on the device. */
typedef struct ant_cuda_learner_buffers {
    ant_cu_pointer parameters; /* (replicas, total) */
    ant_cu_pointer x, s;       /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    ant_cu_pointer raw;        /* (replicas, total) */
    ant_cu_pointer facts;      /* (replicas, ANT_CUDA_FACTS) doubles */
    ant_cu_pointer arrived;    /* (replicas, ANT_CUDA_BARRIER_WORDS) unsigned: zero before every pass */
} ant_cuda_learner_buffers;

typedef struct ant_cuda_pass {
    /* Set by the learner. */
    ant_cuda_device *device;
    const ant_engine_learning *work;
    ant_cuda_learner_buffers buffers;
    size_t real_bytes; /* of the precision */

    /* Set by `compile` or `create` of the kind. */
    void *own;                   /* its own struct */
    const char *solver, *choice; /* of ant_engine_learner_ops */
    const ant_cuda_program
        *update; /* with the kernels of update_kernels.cuh; NULL: the kind's `update` has them */
    ant_cu_pointer weights, sums; /* of update_args (update_args.cuh); 0: the kind has none */
    ant_cu_pointer states;        /* (replicas, batch, T+1, row): z_t is at the head of row t */
    size_t row;
    size_t bytes; /* of its buffers */
} ant_cuda_pass;

typedef struct ant_cuda_kind {
    const char *update; /* the source with `prepare` and `update`, where the pass has a source of its own */
    antler_status (*compile)(
        ant_cuda_pass *pass); /* before there is a place; NULL: all is done in `create` */
    antler_status (*create)(ant_cuda_pass *pass);
    void (*destroy)(ant_cuda_pass *pass); /* accepts one that these have not begun or not finished */
    antler_status (*launch)(ant_cuda_pass *pass);
} ant_cuda_kind;

/* NULL: the GPU does not train this kind. */
const ant_cuda_kind *ant_cuda_kind_of(const ant_engine_learning *work);

extern const ant_cuda_kind ant_cuda_kind_shplrnn, ant_cuda_kind_lssm, ant_cuda_kind_mamba2;

/* ---- what kinds share ----------------------------------------------------------------------------- */

/* A buffer of zeros that counts in pass->bytes. */
antler_status ant_cuda_pass_take(ant_cuda_pass *pass, size_t bytes, const char *purpose,
                                 ant_cuda_buffer *buffer);

/* Threads of the kernels of update_kernels.cuh: their macro is UPDATE_THREADS. */
unsigned ant_cuda_update_threads(const ant_engine_learning *work);

/* Sources that both sides read: `facts` (count) is the int array of that name in the program. */
antler_status ant_cuda_pass_facts(ant_cuda_device *device, const ant_cuda_program *program, const char *name,
                                  int *facts, size_t count);

/* A source for the model's sizes: -DREAL_BITS -DM -DN -DL -DK -DCLIPPED, then `more`. */
enum { ANT_CUDA_OPTIONS = 12, ANT_CUDA_OPTION_BYTES = 32 };
antler_status ant_cuda_compile_shape(ant_cuda_device *device, const char *source,
                                     const ant_engine_learning *work, const char *const *more, size_t count,
                                     ant_cuda_program **program);

/* The same without a GPU: machine code, which the caller frees. */
antler_status ant_cuda_image_shape(int sm, const char *source, const ant_engine_learning *work,
                                   const char *const *more, size_t count, void **image, size_t *size);

#endif
