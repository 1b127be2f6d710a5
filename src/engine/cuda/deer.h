/* deer.h - Newton's method on all steps at once, on the GPU (kernels/deer.cu): the launch before that of
   solve.cu, which starts from this trajectory. */
#ifndef ANT_ENGINE_CUDA_DEER_H
#define ANT_ENGINE_CUDA_DEER_H

#include "engine/cuda/solve_args.h"

typedef struct ant_cuda_deer {
    ant_cuda_program *program; /* NULL: another solver is used */
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
    int block_segments, map; /* deer_variant: segments of a block, reals of a map */
    int blocks;              /* of one run */
    int segments;            /* of a sequence */
    ant_cuda_buffer maps, changes;
    char choice[320];
    union {
        deer_args_f32 f32;
        deer_args_f64 f64;
    } args; /* of the precision */
} ant_cuda_deer;

/* Whether the settings name this solver. */
bool ant_cuda_deer_wanted(const antler_settings *settings);

/* Compile, divide the work, allocate buffers, and become the solver of the pass.  `args` are those of
   solve.cu, in double, with their buffers set; solve_segments: segments of a sequence there.  Clear it also
   after a failure. */
antler_status ant_cuda_deer_create(ant_cuda_pass *pass, const solve_args_f64 *args, int solve_segments,
                                   ant_cuda_deer *deer);
void ant_cuda_deer_clear(ant_cuda_device *device, ant_cuda_deer *deer);

antler_status ant_cuda_deer_launch(ant_cuda_device *device, ant_cuda_deer *deer);

#endif
