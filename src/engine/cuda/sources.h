/*
 * sources.h - the CUDA sources that CMake embeds: every .cu of kernels/, and every .cuh and .h for them to
 * include.
 *
 * ANTLER_KERNEL_DIR names a folder from which they are read instead, while a kernel is being written.
 */
#ifndef ANT_ENGINE_CUDA_SOURCES_H
#define ANT_ENGINE_CUDA_SOURCES_H

#include "engine/cuda/nvrtc.h"

typedef struct ant_embedded_source {
    const char *name; /* "solve.cu" */
    const char *text; /* ends with a zero byte */
} ant_embedded_source;

/* In the order of their names; the last has the name NULL (generated/kernel_sources.c). */
extern const ant_embedded_source ant_embedded_sources[];

/* A source with all headers, ready for the compiler; clear it with ant_sources_clear. */
typedef struct ant_sources {
    ant_nvrtc_source source;
    char **owned; /* (owned_count): texts that were read from ANTLER_KERNEL_DIR */
    size_t owned_count;
    const char **names, **texts; /* of the headers */
} ant_sources;

antler_status ant_sources_get(const char *name, ant_sources *sources);
void ant_sources_clear(ant_sources *sources);

#endif
