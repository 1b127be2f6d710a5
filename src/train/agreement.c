/* agreement.c - comparison of a learner with plain loops in double. */
#include "train/agreement.h"

#include "base/difference.h"
#include "train/problem.h"

#include <math.h>
#include <stdlib.h>

typedef struct reference {
    ant_solve_plan_f64 *plan;
    const double **x, **s;     /* (batch) */
    double *states, *gradient; /* (T, M), (total) */
} reference;

static void free_reference(reference *r)
{
    ant_solve_plan_free_f64(r->plan);
    free(r->x);
    free(r->s);
    free(r->states);
    free(r->gradient);
}

static antler_status make_reference(reference *r, const antler_settings *settings,
                                    const ant_model_layout *layout, const double *x, const double *s)
{
    const ant_model_dims *d = &layout->dims;
    const size_t T = settings->sequence_length, batch = settings->batch_size;
    ant_solve_options options = ant_settings_solver(settings, 1);
    options.solver = ANT_SOLVER_REFERENCE;
    for (size_t i = 0; i < batch * (T + 1) * d->N && options.patterns == 0; i++)
        options.patterns = isnan(x[i]) ? SIZE_MAX : 0; /* missing values, in patterns that are not known */
    r->x = calloc(batch, sizeof *r->x);
    r->s = calloc(batch, sizeof *r->s);
    r->states = calloc(T * d->M, sizeof *r->states);
    r->gradient = calloc(layout->total, sizeof *r->gradient);
    if (r->x == NULL || r->s == NULL || r->states == NULL || r->gradient == NULL)
        return ant_fail_memory(T * d->M * sizeof *r->states, "a comparison");
    for (size_t i = 0; i < batch; i++) {
        r->x[i] = x + i * (T + 1) * d->N;
        r->s[i] = d->K == 0 ? NULL : s + i * T * d->K;
    }
    return ant_solve_plan_create_f64(d, T, batch, &options, &r->plan);
}

static antler_status compare(reference *r, const antler_settings *set, const ant_model_layout *layout,
                             double alpha, const double *parameters, const double *states,
                             const double *gradient, ant_solve_agreement *agreement)
{
    const size_t M = layout->dims.M, T = set->sequence_length;
    ant_solve_report report;
    ant_difference of_states = {0}, of_gradient = {0};
    const antler_status status = ant_solve_gradient_f64(
        r->plan, parameters, r->x, layout->dims.K == 0 ? NULL : r->s, alpha, r->gradient, &report);
    if (status < 0)
        return status;
    for (size_t i = 0; i < set->batch_size; i++) {
        ant_solve_states_f64(r->plan, i, r->states);
        for (size_t k = 0; k < T * M; k++)
            ant_difference_add(&of_states, states[i * T * M + k], r->states[k]);
    }
    for (size_t k = 0; k < layout->total; k++)
        ant_difference_add(&of_gradient, gradient[k], r->gradient[k]);
    *agreement = (ant_solve_agreement){.states = ant_difference_relative(&of_states),
                                       .gradient = ant_difference_relative(&of_gradient),
                                       .loss = NAN};
    return ANTLER_OK;
}

antler_status ant_agreement_compare(const antler_settings *settings, const ant_model_layout *layout,
                                    double alpha, const double *parameters, const double *x, const double *s,
                                    const double *states, const double *gradient,
                                    ant_solve_agreement *agreement)
{
    reference r = {0};
    antler_status status = make_reference(&r, settings, layout, x, s);
    if (status == ANTLER_OK)
        status = compare(&r, settings, layout, alpha, parameters, states, gradient, agreement);
    free_reference(&r);
    return status;
}

void ant_check_free(ant_check *check)
{
    free(check->x);
    free(check->s);
    free(check->states);
    free(check->gradient);
    free(check->parameters);
    free(check->moments);
    *check = (ant_check){0};
}

antler_status ant_check_begin(ant_check *check, const ant_learner_ops *ops, void *learner, size_t replica,
                              const antler_settings *settings, const ant_model_layout *layout)
{
    const ant_model_dims *d = &layout->dims;
    const size_t T = settings->sequence_length, batch = settings->batch_size, total = layout->total;
    *check = (ant_check){.x = calloc(batch * (T + 1) * d->N, sizeof(double)),
                         .s = calloc(batch * T * d->K + 1, sizeof(double)),
                         .states = calloc(batch * T * d->M, sizeof(double)),
                         .gradient = calloc(total, sizeof(double)),
                         .parameters = calloc(total, sizeof(double)),
                         .moments = calloc(2 * total, sizeof(double))};
    if (check->x == NULL || check->s == NULL || check->states == NULL || check->gradient == NULL ||
        check->parameters == NULL || check->moments == NULL)
        return ant_fail_memory(batch * T * d->M * sizeof(double), "a comparison");
    ANT_TRY(ops->windows(learner, replica, check->x, check->s));
    return ops->get(learner, replica, check->parameters, check->moments, check->moments + total);
}

antler_status ant_check_end(const ant_check *check, const ant_learner_ops *ops, void *learner, size_t replica,
                            const antler_settings *settings, const ant_model_layout *layout,
                            ant_solve_agreement *agreement)
{
    ANT_TRY(ops->inspect(learner, replica, check->states, check->gradient));
    return ant_agreement_compare(settings, layout, check->alpha, check->parameters, check->x, check->s,
                                 check->states, check->gradient, agreement);
}
