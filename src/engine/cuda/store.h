/*
 * store.h - the buffers of a learner on the GPU, and copies between them and the host.
 *
 * States, windows and training data have the precision of the training there; the host uses doubles.  The
 * parts are allocated one after the other as the learner is built: `runs` before the pass, which uses them;
 * `update` when the facts of the kernels of update_kernels.cuh are known; `data` last.  The caller must hold
 * the device.
 */
#ifndef ANT_ENGINE_CUDA_STORE_H
#define ANT_ENGINE_CUDA_STORE_H

#include "engine/cuda/pass.h"

typedef struct ant_cuda_store {
    ant_cuda_device *device;
    size_t real_bytes; /* of the precision */
    size_t bytes;      /* of all buffers */

    ant_cuda_buffer parameters, good;   /* (replicas, total): now, and when the loss was last finite */
    ant_cuda_buffer gradient, raw;      /* (replicas, total): with regularisers, and of the loss alone */
    ant_cuda_buffer m, v;               /* (replicas, total) doubles: the optimiser's moments */
    ant_cuda_buffer window_x, window_s; /* (replicas, batch, T+1, N), (replicas, batch, T, K) */
    ant_cuda_buffer facts, arrived;     /* ant_cuda_learner_buffers */
    ant_cuda_buffer counters;           /* (2, replicas) unsigned: updates done; the halves take turns */
    ant_cuda_buffer outcomes, tallies;  /* (replicas, 2) ints; (replicas) ant_tally */
    ant_cuda_buffer runs;               /* (replicas) uint32_t: names of random streams */
    ant_cuda_buffer alphas; /* (updates) or (replicas) doubles: strengths that vary; empty: none */
    ant_cuda_buffer kept,
        scratch;          /* doubles for the kernels of update_kernels.cuh, as many as update_variant says */
    ant_cuda_buffer x, s; /* the training data as in ant_engine_learning; empty: none */
    ant_cuda_buffer row, start; /* (ranges), (ranges + 1) uint64_t: rows at which windows may begin */
    size_t ranges;

    void *host; /* for conversions */
} ant_cuda_store;

/* Each leaves its buffers to ant_cuda_store_free, also when it fails. */
antler_status ant_cuda_store_runs(ant_cuda_store *store, const ant_engine_learning *work);
antler_status ant_cuda_store_update(ant_cuda_store *store, const ant_engine_learning *work, size_t kept,
                                    size_t scratch); /* doubles of one run */
antler_status ant_cuda_store_data(ant_cuda_store *store, const ant_engine_learning *work);

/* Allocate a host buffer for `count` numbers. */
antler_status ant_cuda_store_host(ant_cuda_store *store, size_t count);

void ant_cuda_store_free(ant_cuda_store *store);

/* The buffers that every pass uses. */
ant_cuda_learner_buffers ant_cuda_store_buffers(const ant_cuda_store *store);

/* `count` numbers from the `first` of an array in the precision of the training, as doubles. */
antler_status ant_cuda_store_write(ant_cuda_store *store, ant_cu_pointer to, size_t first, const double *from,
                                   size_t count);
antler_status ant_cuda_store_read(ant_cuda_store *store, ant_cu_pointer from, size_t first, double *to,
                                  size_t count);

/* The same rows without the first of each sequence and without the numbers after the first `head`. from:
   (sequences, T+1, row); to: (sequences, T, head) */
antler_status ant_cuda_store_read_heads(ant_cuda_store *store, ant_cu_pointer from, size_t sequences,
                                        size_t T, size_t row, size_t head, double *to);

#endif
