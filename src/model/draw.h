/* draw.h - initial values of one slice, drawn by counter (spec 4, spec 10). */
#ifndef ANT_MODEL_DRAW_H
#define ANT_MODEL_DRAW_H

#include "base/random.h"
#include "model/model.h"

/* The stream of a slice: its numbers do not depend on the shapes of the others. */
ant_stream ant_draw_stream(const ant_model_layout *layout, const ant_model_slice *slice, uint64_t seed,
                           uint32_t replica);

/* Uniform in +-bound.  out: (count) */
void ant_draw_uniform(ant_stream stream, double bound, size_t count, double *out);

/* Of the matrices of shplrnn and lssm, in units of columns^-1/2: 1 - kappa or 1. */
double ant_draw_scale(ant_initialisation initialisation);

/*
 * Abar of shplrnn and lssm: A = kappa, or, random, the diagonal of K / lambda_max(K),
 * K = R^T R / M + I, R (M, M) standard normal, and at most 0.9995: the quotient is 1 for M = 1, where Abar
 * would be infinite.  Abar: (M)
 */
antler_status ant_draw_decay(const ant_model_layout *layout, ant_initialisation initialisation, uint64_t seed,
                             uint32_t replica, double *Abar);

#endif
