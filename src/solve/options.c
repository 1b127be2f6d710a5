/* options.c - defaults and names. */
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
