/*
 * strength_cuda.h - the strength of forcing of all runs of a learner, estimated on the GPU before the updates
 * that have an estimate (kernels/strength.cu, spec 10).
 */
#ifndef ANT_ENGINE_CUDA_STRENGTH_CUDA_H
#define ANT_ENGINE_CUDA_STRENGTH_CUDA_H

#include "engine/cuda/store.h"

typedef struct ant_cuda_strength {
    ant_cuda_program *program; /* NULL: the strength is not estimated */
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
    struct strength_args args;
    ant_cuda_buffer partial, norms, arrived, scratch;
    size_t bytes; /* of these */
} ant_cuda_strength;

/* Whether this training needs one. */
bool ant_cuda_strength_wanted(const antler_settings *settings);

/* After the store has its buffers of runs and updates.  weights: (replicas, PACK) of the pass.  Leaves what
   it made to ant_cuda_strength_clear, also when it fails. */
antler_status ant_cuda_strength_create(ant_cuda_device *device, const ant_engine_learning *work,
                                       const ant_cuda_store *store, ant_cu_pointer weights,
                                       ant_cuda_strength *strength);
void ant_cuda_strength_clear(ant_cuda_device *device, ant_cuda_strength *strength);

/* Before the pass of the next update; parity: that of update_args. */
antler_status ant_cuda_strength_launch(ant_cuda_device *device, ant_cuda_strength *strength, int parity);

#endif
