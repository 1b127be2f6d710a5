/* model_real.h - the part of model.h that exists once per precision; model.h includes it for each. */

/*
 * Draw initial parameters (spec 4, spec 10) from the stream (seed, replica, ANT_PURPOSE_PARAMETERS), in
 * double, and round them.  parameters: (total).
 */
antler_status ANT_N(ant_model_initialise)(const ant_model_layout *layout, ant_initialisation initialisation,
                                          uint64_t seed, uint32_t replica, ANT_T *parameters);

/*
 * Values of the regularising terms; their gradient is added to `gradient` (total) unless it is NULL.
 * The subgradient of |x| at 0 is 0.  Sums are taken in double in both precisions.  work:
 * ant_regulariser_work() doubles.  ANTLER_NON_FINITE when a parameter is not finite.
 */
antler_status ANT_N(ant_regulariser_add)(const ant_model_layout *layout, const ant_regulariser *regulariser,
                                         const ANT_T *parameters, ANT_T *gradient, double *work,
                                         ant_regulariser_terms *terms);

/* The shPLRNN in plain loops: the reference for all kernels.  ------------------------------------- */

/*
 * One free step z -> next.  z, next: (M), not overlapping; s: (K) or NULL when K = 0;
 * hidden: (L + rank) scratch.
 */
void ANT_N(ant_shplrnn_step)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                             const ANT_T *s, ANT_T *next, ANT_T *hidden);

/* The Jacobian of the step at z.  jacobian: (M, M); hidden: (L + rank) scratch. */
void ANT_N(ant_shplrnn_jacobian)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                                 ANT_T *jacobian, ANT_T *hidden);

/* xhat = B z.  z: (M); xhat: (N). */
void ANT_N(ant_shplrnn_observe)(const ant_model_layout *layout, const ANT_T *parameters, const ANT_T *z,
                                ANT_T *xhat);
