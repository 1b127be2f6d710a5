/* solve_args.h - kernels/abi_solve.h for the host: the arguments of solve.cu, sums.cu and deer.cu in float
 * and in double. */
#ifndef ANT_ENGINE_CUDA_SOLVE_ARGS_H
#define ANT_ENGINE_CUDA_SOLVE_ARGS_H

#include "engine/cuda/pass.h"

#include <string.h>

#define real           float
#define ABI_REAL(name) name##_f32
#include "engine/cuda/kernels/abi_solve.h"
#undef real
#undef ABI_REAL

#define real           double
#define ABI_REAL(name) name##_f64
#include "engine/cuda/kernels/abi_solve.h"
#undef real
#undef ABI_REAL

typedef struct solve_args_f32 solve_args_f32;
typedef struct solve_args_f64 solve_args_f64;
typedef struct deer_args_f32 deer_args_f32;
typedef struct deer_args_f64 deer_args_f64;

/* The same in float. */
static inline solve_args_f32 ant_cuda_solve_args_narrow(const solve_args_f64 *p)
{
    solve_args_f32 q = {
        .alpha = (float)p->alpha, .tolerance = (float)p->tolerance, .freeze = (float)p->freeze};
    memcpy(&q, p, offsetof(solve_args_f32, alpha)); /* the integers */
    memcpy(&q.weight, &p->weight, sizeof *p - offsetof(solve_args_f64, weight));
    return q;
}

#endif
