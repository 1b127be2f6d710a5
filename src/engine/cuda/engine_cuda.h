/*
 * engine_cuda.h - the GPU as an engine.
 *
 * The first call opens the first GPU of CUDA_VISIBLE_DEVICES, or one for each of the ranks on a machine.  It
 * stays open until the process ends, because starting its context takes longer than most work.  Calls from
 * several threads take turns.
 */
#ifndef ANT_ENGINE_CUDA_ENGINE_CUDA_H
#define ANT_ENGINE_CUDA_ENGINE_CUDA_H

#include "engine/cuda/device.h"
#include "engine/engine.h"

extern const ant_engine ant_engine_cuda;

/* Open GPU number `number` modulo their count; once one is open, this does nothing. */
void ant_engine_cuda_number(size_t number);

/* Open the GPU and check that its kernels can be compiled.  ANTLER_ERROR_DEVICE with the reason. */
antler_status ant_engine_cuda_open(void);

/* The same without waiting for its context; if that fails, the first call that needs it reports it. */
antler_status ant_engine_cuda_begin(void);

/* Lock the GPU for one call, and unlock it.  Every borrow that succeeds needs its return. */
antler_status ant_cuda_borrow(ant_cuda_device **device);
void ant_cuda_return(void);

/* mixture_cuda.c, orbits.c, tangents.c */
antler_status ant_cuda_kernel_sums(const ant_engine_kernel_sums *work);
antler_status ant_cuda_orbits(const ant_engine_orbits *work);
antler_status ant_cuda_tangents(ant_engine_tangents *work);

/* learner_cuda.c */
extern const ant_learner_ops ant_cuda_learner_ops;

#endif
