/*
 * deer.h - Newton's method on all steps of time at once, on the GPU (kernels/deer.cu): the launch before
 * that of solve.cu, which starts from what this one finds.
 */
#ifndef ANT_ENGINE_CUDA_DEER_H
#define ANT_ENGINE_CUDA_DEER_H

#include "engine/cuda/solve_args.h"

typedef struct ant_cuda_deer {
    ant_cuda_program *program; /* NULL: the solver is another */
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
    int groups, map; /* deer_facts of deer.cu: chunks of a block, reals of a map */
    int blocks;      /* of one run */
    int segments;    /* of a sequence */
    ant_cuda_buffer maps, changes;
    char choice[320];
    _Alignas(16) unsigned char args[320]; /* deer_args of deer.cu */
} ant_cuda_deer;

/* Whether the settings ask for it. */
bool ant_cuda_deer_wanted(const antler_settings *settings);

/*
 * Compile, divide the work, take buffers, and name itself as the pass's solver.  `problem` is that of
 * solve.cu, in double, with its buffers in place; stretches: those of a sequence there.  Clear it also after
 * a failure.
 */
antler_status ant_cuda_deer_create(ant_cuda_pass *pass, const ant_cuda_solve_args_f64 *args,
                                   int solve_segments, ant_cuda_deer *deer);
void ant_cuda_deer_clear(ant_cuda_device *device, ant_cuda_deer *deer);

antler_status ant_cuda_deer_launch(ant_cuda_device *device, ant_cuda_deer *deer);

#endif
