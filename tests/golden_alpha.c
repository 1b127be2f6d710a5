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
#include "solve/alpha_estimate.h"

#include <stdio.h>
#include <string.h>

static const double alpha_tolerance = 1e-6;

static bool alpha_matches(const golden_case *c)
{
    char word[64] = "";
    return golden_word(c, "model", word, sizeof word) && strcmp(word, "alpha") == 0;
}

static antler_status estimate(const antler_model *model, ant_alpha_estimator *e, const golden_array *x,
                              double *alpha)
{
    double norm = 0.0;
    ANT_TRY(ant_alpha_begin(e, model->parameters));
    for (size_t i = 0; i < x->outer; i++) {
        for (size_t t = 1; t < x->rows; t++)
            ANT_TRY(ant_alpha_add(e, i, x->values + (i * x->rows + t) * x->columns));
    }
    ANT_TRY(ant_alpha_norm(e, &norm));
    *alpha = ant_alpha_of_norm(norm);
    return ANTLER_OK;
}

static void check_method(golden_case *c, const antler_model *model, const golden_array *x,
                         ant_alpha_method method)
{
    const char *name = ant_alpha_method_name(method);
    char file[64];
    double alpha = 0.0;
    ant_alpha_estimator *e = NULL;
    snprintf(file, sizeof file, "%s%s", name, golden_has(c, name) ? "" : "_schur");
    golden_array want = golden_load(c, file);
    antler_status status = ant_alpha_create(&model->layout.dims, method, x->outer, &e);
    if (status == ANTLER_OK)
        status = estimate(model, e, x, &alpha);
    if (status != ANTLER_OK)
        golden_broken(c, "%s: %s", name, antler_message());
    else if (!c->broken)
        golden_compare(c, file, "double", &alpha, want.values, 1, alpha_tolerance);
    ant_alpha_free(e);
    golden_free(&want);
}

static void alpha_check(golden_case *c)
{
    antler_model *model = golden_model(c, "param_");
    golden_array x = golden_load(c, "x");
    for (int i = ANT_ALPHA_CONSTANT + 1; i < ANT_ALPHA_METHODS && !c->broken; i++)
        check_method(c, model, &x, (ant_alpha_method)i);
    golden_free(&x);
    antler_model_free(model);
}

const golden_kind golden_alpha = {"alpha", alpha_matches, alpha_check};
