/* strength.c - estimates of the strength of forcing during a training (spec 10). */
#include "train/strength.h"

#include "solve/alpha_estimate.h"

#include <math.h>
#include <stdlib.h>

struct ant_strength {
    const antler_settings *settings;
    size_t N;
    ant_alpha_estimator *estimator;
    double *x; /* (batch, T+1, N) */
    double *s; /* (batch, T, K) */
};

_Static_assert((int)ANTLER_ALPHA_CONSTANT == (int)ANT_ALPHA_CONSTANT &&
                   (int)ANTLER_ALPHA_EXPLOG == (int)ANT_ALPHA_EXPLOG &&
                   (int)ANTLER_ALPHA_ARITHMETIC_MEAN == (int)ANT_ALPHA_ARITHMETIC_MEAN,
               "estimates of alpha");

antler_status ant_strength_create(const antler_settings *s, const ant_model_layout *layout,
                                  ant_strength **strength)
{
    const ant_model_dims *d = &layout->dims;
    const size_t T = s->sequence_length, batch = s->batch_size;
    *strength = NULL;
    if (s->gtf_alpha_method == ANTLER_ALPHA_CONSTANT)
        return ANTLER_OK;
    ant_strength *e = calloc(1, sizeof *e);
    if (e == NULL)
        return ant_fail_memory(sizeof *e, "estimates of alpha");
    *e = (ant_strength){.settings = s,
                        .N = d->N,
                        .x = calloc(batch * (T + 1) * d->N, sizeof *e->x),
                        .s = calloc(batch * T * d->K + 1, sizeof *e->s)};
    const antler_status status =
        e->x == NULL || e->s == NULL
            ? ant_fail_memory(batch * (T + 1) * d->N * sizeof *e->x, "estimates of alpha")
            : ant_alpha_create(d, (ant_alpha_method)s->gtf_alpha_method, batch, &e->estimator);
    if (status == ANTLER_OK)
        *strength = e;
    else
        ant_strength_free(e);
    return status;
}

void ant_strength_free(ant_strength *strength)
{
    if (strength == NULL)
        return;
    ant_alpha_free(strength->estimator);
    free(strength->x);
    free(strength->s);
    free(strength);
}

bool ant_strength_due(const antler_settings *s, size_t update)
{
    return s->gtf_alpha_method != ANTLER_ALPHA_CONSTANT && update % s->gtf_alpha_interval == 0;
}

static bool is_complete(const double *x, size_t N)
{
    bool complete = true;
    for (size_t n = 0; n < N; n++)
        complete = complete && !isnan(x[n]);
    return complete;
}

/*
 * The norm of spec 10 at the teacher states of the windows, rows 1 to T.  An incomplete row has no teacher
 * state and is left out; NaN where none is left.
 */
static antler_status find_norm(ant_strength *e, const double *parameters, double *norm)
{
    size_t used = 0;
    const size_t T = e->settings->sequence_length, batch = e->settings->batch_size;
    ANT_TRY(ant_alpha_begin(e->estimator, parameters));
    for (size_t i = 0; i < batch && ant_alpha_reads_rows(e->estimator); i++) {
        for (size_t t = 1; t <= T; t++) {
            const double *x = e->x + (i * (T + 1) + t) * e->N;
            if (!is_complete(x, e->N))
                continue;
            ANT_TRY(ant_alpha_add(e->estimator, i, x));
            used++;
        }
    }
    ANT_TRY(ant_alpha_norm(e->estimator, norm));
    if (used == 0 && ant_alpha_reads_rows(e->estimator))
        *norm = NAN;
    return ANTLER_OK;
}

antler_status ant_strength_estimate(ant_strength *e, const ant_learner_ops *ops, void *learner,
                                    size_t replica, const double *parameters, double *alpha)
{
    double norm = 0.0;
    if (ant_alpha_reads_rows(e->estimator))
        ANT_TRY(ops->windows(learner, replica, e->x, e->s));
    const antler_status status = find_norm(e, parameters, &norm);
    if (status == ANTLER_OK && !isnan(norm))
        *alpha = ant_alpha_next(*alpha, ant_alpha_of_norm(norm), e->settings->gtf_alpha_decay);
    return status < 0 ? status : ANTLER_OK;
}
