/* break_even.c - multiply-adds of an update, compared with the break-even of a GPU. */
#include "train/break_even.h"

#include "base/machine.h"
#include "train/forcing_rule.h"

#include <stdio.h>

static double work_of_step(const antler_settings *s)
{
    const double M = (double)s->latent_dim, L = (double)s->hidden_dim;
    if (s->model == ANTLER_MODEL_MAMBA2) /* its matrices, and ten per number of its state */
        return 3.0 * M * (6.0 * M + 40.0 + 2.0 * L) + 10.0 * 32.0 * M;
    return 6.0 * M * L;
}

double ant_break_even_work(const antler_settings *s)
{
    return work_of_step(s) * (double)s->sequence_length * (double)s->batch_size * (double)s->runs;
}

static double break_even(const antler_settings *s)
{
    return ANT_GPU_BREAK_EVEN * (double)ant_threads_resolve((int)s->threads);
}

bool ant_break_even_reached(const antler_settings *s)
{
    const bool offered =
        s->solver != ANTLER_SOLVER_REFERENCE && s->adjoint == ANTLER_ADJOINT_FULL && !ant_settings_sample(s);
    return offered && ant_break_even_work(s) >= break_even(s);
}

void ant_break_even_remark(const antler_settings *s, bool gpu, const char *gaps, char *text, size_t bytes)
{
    const bool unused = !gpu && ant_break_even_reached(s);
    const char *const why = !unused        ? ""
                            : gaps != NULL ? ", but does not take missing values "
                                           : ", but none can be used";
    text[0] = '\0';
    if (s->device == ANTLER_DEVICE_AUTO)
        snprintf(text, bytes, " (device auto: %.2g multiply-adds an update, a GPU is faster from %.2g%s%s)",
                 ant_break_even_work(s), break_even(s), why, unused && gaps != NULL ? gaps : "");
}
