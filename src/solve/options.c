/* options.c - defaults and names, and segments for a number of threads. */
#include "solve/solve.h"

const char *ant_solver_name(ant_solver solver)
{
    static const char *const names[] = {"auto",       "reference", "sequential", "deer",
                                        "quasi-deer", "shooting",  "scan"};
    return names[solver];
}

void ant_solve_options_default(ant_solve_options *options)
{
    *options = (ant_solve_options){.solver = ANT_SOLVER_AUTO,
                                   .start = ANT_START_PINV,
                                   .teacher = ANT_TEACHER_FLOW,
                                   .adjoint = ANT_ADJOINT_FULL,
                                   .max_iterations = 100,
                                   .fallback = true,
                                   .seed = 1};
}

size_t ant_solve_segments(ant_solver solver, size_t T, size_t batch, int threads)
{
    const size_t each = ((size_t)threads + batch - 1) / batch, most = T / ANT_SHORTEST_SEGMENT;
    const size_t segments = each < most ? each : most;
    const bool cuts = solver == ANT_SOLVER_AUTO || solver == ANT_SOLVER_SHOOTING;
    return cuts && segments > 1 ? segments : 1;
}
