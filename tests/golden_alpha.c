/*
 * golden_alpha.c - golden checks of the estimates of alpha (spec 10).
 *
 * Where a Jacobian has a negative eigenvalue, its logarithm has +i pi or -i pi, and explog depends on the
 * choice. `explog_schur` has +i pi throughout: the logarithm by the Schur form of the real matrix.  `explog`
 * is for cases in which the choice, made by the rounding of eigenvalues in complex arithmetic, has no
 * influence.
 */
#include "golden.h"

#include "model/kind.h"
#include "strength_device.h"

#include <stdio.h>
#include <string.h>

static const double alpha_tolerance = 1e-6;

static bool alpha_matches(const golden_case *c)
{
    char word[64] = "";
    return golden_word(c, "model", word, sizeof word) && strcmp(word, "alpha") == 0;
}

static antler_settings settings_of(const antler_model *model, const golden_array *x, int method)
{
    const ant_model_dims *d = &model->layout.dims;
    antler_settings s;
    antler_settings_default(&s);
    s.device = ANTLER_DEVICE_CUDA;
    s.precision = ANTLER_PRECISION_DOUBLE;
    s.latent_dim = d->M;
    s.hidden_dim = d->L;
    s.clipped = d->clipped;
    s.sequence_length = x->rows - 1;
    s.batch_size = x->outer;
    s.gtf_alpha_method = (antler_alpha_method)method;
    return s;
}

static void check_method(golden_case *c, const antler_model *model, const golden_array *x, int method,
                         bool on_device)
{
    const char *name = ant_alpha_method_name((ant_alpha_method)method);
    const antler_settings s = settings_of(model, x, method);
    char file[64];
    double alpha = 0.0;
    snprintf(file, sizeof file, "%s%s", name, golden_has(c, name) ? "" : "_schur");
    golden_array want = golden_load(c, file);
    const antler_status status =
        on_device ? estimate_on_device(&s, &model->layout, 1, model->parameters, x->values, NULL, &alpha)
                  : estimate_on_cpu(&s, &model->layout, model->parameters, x->values, &alpha);
    if (status != ANTLER_OK)
        golden_broken(c, "%s: %s", name, antler_message());
    else if (!c->broken)
        golden_compare(c, file, on_device ? "cuda, double" : "double", &alpha, want.values, 1,
                       alpha_tolerance);
    golden_free(&want);
}

static void check_all(golden_case *c, bool on_device)
{
    antler_model *model = golden_model(c, "param_");
    golden_array x = golden_load(c, "x");
    for (int i = ANT_ALPHA_CONSTANT + 1; i < ANT_ALPHA_METHODS && !c->broken; i++)
        check_method(c, model, &x, i, on_device);
    golden_free(&x);
    antler_model_free(model);
}

static void alpha_check(golden_case *c)
{
    check_all(c, false);
}

void golden_alpha_device(golden_case *c)
{
    check_all(c, true);
}

const golden_kind golden_alpha = {"alpha", alpha_matches, alpha_check};
