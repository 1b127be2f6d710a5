/* golden_solve.h - what the golden checks of the kinds of models share. */
#ifndef ANT_TESTS_GOLDEN_SOLVE_H
#define ANT_TESTS_GOLDEN_SOLVE_H

#include "golden.h"
#include "solve_problem.h"

#include "model/handle.h"

/* 1e-9 in double, 1e-3 in single. */
double golden_tolerance(int bits);

/* The problem of the folder; its arrays are owned by the caller.  A fault marks the case as broken. */
problem golden_problem_load(golden_case *c);

/* Compare each slice of a gradient with PREFIX_<letter>; letters without a file have gradient 0. */
void golden_compare_gradient(golden_case *c, const char *prefix, const char *how,
                             const ant_model_layout *layout, const double *gradient, int bits);

/* Value and gradient of a regularising term against NAME and NAME_grad_<letter>; M_r is in case.txt. */
void golden_check_term(golden_case *c, const antler_model *model, const char *name, ant_regulariser r,
                       int bits);

#endif
