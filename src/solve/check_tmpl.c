/* check_tmpl.c - the plan's answer against the reference: the proof that goes into every log. */
#include "solve/plan.h"

#include <string.h>

typedef ANT_FN(ant_solve_plan) solve_plan;

/* Keeps the running maxima of |a - b| and |b|. */
typedef struct difference {
    double largest, scale;
} difference;

static void compare(difference *d, double a, double b)
{
    const double gap = fabs(a - b);
    d->largest = gap <= d->largest ? d->largest : gap; /* lets NaN through */
    d->scale = fmax(d->scale, fabs(b));
}

static double relative(const difference *d)
{
    return d->scale > 0.0 ? d->largest / d->scale : d->largest;
}

antler_status ANT_FN(ant_solve_check)(solve_plan *plan, const real *parameters, const real *const *x,
                                      const real *const *s, double alpha, real *gradient,
                                      ant_solve_report *report, ant_solve_agreement *agreement)
{
    ANT_TRY(ANT_FN(ant_solve_gradient)(plan, parameters, x, s, alpha, gradient, report));
    const ant_model_dims *d = &plan->layout.dims;
    ANT_FN(ant_problem) p;
    ANT_TRY(ANT_FN(ant_plan_problem)(plan, parameters, alpha, &p));
    const size_t count = ANT_FN(ant_sums_count)(&plan->layout);
    double *sums = plan->sums + count, square = 0.0;
    memset(sums, 0, count * sizeof *sums);
    difference states = {0}, slopes = {0};
    real *z = plan->own_states;
    for (size_t i = 0; i < plan->batch; i++) {
        const real *inputs = s == NULL ? NULL : s[i];
        plan->one.z = plan->own_z;
        ANT_FN(ant_reference_forward)(&p, x[i], inputs, &plan->one);
        ANT_FN(ant_reference_adjoint)(&p, &plan->one);
        ANT_FN(ant_reference_accumulate)(&p, x[i], inputs, &plan->one, 0, p.T, plan->one.scratch, sums);
        square += ANT_FN(ant_reference_square)(&p, &plan->one);
        ANT_FN(ant_solve_states)(plan, i, z);
        for (size_t k = 0; k < p.T * d->M; k++)
            compare(&states, (double)z[k], (double)plan->own_z[d->M + k]);
    }
    real *reference = plan->own_gradient;
    ANT_FN(ant_sums_finish)(&p, sums, reference);
    for (size_t k = 0; k < plan->layout.total; k++)
        compare(&slopes, (double)gradient[k], (double)reference[k]);
    const double loss = square / ((double)d->N * (double)(p.T - p.warmup) * (double)plan->batch);
    *agreement = (ant_solve_agreement){.states = relative(&states),
                                       .gradient = relative(&slopes),
                                       .loss = fabs(report->loss - loss) / (loss > 0.0 ? loss : 1.0)};
    return ANTLER_OK;
}
