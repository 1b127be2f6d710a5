/* learner.c - the sentences of runs that diverge, the same on every machine. */
#include "train/learner.h"

#include "model/kind.h"

#include <stdio.h>

antler_status ant_learner_diverged(const ant_model_layout *layout, size_t update, const char *term)
{
    const bool forced = ant_model_kind_of(layout->dims.kind)->forced;
    return ant_fail(ANTLER_DIVERGED, "diverged at update %zu: %s; try %s", update, term,
                    forced ? "a larger gtf_alpha, a smaller start_lr, or clipped: true"
                           : "a smaller start_lr or gradient_clip");
}

antler_status ant_learner_exploded(const ant_model_layout *layout, size_t update, size_t parameter)
{
    const char *name = "?";
    char term[96];
    for (size_t k = 0; k < layout->slices; k++) {
        const ant_model_slice *slice = &layout->slice[k];
        if (parameter >= slice->offset && parameter < slice->offset + slice->count)
            name = slice->name;
    }
    snprintf(term, sizeof term, "the parameter %s has grown beyond %g", name, ANT_PARAMETER_LIMIT);
    return ant_learner_diverged(layout, update, term);
}
