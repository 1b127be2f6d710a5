/*
 * program.h - a kernel source, compiled for one GPU and one set of sizes, and loaded.
 *
 * Sources are src/engine/cuda/kernels/NAME.cu; CMake embeds them and their headers in the library (README.md
 * there is a reading guide).  Sizes and types come in as macros ("-DM=4"), so that arrays can be held in
 * registers.  Compiled images are cached on disk (cache.h).
 *
 * Rules for a source:
 *   - kernels are `extern "C" __global__`; every macro is checked at the top (#ifndef M / #error);
 *   - it may include the headers of its folder and nothing else: NVRTC alone brings no CUDA headers, no
 *     cooperative groups and no standard headers;
 *   - lines `// variant: -DM=4 -DN=3` say for which macros `make check-kernels` compiles it, one line each;
 *   - no -use_fast_math: NaN must stay NaN.
 *
 * While a kernel is being written, ANTLER_KERNEL_DIR=src/engine/cuda/kernels reads the sources from there, so
 * that nothing needs to be rebuilt.
 */
#ifndef ANT_ENGINE_CUDA_PROGRAM_H
#define ANT_ENGINE_CUDA_PROGRAM_H

#include "engine/cuda/device.h"

typedef struct ant_cuda_program ant_cuda_program;

/* source: "solve.cu"; options: (count), such as "-DM=4". */
antler_status ant_cuda_program_create(ant_cuda_device *device, const char *source, const char *const *options,
                                      size_t count, ant_cuda_program **program);

/* Also frees its kernels; accepts NULL.  Must be called before its device is closed. */
void ant_cuda_program_free(ant_cuda_program *program);

antler_status ant_cuda_program_kernel(const ant_cuda_program *program, const char *name,
                                      ant_cuda_kernel *kernel);

/* A __device__ or __constant__ variable; bytes may be NULL. */
antler_status ant_cuda_program_global(const ant_cuda_program *program, const char *name,
                                      ant_cu_pointer *address, size_t *bytes);

/* Whether the image came from the cache. */
bool ant_cuda_program_was_cached(const ant_cuda_program *program);

/*
 * Without a GPU: machine code for an architecture, from the cache or the compiler.  The caller frees *image.
 * `cached` may be NULL.
 */
antler_status ant_cuda_compile(const char *source, int sm, const char *const *options, size_t count,
                               void **image, size_t *size, bool *cached);

#endif
