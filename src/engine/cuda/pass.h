/*
 * pass.h - forward and backward pass of all runs on the GPU: loss and gradient, for every kind of model.  The
 * table in pass.c has one row per kind; the rest of an update is learner_cuda.c and
 * kernels/update_kernels.cuh.
 *
 * A pass reads the parameters, or the weights made of them, and the windows.  It writes the loss to `facts`
 * and the gradient of the loss: to `raw`, or as sums from which the kind's gradient_at (update_kernels.cuh)
 * computes it.
 */
#ifndef ANT_ENGINE_CUDA_PASS_H
#define ANT_ENGINE_CUDA_PASS_H

#include "engine/cuda/kernels/abi.h"
#include "engine/cuda/program.h"
#include "engine/engine.h"

/* Buffers of the learner that every pass uses, on the device. */
typedef struct ant_cuda_learner_buffers {
    ant_cu_pointer parameters; /* (replicas, total) */
    ant_cu_pointer x, s;       /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    ant_cu_pointer raw;        /* (replicas, total) */
    ant_cu_pointer facts;      /* (replicas, FACTS) doubles */
    ant_cu_pointer arrived;    /* (replicas, BARRIER_WORDS) unsigned: zero before every pass */
} ant_cuda_learner_buffers;

typedef struct ant_cuda_pass {
    /* Set by the learner. */
    ant_cuda_device *device;
    const ant_engine_learning *work;
    ant_cuda_learner_buffers buffers;
    size_t real_bytes; /* of the precision */

    /* Set by `compile` or `create` of the kind. */
    void *own;                   /* state of the kind */
    const char *solver, *choice; /* of ant_learner_ops */
    const ant_cuda_program
        *update; /* with the kernels of update_kernels.cuh; NULL: they are in the kind's `update` */
    ant_cu_pointer weights, sums; /* of update_args; 0: the kind has none */
    ant_cu_pointer states;        /* (replicas, batch, T+1, row): z_t is at the start of row t */
    size_t row;
    size_t bytes; /* of its buffers */
} ant_cuda_pass;

typedef struct ant_cuda_kind {
    const char *update; /* the source with `prepare` and `update`, where the pass has another source */
    antler_status (*compile)(
        ant_cuda_pass *pass); /* before the buffers exist; NULL: `create` does everything */
    antler_status (*create)(ant_cuda_pass *pass);
    void (*destroy)(ant_cuda_pass *pass); /* also after a failure of these, or before them */
    antler_status (*launch)(ant_cuda_pass *pass);
} ant_cuda_kind;

/* NULL: the GPU does not train this kind. */
const ant_cuda_kind *ant_cuda_kind_of(const ant_engine_learning *work);

extern const ant_cuda_kind ant_cuda_kind_shplrnn, ant_cuda_kind_lssm, ant_cuda_kind_mamba2;

/* ---- shared by all kinds -------------------------------------------------------------------------- */

/* A buffer of zeros, counted in pass->bytes. */
antler_status ant_cuda_pass_take(ant_cuda_pass *pass, size_t bytes, const char *purpose,
                                 ant_cuda_buffer *buffer);

/* Missing values (spec 12): whether they can be counted, and words for `choice` of the kinds that take in
 * their own predictions. */
antler_status ant_cuda_check_gaps(const ant_engine_learning *work);
const char *ant_cuda_gaps_remark(const ant_engine_learning *work);

/* Whether the strength of forcing is another one from update to update. */
bool ant_cuda_alpha_varies(const antler_settings *settings);

/* Threads of a block of the kernels of update_kernels.cuh: the macro UPDATE_THREADS. */
unsigned ant_cuda_update_threads(const ant_engine_learning *work);

/* What a compiled variant says about itself: the variable `name` of the program, a struct of kernels/abi.h.
 */
antler_status ant_cuda_read_facts(ant_cuda_device *device, const ant_cuda_program *program, const char *name,
                                  void *facts, size_t bytes);

/* Compile a source for the model's sizes: -DREAL_BITS -DM -DN -DL -DK -DCLIPPED, then `more`. */
enum { ANT_CUDA_OPTIONS = 12, ANT_CUDA_OPTION_BYTES = 32 };
antler_status ant_cuda_compile_shape(ant_cuda_device *device, const char *source,
                                     const ant_engine_learning *work, const char *const *more, size_t count,
                                     ant_cuda_program **program);

/* The same without a GPU: machine code, which the caller frees. */
antler_status ant_cuda_image_shape(int sm, const char *source, const ant_engine_learning *work,
                                   const char *const *more, size_t count, void **image, size_t *size);

#endif
