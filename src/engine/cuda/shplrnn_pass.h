/* shplrnn_pass.h - the pass of a shPLRNN on the GPU (kernels/solve.cu, sums.cu): what shplrnn_pass.c and
   shplrnn_plan.c share. */
#ifndef ANT_ENGINE_CUDA_SOLVER_H
#define ANT_ENGINE_CUDA_SOLVER_H

#include "engine/cuda/deer.h"
#include "engine/cuda/patterns_cuda.h"

/* How the work is divided.  It depends on the settings and the GPU alone, never on how many runs there are.
 */
typedef struct ant_cuda_plan {
    int warps;    /* step warps of a block, each with a segment at a time; tangent warps come in addition; of
                     sequences.cu: all warps of a block */
    int newton;   /* 1: borders are joined with full matrices, 0: with their diagonals */
    int blocks;   /* of one run */
    int group;    /* blocks of a group of the team (kernels/border.cuh) */
    int segments; /* of a sequence; 1: sequential */
    bool shares;  /* the warps of a block share a sequence: sequences.cu in the place of solve.cu */
    int sum_blocks; /* of one run in sums.cu */
    const char *solver;
    char choice[320];
} ant_cuda_plan;

/* `most_warps` limits the choice: fewer are tried when a variant needs more shared memory than there is. */
void ant_cuda_plan_choose(const ant_engine_learning *work, int multiprocessors, int most_warps,
                          ant_cuda_plan *plan);

typedef struct ant_cuda_solver {
    ant_cuda_device *device;
    ant_cuda_plan plan;
    ant_cuda_program *program, *summing;
    ant_cuda_kernel kernel, sum;
    ant_cuda_grid grid, sum_grid;
    int sum_blocks;             /* blocks of a run in sums.cu */
    struct solve_variant facts; /* of solve.cu */
    size_t T, batch, replicas, real_bytes;
    ant_cuda_buffer packs, rows, mask, phi, delta, records, starts, partial, squares, totals;
    ant_cuda_deer deer;         /* finds where segments start, with `deer` and `quasi-deer` */
    ant_cuda_patterns patterns; /* of missing values */
    bool staged;                /* records of borders fit into shared memory */
    union {
        solve_args_f32 f32;
        solve_args_f64 f64;
    } args; /* of the precision */
} ant_cuda_solver;

#endif
