/* unforced.h - Lyapunov exponents of latent directions that data do not force (spec 8). */
#ifndef ANT_MEASURE_UNFORCED_H
#define ANT_MEASURE_UNFORCED_H

#include "model/start.h"

/*
 * How many such exponents a model has: M - N for a shPLRNN with M > N, 0 for others, which are not forced.
 * Also 0 where their computation over `steps` steps would take too long.
 */
size_t ant_unforced_count(const antler_model *model, const ant_runner *runner, size_t steps);

/*
 * Exponents of the Jacobian restricted to the kernel of B, along the free orbit from `started`, over `steps`
 * steps after the transient.  exponents: (count), falling; count <= ant_unforced_count()
 */
antler_status ant_unforced_exponents(const antler_model *model, const ant_runner *runner,
                                     const ant_started *started, size_t transient, size_t steps, size_t count,
                                     double *exponents);

#endif
