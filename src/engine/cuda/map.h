/* map.h - a shPLRNN on the GPU: its program and parameters, for orbits.c and tangents.c (kernels/orbit.cu).
 */
#ifndef ANT_ENGINE_CUDA_MAP_H
#define ANT_ENGINE_CUDA_MAP_H

#include "engine/cuda/program.h"
#include "engine/engine.h"

typedef struct ant_cuda_map {
    ant_cuda_device *device; /* borrowed */
    ant_cuda_program *program;
    ant_cuda_buffer parameters;
    unsigned threads; /* of a block */
} ant_cuda_map;

/* Compile for its sizes and `count` tangent vectors, upload the parameters.  Clear it also after a failure.
 */
antler_status ant_cuda_map_open(ant_cuda_device *device, const ant_engine_map *map, size_t count,
                                ant_cuda_map *made);
void ant_cuda_map_clear(ant_cuda_map *map);

#endif
