/* map.h - a model that runs free on the GPU: its program and parameters, for orbits.c and tangents.c
   (kernels/orbit.cuh).  The table in map.c has one row per form of map. */
#ifndef ANT_ENGINE_CUDA_MAP_H
#define ANT_ENGINE_CUDA_MAP_H

#include "engine/cuda/program.h"
#include "engine/engine.h"

typedef struct ant_cuda_map {
    ant_cuda_device *device; /* borrowed */
    ant_cuda_program *program;
    ant_cuda_buffer parameters;
    unsigned threads;                   /* of a block */
    size_t shared_bytes, scratch_bytes; /* of a block, and of the Jacobians of its tangent vectors */
} ant_cuda_map;

/* Compile for its sizes and `count` tangent vectors (0: for orbits), upload the parameters.  Clear it also
   after a failure. */
antler_status ant_cuda_map_open(ant_cuda_device *device, const ant_engine_map *map, size_t count,
                                ant_cuda_map *made);
void ant_cuda_map_clear(ant_cuda_map *map);

/* ---- forms ---------------------------------------------------------------------------------------- */

enum { ANT_CUDA_FORM_MACROS = 4 };

typedef struct ant_cuda_macro {
    const char *name;
    size_t value;
} ant_cuda_macro;

typedef struct ant_cuda_form {
    const char *source; /* the kernels; they include orbit.cuh */
    unsigned (*threads)(const ant_engine_map *map, size_t count);
    /* Macros besides M, N, L, K, THREADS and COUNT; returns their number.  NULL: there are none. */
    size_t (*macros)(const ant_engine_map *map, unsigned threads,
                     ant_cuda_macro macros[ANT_CUDA_FORM_MACROS]);
    size_t (*numbers)(const ant_engine_map *map);        /* of `struct parameters` in the source */
    void (*pack)(const ant_engine_map *map, double *to); /* writes them */
} ant_cuda_form;

extern const ant_cuda_form ant_cuda_form_shplrnn, ant_cuda_form_mamba2;

/* Pack numbers one after the other; each returns the address after them. */
double *ant_cuda_append(double *to, const double *from, size_t count);
/* The transpose.  from: (rows, stride); to: (cols, rows) */
double *ant_cuda_append_transposed(double *to, const double *from, size_t rows, size_t cols, size_t stride);
/* from: (rows, stride); to: (rows, cols) */
double *ant_cuda_append_rows(double *to, const double *from, size_t rows, size_t cols, size_t stride);

#endif
