/* draw.h - initial values of one slice, drawn by counter. */
#ifndef ANT_MODEL_DRAW_H
#define ANT_MODEL_DRAW_H

#include "base/random.h"
#include "model/model.h"

/* The stream of a slice: its numbers do not depend on the shapes of the others. */
ant_stream ant_draw_stream(const ant_model_layout *layout, const ant_model_slice *slice, uint64_t seed,
                           uint32_t replica);

/* Uniform in +-bound.  out: (count) */
void ant_draw_uniform(ant_stream stream, double bound, size_t count, double *out);

#endif
