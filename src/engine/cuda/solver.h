/*
 * solver.h - forward and backward pass on the GPU (kernels/solve.cu): the division of work, the compiled
 * variant, its buffers, and its launch.
 */
#ifndef ANT_ENGINE_CUDA_SOLVER_H
#define ANT_ENGINE_CUDA_SOLVER_H

#include "engine/cuda/program.h"
#include "engine/engine.h"

/* How the work is divided; it follows from the settings and the GPU alone, never from how many runs are
 * there. */
typedef struct ant_cuda_plan {
    int warps;  /* of one block */
    int newton; /* 1: borders are joined with full matrices, 0: with their diagonals */
    int blocks; /* of one run */
    int chunks; /* stretches of a sequence; 1: sequential */
    const char *solver;
    char choice[320];
} ant_cuda_plan;

/* `most_warps` bounds the choice: fewer are tried when a variant needs more shared memory than there is. */
void ant_cuda_plan_choose(const ant_engine_learning *work, int multiprocessors, int most_warps,
                          ant_cuda_plan *plan);

typedef struct ant_cuda_solver {
    ant_cuda_device *device;
    ant_cuda_plan plan;
    ant_cuda_program *program;
    ant_cuda_kernel kernel;
    ant_cuda_grid grid;
    int pack, row, masks, record, sums, hidden, latent, keeps_hidden; /* solve_facts of solve.cu */
    size_t T, batch, replicas, real_bytes, bytes;
    ant_cuda_buffer packs, x, s, rows, mask, phi, delta, records, partial, squares, totals, arrived, facts;
    bool staged;                             /* records of borders have room in shared memory */
    _Alignas(16) unsigned char problem[256]; /* solve_problem of stretch.cuh */
} ant_cuda_solver;

antler_status ant_cuda_solver_create(ant_cuda_device *device, const ant_engine_learning *work,
                                     ant_cuda_solver *solver);
void ant_cuda_solver_destroy(ant_cuda_solver *solver); /* accepts a zeroed one */

/* Needs weights in `packs`, windows in `x` and `s`, and zeros in `arrived`. */
antler_status ant_cuda_solver_launch(ant_cuda_solver *solver);

/* (replicas, batch, T+1, row): z_t is at the head of each. */
ant_cu_pointer ant_cuda_solver_rows(const ant_cuda_solver *solver);

/* "-DM=4 ..." for every kernel of a model.  options: (count) rows; returns the count. */
enum { ANT_CUDA_OPTIONS = 12, ANT_CUDA_OPTION_BYTES = 32 };
size_t ant_cuda_shape_options(const ant_engine_learning *work,
                              char options[ANT_CUDA_OPTIONS][ANT_CUDA_OPTION_BYTES]);

antler_status ant_cuda_compile_shape(ant_cuda_device *device, const char *source,
                                     const ant_engine_learning *work, const char *const *more, size_t count,
                                     ant_cuda_program **program);

/* The same without a GPU: machine code, which the caller frees. */
antler_status ant_cuda_image_shape(int sm, const char *source, const ant_engine_learning *work,
                                   const char *const *more, size_t count, void **image, size_t *size);

#endif
