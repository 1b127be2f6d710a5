/*
 * nvrtc.h - NVIDIA's run-time compiler, opened at run time: CUDA source in, machine code (cubin) out.
 *
 * Searched for as ANTLER_NVRTC (a file; nothing else is tried then), as libnvrtc.so, .so.13 and .so.12 on the
 * loader's path, under CUDA_HOME, CUDA_PATH and /usr/local/cuda, and where `pip install nvidia-cuda-nvrtc`
 * puts it: in VIRTUAL_ENV, CONDA_PREFIX, ~/.local and the system's Python.
 *
 * NVRTC alone has no CUDA headers: kernels can include only what is embedded beside them (sources.h).
 */
#ifndef ANT_ENGINE_CUDA_NVRTC_H
#define ANT_ENGINE_CUDA_NVRTC_H

#include "base/hash.h"
#include "base/status.h"

typedef struct ant_nvrtc_facts {
    int major, minor;
    const char *path; /* as it was opened; valid for the life of the process */
} ant_nvrtc_facts;

/* Open it, once per process, from any thread.  ANTLER_ERROR_DEVICE says what to install. */
antler_status ant_nvrtc_open(ant_nvrtc_facts *facts);

/* ANTLER_ERROR_DEVICE unless this NVRTC can compile for sm (90 is sm_90). */
antler_status ant_nvrtc_check_sm(int sm);

/* A source and the headers that it may include by name. */
typedef struct ant_nvrtc_source {
    const char *name, *text;
    const char *const *header_names, *const *header_texts; /* (header_count) */
    size_t header_count;
} ant_nvrtc_source;

/* All that the machine code depends on: source, headers, architecture, options, versions of Antler and NVRTC.
 */
ant_hash ant_nvrtc_key(const ant_nvrtc_source *source, int sm, const char *const *options,
                       size_t option_count, const ant_nvrtc_facts *facts);

/* Machine code and the compiler's log; the caller frees both with free(). */
typedef struct ant_nvrtc_image {
    void *bytes;
    size_t size;
    char *log; /* "" when it is empty */
} ant_nvrtc_image;

/* Compile for one architecture with further options such as "-DM=4".  A source that does not compile gives
   ANTLER_ERROR_DEVICE with the first line of the log in the message; the log is also filled in then. */
antler_status ant_nvrtc_compile(const ant_nvrtc_source *source, int sm, const char *const *options,
                                size_t option_count, ant_nvrtc_image *image);

void ant_nvrtc_image_clear(ant_nvrtc_image *image);

#endif
