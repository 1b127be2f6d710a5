/* solve_real.h - the part of solve.h that exists once per precision; solve.h includes it for each. */

typedef struct ANT_N(ant_solve_plan) ANT_N(ant_solve_plan);

/* Make a plan for `batch` sequences of T steps.  T >= 1, batch >= 1, options->warmup < T. */
antler_status ANT_N(ant_solve_plan_create)(const ant_model_dims *dims, size_t T, size_t batch,
                                           const ant_solve_options *options, ANT_N(ant_solve_plan) * *plan);

void ANT_N(ant_solve_plan_free)(ANT_N(ant_solve_plan) * plan);

/* The solver in use and, in one sentence, why and with which kernels.  Valid as long as the plan. */
ant_solver ANT_N(ant_solve_plan_solver)(const ANT_N(ant_solve_plan) * plan);
const char *ANT_N(ant_solve_plan_choice)(const ANT_N(ant_solve_plan) * plan);

/* Bytes that the plan holds. */
size_t ANT_N(ant_solve_plan_bytes)(const ANT_N(ant_solve_plan) * plan);

/*
 * Solve, and differentiate the loss.  parameters: (total); x: (batch) pointers to (T+1, N); s: (batch)
 * pointers to (T, K), NULL when K = 0; gradient: (total), overwritten, or NULL for the loss alone.
 *
 * ANTLER_NON_FINITE: states or gradient are not finite, also by `sequential`; the gradient must not be
 * used.  ANTLER_NOT_CONVERGED only without fallback.  The report is filled in all three cases.
 */
antler_status ANT_N(ant_solve_gradient)(ANT_N(ant_solve_plan) * plan, const ANT_T *parameters,
                                        const ANT_T *const *x, const ANT_T *const *s, double alpha,
                                        ANT_T *gradient, ant_solve_report *report);

/*
 * Scheduled sampling (spec 15): in the next calls the model takes its own prediction in, in place of row t >=
 * 1 of sequence i, where drawn[i T + t] is not 0.  drawn: (batch, T), borrowed; NULL: nowhere.  For plans
 * made with options.sampling.
 */
antler_status ANT_N(ant_solve_sample)(ANT_N(ant_solve_plan) * plan, const unsigned char *drawn);

/* Copy the states of the last call: z_1 .. z_T of one sequence.  z: (T, M).  Where these are not kept
 * (legs_tmpl.c), they are made again from its parameters and data, which must still be there, as they were.
 */
void ANT_N(ant_solve_states)(const ANT_N(ant_solve_plan) * plan, size_t sequence, ANT_T *z);

/*
 * The adjoint states of one sequence of a batch, dloss/dz_t for t = 1 .. T (spec 3), along the exact
 * trajectory and in plain loops.  x, s: as in ant_solve_gradient; v: (T, M).
 */
antler_status ANT_N(ant_solve_adjoint)(ANT_N(ant_solve_plan) * plan, const ANT_T *parameters,
                                       const ANT_T *const *x, const ANT_T *const *s, size_t sequence,
                                       double alpha, ANT_T *v);

/*
 * Run the plan's solver and the reference on the same inputs and compare.  `gradient` (total) receives
 * the plan's own gradient.  Costs memory for the reference; for logs and tests, not for every update.
 */
antler_status ANT_N(ant_solve_check)(ANT_N(ant_solve_plan) * plan, const ANT_T *parameters,
                                     const ANT_T *const *x, const ANT_T *const *s, double alpha,
                                     ANT_T *gradient, ant_solve_report *report,
                                     ant_solve_agreement *agreement);
