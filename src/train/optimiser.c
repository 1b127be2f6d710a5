/* optimiser.c - learning rate, and the factors of a step of Adam or RAdam. */
#include "train/optimiser.h"

#include <math.h>

double ant_learning_rate(const antler_settings *settings, size_t update)
{
    const double pi = 3.14159265358979323846;
    const double start = settings->start_lr, end = settings->end_lr;
    const double done = settings->updates > 1 ? (double)(update - 1) / (double)(settings->updates - 1) : 0.0;
    switch (settings->schedule) {
    case ANTLER_SCHEDULE_COSINE:
        return end + 0.5 * (start - end) * (1.0 + cos(pi * done));
    case ANTLER_SCHEDULE_EXPONENTIAL:
        return start * pow(end / start, done);
    case ANTLER_SCHEDULE_CONSTANT:
        break;
    }
    return start;
}

ant_step ant_step_make(const antler_settings *settings, size_t update, double gradient_norm)
{
    const double t = (double)update;
    const double power1 = pow(settings->beta1, t), power2 = pow(settings->beta2, t);
    const double lr = ant_learning_rate(settings, update);
    const bool clip = settings->gradient_clip > 0.0 && gradient_norm > settings->gradient_clip;
    ant_step step = {
        .beta1 = settings->beta1,
        .beta2 = settings->beta2,
        .epsilon = settings->epsilon,
        .first = lr / (1.0 - power1),
        .second = 1.0 / (1.0 - power2),
        .adaptive = true,
        .shorten = clip ? settings->gradient_clip / gradient_norm : 1.0,
    };
    if (settings->optimiser == ANTLER_OPTIMISER_RADAM) {
        const double limit = 2.0 / (1.0 - settings->beta2) - 1.0;
        const double length = limit - 2.0 * t * power2 / (1.0 - power2);
        step.adaptive = length > 5.0;
        if (step.adaptive)
            step.first *=
                sqrt((length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length));
    }
    return step;
}
