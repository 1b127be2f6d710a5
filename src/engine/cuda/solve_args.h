/* solve_args.h - solve_args of kernels/solve_args.cuh, which solve.cu, sums.cu and deer.cu read. */
#ifndef ANT_ENGINE_CUDA_SOLVE_ARGS_H
#define ANT_ENGINE_CUDA_SOLVE_ARGS_H

#include "engine/cuda/pass.h"

#include <string.h>

/* For float and for double. */
#define ANT_CUDA_SOLVE_ARGS(real)                                                                            \
    {                                                                                                        \
        int T, batch, warmup, segments;                                                                      \
        int blocks;                                                                                          \
        int max_iterations;                                                                                  \
        int flow;                                                                                            \
        int replicas;                                                                                        \
        int group, staged, sum_blocks;                                                                       \
        int fallback;                                                                                        \
        real alpha, tolerance, freeze;                                                                       \
        double weight;                                                                                       \
        ant_cu_pointer pack, x, s, rows, masks, hidden, delta, records, starts, partial, squares, sums,      \
            arrived, facts;                                                                                  \
    }
typedef struct ant_cuda_solve_args_f32 ANT_CUDA_SOLVE_ARGS(float) ant_cuda_solve_args_f32;
typedef struct ant_cuda_solve_args_f64 ANT_CUDA_SOLVE_ARGS(double) ant_cuda_solve_args_f64;

static inline ant_cuda_solve_args_f32 ant_cuda_solve_args_narrow(const ant_cuda_solve_args_f64 *p)
{
    ant_cuda_solve_args_f32 q = {
        .alpha = (float)p->alpha, .tolerance = (float)p->tolerance, .freeze = (float)p->freeze};
    memcpy(&q, p, offsetof(ant_cuda_solve_args_f32, alpha)); /* the integers */
    memcpy(&q.weight, &p->weight, sizeof *p - offsetof(ant_cuda_solve_args_f64, weight));
    return q;
}

#endif
