/* learning.c - the description of a training for learners, and the messages of runs that diverge. */
#include "train/learning.h"

#include "comm/comm.h"
#include "model/kind.h"
#include "train/break_even.h"

#include <stdio.h>

antler_status ant_learning_engine(const antler_settings *settings, const ant_engine **engine)
{
    ant_engine_number(ant_comm_local(ant_comm_world()));
    return ant_engine_choose(settings->device, ant_break_even_reached(settings), engine);
}

const char *ant_learning_gap_limit(const antler_settings *settings, const ant_lacks *lacks)
{
    _Static_assert(ANT_ENGINE_PATTERNS == 1024, "the words below");
    const bool forced =
        ant_model_kind_of((ant_model_id)settings->model)->forced; /* what patterns matter to */
    return forced && lacks->count > ANT_ENGINE_PATTERNS ? "in more than 1024 patterns" : NULL;
}

ant_engine_learning ant_learning_describe(const antler_settings *settings, const ant_model_layout *layout)
{
    const ant_model_dims *d = &layout->dims;
    return (ant_engine_learning){.M = d->M,
                                 .N = d->N,
                                 .L = d->L,
                                 .K = d->K,
                                 .rank = d->rank,
                                 .clipped = d->clipped,
                                 .total = layout->total,
                                 .settings = settings,
                                 .threads = 1,
                                 .limit = ANT_PARAMETER_LIMIT};
}

const ant_learner_ops *ant_learning_cpu(antler_precision precision)
{
    return precision == ANTLER_PRECISION_FLOAT ? &ant_learner_ops_f32 : &ant_learner_ops_f64;
}

/* The name of the parameter with this index among all numbers of a model. */
static const char *parameter_name(const ant_model_layout *layout, size_t index)
{
    for (size_t k = 0; k < layout->slices; k++) {
        const ant_model_slice *slice = &layout->slice[k];
        if (index >= slice->offset && index < slice->offset + slice->count)
            return slice->name;
    }
    return "?";
}

antler_status ant_learning_diverged(const ant_model_layout *layout, const ant_outcome *outcome)
{
    static const char *const reasons[] = {
        [ANT_DIVERGED_LOSS] = "the loss is not finite",
        [ANT_DIVERGED_GRADIENT] = "the gradient of the loss is not finite",
        [ANT_DIVERGED_MAR] = "the regulariser of the latent model is not finite",
        [ANT_DIVERGED_READOUT] = "the regulariser of B is not finite",
        [ANT_DIVERGED_SINGULAR] = "the regulariser of the singular values of B is not finite",
        [ANT_DIVERGED_NORM] = "the norm of the gradient is not finite"};
    char beyond[96];
    const bool forced = ant_model_kind_of(layout->dims.kind)->forced;
    snprintf(beyond, sizeof beyond, "the parameter %s has grown beyond %g",
             parameter_name(layout, outcome->parameter), ANT_PARAMETER_LIMIT);
    return ant_fail(ANTLER_DIVERGED, "diverged at update %zu: %s; try %s", outcome->update + 1,
                    outcome->diverged == ANT_DIVERGED_PARAMETER ? beyond : reasons[outcome->diverged],
                    forced ? "a larger gtf_alpha, a smaller start_lr, or clipped: true"
                           : "a smaller start_lr or gradient_clip");
}
