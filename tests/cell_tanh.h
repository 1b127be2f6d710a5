/* cell_tanh.h - a recurrence that the library does not have: a tanh-RNN, as a cell (solve/cell.h). */
#ifndef ANT_TESTS_CELL_TANH_H
#define ANT_TESTS_CELL_TANH_H

#include "solve/solve.h"

/* Plans for z_t = tanh(W z_{t-1} + C s_t + h), x^_t = B z_t; the layout is that of tanh_layout. */
antler_status tanh_plan_f32(const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, ant_solve_plan_f32 **plan);
antler_status tanh_plan_f64(const ant_model_layout *layout, size_t T, size_t batch,
                            const ant_solve_options *options, ant_solve_plan_f64 **plan);

/* W (M, M) | h (M) | C (M, K) | B (N, M). */
static inline ant_model_layout tanh_layout(size_t M, size_t N, size_t K)
{
    ant_model_layout layout = {.dims = {.M = M, .N = N, .K = K}};
    layout.W = ant_model_layout_append(&layout, "W", 2, M, M);
    layout.h = ant_model_layout_append(&layout, "h", 1, M, 1);
    layout.C = K > 0 ? ant_model_layout_append(&layout, "C", 2, M, K) : SIZE_MAX;
    layout.B = ant_model_layout_append(&layout, "B", 2, N, M);
    return layout;
}

#endif
