/*
 * shplrnn_pass.h - the pass of a shPLRNN on the GPU (kernels/solve.cu, sums.cu): how shplrnn_pass.c and
 * shplrnn_plan.c share it.
 */
#ifndef ANT_ENGINE_CUDA_SOLVER_H
#define ANT_ENGINE_CUDA_SOLVER_H

#include "engine/cuda/deer.h"

/* How the work is divided; it follows from the settings and the GPU alone, never from how many runs are
 * there. */
typedef struct ant_cuda_plan {
    int warps;    /* stretches of one block at a time; shadows come beside them */
    int newton;   /* 1: borders are joined with full matrices, 0: with their diagonals */
    int blocks;   /* of one run */
    int group;    /* blocks whose borders are joined first; those of the groups after */
    int segments; /* stretches of a sequence; 1: sequential */
    const char *solver;
    char choice[320];
} ant_cuda_plan;

/* `most_warps` bounds the choice: fewer are tried when a variant needs more shared memory than there is. */
void ant_cuda_plan_choose(const ant_engine_learning *work, int multiprocessors, int most_warps,
                          ant_cuda_plan *plan);

typedef struct ant_cuda_solver {
    ant_cuda_device *device;
    ant_cuda_plan plan;
    ant_cuda_program *program, *summing;
    ant_cuda_kernel kernel, sum;
    ant_cuda_grid grid, sum_grid;
    int sum_blocks;                                                   /* blocks of a run that sum */
    unsigned threads;                                                 /* of a block of `kernel` */
    int pack, row, masks, record, sums, hidden, latent, keeps_hidden; /* solve_facts of solve.cu */
    size_t T, batch, replicas, real_bytes;
    ant_cuda_buffer packs, rows, mask, phi, delta, records, starts, partial, squares, totals;
    ant_cuda_deer deer;                   /* where stretches start, with `deer` and `quasi-deer` */
    bool staged;                          /* records of borders have room in shared memory */
    _Alignas(16) unsigned char args[256]; /* solve_args of solve_args.cuh */
} ant_cuda_solver;

#endif
