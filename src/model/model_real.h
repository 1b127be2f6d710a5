/* model_real.h - the part of model.h that exists once per precision; model.h includes it for each. */

/*
 * Draw initial parameters (SPEC 4) from the stream (seed, replica, ANT_PURPOSE_PARAMETERS).  kappa in
 * (0, 1); the paper has 0.9995.  Low rank: WL ~ U(+-r^-1/2), WR ~ U(+-sqrt(3) (1-kappa) L^-1/2), which
 * gives the entries of WL WR the variance of a full W.  parameters: (total).
 */
antler_status ANT_N(ant_model_initialise)(const ant_model_layout *layout, double kappa, uint64_t seed,
                                          uint32_t replica, ANT_T *parameters);

/*
 * One free step z -> next, in plain form.  z, next: (M), not overlapping; s: (K) or NULL when K = 0;
 * hidden: (L + rank) scratch.
 */
void ANT_N(ant_model_step)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                           const ANT_T *s, ANT_T *next, ANT_T *hidden);

/* The Jacobian of the step at z.  jacobian: (M, M); hidden: (L + rank) scratch. */
void ANT_N(ant_model_jacobian)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                               ANT_T *jacobian, ANT_T *hidden);

/* xhat = B z.  z: (M); xhat: (N). */
void ANT_N(ant_model_observe)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                              ANT_T *xhat);

/*
 * Values of the regularising terms; their gradient is added to `gradient` (total) unless it is NULL.
 * The subgradient of |x| at 0 is 0.  With low rank, MAR acts on the rows of the product WL WR and its
 * gradient passes on to both factors.  work: ant_regulariser_work() doubles.  ANTLER_NON_FINITE when a
 * parameter is not finite.
 */
antler_status ANT_N(ant_regulariser_add)(const ant_model_layout *layout, const ant_regulariser *regulariser,
                                         const ANT_T *parameters, ANT_T *gradient, double *work,
                                         ant_regulariser_terms *terms);
