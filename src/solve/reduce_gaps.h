/* reduce_gaps.h - what reduce_tmpl.c calls where rows lack variables.  Internal to solve; for templates only.
 */
#ifndef ANT_SOLVE_REDUCE_GAPS_H
#define ANT_SOLVE_REDUCE_GAPS_H

#include "solve/reduce.h"

/* The sizes of `gaps` follow from the reduction. */
void ANT_FN(ant_reduce_gaps_carve)(reduction *r, ant_arena *arena);

/* The rows of U. */
void ANT_FN(ant_reduce_gaps_begin)(reduction *r);

/* x' of rows first .. first+count-1 of a sequence, first a multiple of all lanes.  x: (count, N) */
void ANT_FN(ant_reduce_gaps_project)(const reduction *r, size_t sequence, size_t first, size_t count,
                                     const real *x, size_t worker);

/* What the parts have found: any, full_rank, values. */
void ANT_FN(ant_reduce_gaps_count)(reduction *r);

/* How rows of the kernels enter h, and h and x' enter q and y.  P: R+ in double */
void ANT_FN(ant_reduce_gaps_weigh_matrices)(const reduction *r, const double *P);

/* q_t, and what D_t consists of, of one sequence; its sums of D_t.  P: R+ in double */
void ANT_FN(ant_reduce_gaps_weigh)(const reduction *r, const shooting *solved, const double *P, bool flow,
                                   size_t sequence, size_t worker);

/* -sum_t D_t in place of dR. */
void ANT_FN(ant_reduce_gaps_finish)(reduction *r);

/* Add U D to dB where values of the block of variables from `first` on are missing.  dB: (count, M) */
void ANT_FN(ant_reduce_gaps_fill)(const reduction *r, bool flow, size_t first, size_t count, size_t worker,
                                  real *dB);

#endif
