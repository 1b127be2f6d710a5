/* mamba2_method.h - training of the Mamba-2 baseline: its phases, and its plain reference.  Internal to
 * solve; for templates only. */
#ifndef ANT_SOLVE_MAMBA2_H
#define ANT_SOLVE_MAMBA2_H

#include "model/mamba2.h"
#include "solve/linear.h"

/* Reals that the reference needs for T steps. */
size_t ANT_FN(ant_mamba2_reference_work)(const ant_model_dims *dims, size_t T);

/* See ant_linear_model; z receives v_t (T, D). */
double ANT_FN(ant_mamba2_reference)(const ANT_FN(ant_linear) * plan, const real *x, const real *s, real *z,
                                    double *sums);

/* Phases of linear.h: between the scans, and after them. */
void ANT_FN(ant_mamba2_cross)(const ANT_FN(ant_linear) * plan, const ANT_FN(ant_item) * item);
void ANT_FN(ant_mamba2_leave)(const ANT_FN(ant_linear) * plan, const ANT_FN(ant_item) * item);
void ANT_FN(ant_mamba2_project_back)(const ANT_FN(ant_linear) * plan, const ANT_FN(ant_item) * item);

#endif
