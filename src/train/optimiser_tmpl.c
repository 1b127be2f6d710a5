/* optimiser_tmpl.c - one step of Adam or RAdam on all parameters. */
#include "base/real.h"
#include "train/optimiser.h"

void ANT_FN(ant_step_apply)(const ant_step *step, size_t count, const real *gradient, double *m, double *v,
                            real *parameters)
{
    for (size_t i = 0; i < count; i++) {
        const double g = step->shorten * (double)gradient[i];
        m[i] = step->beta1 * m[i] + (1.0 - step->beta1) * g;
        v[i] = step->beta2 * v[i] + (1.0 - step->beta2) * g * g;
        const double scale = step->adaptive ? sqrt(v[i] * step->second) + step->epsilon : 1.0;
        parameters[i] = (real)((double)parameters[i] - step->first * m[i] / scale);
    }
}

double ANT_FN(ant_gradient_norm)(size_t count, const real *gradient)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += (double)gradient[i] * (double)gradient[i];
    return sqrt(sum);
}
