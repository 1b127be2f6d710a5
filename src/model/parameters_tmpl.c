/* parameters_tmpl.c - initial values and regularisers in the precision of training, by way of double. */
#include "base/real.h"
#include "model/kind.h"

#include <stdlib.h>
#include <string.h>

antler_status ANT_FN(ant_model_initialise)(const ant_model_layout *layout, ant_initialisation initialisation,
                                           uint64_t seed, uint32_t replica, real *parameters)
{
    const double kappa = initialisation.kappa;
    ANT_CHECK(!ant_initialisation_uses_kappa(&initialisation) || (kappa > 0.0 && kappa < 1.0),
              ANTLER_ERROR_ARGUMENT, "kappa must lie between 0 and 1, not %g", kappa);
    double *values = calloc(layout->total, sizeof *values);
    if (values == NULL)
        return ant_fail_memory(layout->total * sizeof *values, "initial parameters");
    const antler_status status =
        ant_model_kind_of(layout->dims.kind)->initialise(layout, initialisation, seed, replica, values);
    for (size_t i = 0; i < layout->total && status == ANTLER_OK; i++)
        parameters[i] = (real)values[i];
    free(values);
    return status;
}

antler_status ANT_FN(ant_regulariser_add)(const ant_model_layout *layout, const ant_regulariser *regulariser,
                                          const real *parameters, real *gradient, double *work,
                                          ant_regulariser_terms *terms)
{
    const ant_model_kind *kind = ant_model_kind_of(layout->dims.kind);
    const size_t total = layout->total;
    double *theta = work, *slopes = gradient == NULL ? NULL : theta + total;
    *terms = (ant_regulariser_terms){0};
    if (kind->regularise == NULL)
        return ANTLER_OK;
    for (size_t i = 0; i < total; i++)
        theta[i] = (double)parameters[i];
    if (slopes != NULL)
        memset(slopes, 0, total * sizeof *slopes);
    ANT_TRY(kind->regularise(layout, regulariser, theta, slopes, work + 2 * total, terms));
    for (size_t i = 0; i < total && slopes != NULL; i++)
        gradient[i] = (real)((double)gradient[i] + slopes[i]);
    const double sum = terms->mar + terms->readout + terms->singular;
    ANT_CHECK(isfinite(sum), ANTLER_NON_FINITE, "a regularising term is not finite");
    return ANTLER_OK;
}
