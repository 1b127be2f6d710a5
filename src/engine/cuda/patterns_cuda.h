/* patterns_cuda.h - missing values on the GPU (kernels/patterns.cu, spec 12): the launch before those of a
   shPLRNN's pass. */
#ifndef ANT_ENGINE_CUDA_PATTERNS_CUDA_H
#define ANT_ENGINE_CUDA_PATTERNS_CUDA_H

#include "engine/cuda/pass.h"

typedef struct ant_cuda_patterns {
    ant_cuda_program *program; /* NULL: the data are complete */
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
    size_t size; /* reals of the weights of one pattern */
    ant_cuda_buffer bits, table, scratch;
    struct pattern_args args;
} ant_cuda_patterns;

/* The option of solve.cu, sums.cu, deer.cu and patterns.cu where values are missing; NULL: none are. */
const char *ant_cuda_patterns_option(const ant_engine_learning *work);

/* Patterns of the data, with that of complete rows; 0 where none is missing. */
size_t ant_cuda_patterns_count(const ant_engine_learning *work);

/* Compile and upload the patterns; then set where the launch finds its arrays.  Clear it also after a
   failure. */
antler_status ant_cuda_patterns_create(ant_cuda_pass *pass, ant_cuda_patterns *patterns);
void ant_cuda_patterns_point(const ant_cuda_pass *pass, ant_cu_pointer pack, ant_cu_pointer of_row,
                             ant_cuda_patterns *patterns);
void ant_cuda_patterns_clear(ant_cuda_device *device, ant_cuda_patterns *patterns);

antler_status ant_cuda_patterns_launch(ant_cuda_device *device, ant_cuda_patterns *patterns);

#endif
