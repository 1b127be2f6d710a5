/* learner_tmpl.c - windows, gradient, regularisers, clipping, step: one update of SPEC 6. */
#include "train/learner.h"
#include "train/problem.h"

#include "base/arena.h"
#include "base/random.h"
#include "base/real.h"
#include "model/kind.h"
#include "solve/solve.h"
#include "train/optimiser.h"

#include <stdlib.h>
#include <string.h>

typedef ANT_FN(ant_solve_plan) solve_plan;

typedef struct learner {
    ant_learner_config config;
    ant_regulariser regulariser;
    solve_plan *plan;
    ant_arena arena;
    real *parameters, *good, *gradient; /* (total) */
    double *m, *v;                      /* (total) */
    size_t *rows;                       /* (batch): first rows of the windows */
    const real **x, **s;                /* (batch) */
    real *noisy;                        /* (batch, T+1, N); NULL without noise */
    double *work;                       /* of the regularisers */
} learner;

_Static_assert((int)ANTLER_SOLVER_SHOOTING == (int)ANT_SOLVER_SHOOTING &&
                   (int)ANTLER_SOLVER_QUASI_DEER == (int)ANT_SOLVER_QUASI_DEER &&
                   (int)ANTLER_SOLVER_AUTO == (int)ANT_SOLVER_AUTO &&
                   (int)ANTLER_SOLVER_SCAN == (int)ANT_SOLVER_SCAN,
               "solvers");
_Static_assert((int)ANTLER_START_NORMAL == (int)ANT_START_NORMAL, "starts");
_Static_assert((int)ANTLER_TEACHER_STOP == (int)ANT_TEACHER_STOP, "teachers");
_Static_assert((int)ANTLER_ADJOINT_DIAGONAL == (int)ANT_ADJOINT_DIAGONAL, "adjoints");

static void carve(learner *l, ant_arena *arena)
{
    const antler_settings *s = l->config.settings;
    const size_t total = l->config.layout->total, batch = s->batch_size;
    l->parameters = ant_arena_take(arena, total, sizeof *l->parameters);
    l->good = ant_arena_take(arena, total, sizeof *l->good);
    l->gradient = ant_arena_take(arena, total, sizeof *l->gradient);
    l->m = ant_arena_take(arena, total, sizeof *l->m);
    l->v = ant_arena_take(arena, total, sizeof *l->v);
    l->rows = ant_arena_take(arena, batch, sizeof *l->rows);
    l->x = ant_arena_take(arena, batch, sizeof *l->x);
    l->s = ant_arena_take(arena, batch, sizeof *l->s);
    l->work = ant_arena_take(arena, ant_regulariser_work(&l->config.layout->dims), sizeof *l->work);
    if (s->noise > 0.0)
        l->noisy =
            ant_arena_take(arena, batch * (s->sequence_length + 1) * l->config.dataset->N, sizeof *l->noisy);
}

static void release(void *opaque)
{
    learner *l = opaque;
    if (l == NULL)
        return;
    ANT_FN(ant_solve_plan_free)(l->plan);
    ant_arena_destroy(&l->arena);
    free(l);
}

static antler_status create(const ant_learner_config *config, void **opaque)
{
    const antler_settings *s = config->settings;
    learner *l = calloc(1, sizeof *l);
    if (l == NULL)
        return ant_fail_memory(sizeof *l, "a run");
    l->config = *config;
    l->regulariser = (ant_regulariser){.mar = s->MAR_lambda,
                                       .readout = s->readout_lambda,
                                       .singular = s->singular_lambda,
                                       .units = s->regularised_units,
                                       .p = (int)s->MAR_p,
                                       .initial_scale = s->MAR_initial_scale};
    const ant_solve_options options = ant_settings_solver(s, config->threads);
    ant_arena counting;
    ant_arena_count(&counting);
    carve(l, &counting);
    antler_status status = ant_regulariser_check(&l->regulariser, &config->layout->dims);
    if (status == ANTLER_OK)
        status = ant_arena_create(&l->arena, counting.used);
    if (status == ANTLER_OK)
        status = ANT_FN(ant_solve_plan_create)(&config->layout->dims, s->sequence_length, s->batch_size,
                                               &options, &l->plan);
    if (status != ANTLER_OK) {
        release(l);
        return status;
    }
    carve(l, &l->arena);
    *opaque = l;
    return ANTLER_OK;
}

static antler_status initialise(void *opaque)
{
    learner *l = opaque;
    const size_t total = l->config.layout->total;
    const antler_settings *s = l->config.settings;
    memset(l->m, 0, total * sizeof *l->m);
    memset(l->v, 0, total * sizeof *l->v);
    ANT_TRY(ANT_FN(ant_model_initialise)(l->config.layout, s->kappa, s->seed, l->config.run, l->parameters));
    memcpy(l->good, l->parameters, total * sizeof *l->good);
    return ANTLER_OK;
}

/* Copy the windows and add noise that is drawn anew for every update. */
static void add_noise(learner *l, uint32_t update)
{
    const antler_settings *s = l->config.settings;
    const size_t values = (s->sequence_length + 1) * l->config.dataset->N;
    ant_stream stream = ant_stream_open(s->seed, l->config.run, update, ANT_PURPOSE_TRAINING_NOISE);
    for (size_t i = 0; i < s->batch_size; i++) {
        real *to = l->noisy + i * values;
        for (size_t j = 0; j < values; j += 2) {
            double pair[2];
            ant_stream_normal_pair(&stream, pair);
            to[j] = (real)((double)l->x[i][j] + s->noise * pair[0]);
            if (j + 1 < values)
                to[j + 1] = (real)((double)l->x[i][j + 1] + s->noise * pair[1]);
        }
        l->x[i] = to;
    }
}

static void draw_windows(learner *l, uint32_t update)
{
    const antler_settings *s = l->config.settings;
    const ant_dataset *d = l->config.dataset;
    ant_dataset_draw(d, s->seed, l->config.run, update, s->batch_size, l->rows);
    for (size_t i = 0; i < s->batch_size; i++) {
        l->x[i] = (const real *)d->x + l->rows[i] * d->N;
        /* The input of row t acts on the step that leads to row t: s_1 lies beside x_1. */
        l->s[i] = d->K == 0 ? NULL : (const real *)d->s + (l->rows[i] + 1) * d->K;
    }
    if (s->noise > 0.0)
        add_noise(l, update);
}

static bool forced(const learner *l)
{
    return ant_model_kind_of(l->config.layout->dims.kind)->forced;
}

static antler_status diverged(const learner *l, uint32_t update, const char *term)
{
    return ant_learner_diverged(l->config.layout, update, term);
}

static antler_status find_gradient(learner *l, uint32_t update, ant_update *result)
{
    const antler_settings *s = l->config.settings;
    const real *const *inputs = l->config.dataset->K == 0 ? NULL : l->s;
    ant_solve_report report;
    ant_solve_agreement agreement = {.states = NAN, .gradient = NAN};
    const bool check = s->check_interval > 0 && update % s->check_interval == 0;
    const antler_status status = check
                                     ? ANT_FN(ant_solve_check)(l->plan, l->parameters, l->x, inputs,
                                                               s->gtf_alpha, l->gradient, &report, &agreement)
                                     : ANT_FN(ant_solve_gradient)(l->plan, l->parameters, l->x, inputs,
                                                                  s->gtf_alpha, l->gradient, &report);
    if (status < 0)
        return status;
    result->loss = report.loss;
    result->iterations = report.iterations;
    /* Without fallback the gradient of an unfinished solve is used as it is, and counted. */
    result->fallbacks = report.fallbacks + (status == ANTLER_NOT_CONVERGED ? 1 : 0);
    result->states_agree = agreement.states;
    result->gradient_agrees = agreement.gradient;
    if (!isfinite(report.loss))
        return diverged(l, update, "the loss is not finite");
    if (status == ANTLER_NON_FINITE)
        return diverged(l, update, "the gradient of the loss is not finite");
    return ANTLER_OK;
}

static antler_status add_regularisers(learner *l, uint32_t update, ant_update *result)
{
    ant_regulariser_terms terms;
    const antler_status status = ANT_FN(ant_regulariser_add)(l->config.layout, &l->regulariser, l->parameters,
                                                             l->gradient, l->work, &terms);
    if (status < 0)
        return status;
    result->mar = terms.mar;
    result->readout = terms.readout;
    result->singular = terms.singular;
    if (status == ANTLER_OK && isfinite(terms.mar) && isfinite(terms.readout) && isfinite(terms.singular))
        return ANTLER_OK;
    return diverged(l, update,
                    !isfinite(terms.mar)       ? "the MAR term is not finite"
                    : !isfinite(terms.readout) ? "the readout term is not finite"
                                               : "the singular value term is not finite");
}

static antler_status check_parameters(const learner *l, uint32_t update)
{
    for (size_t i = 0; i < l->config.layout->total; i++) {
        if (!(fabs((double)l->parameters[i]) <= ANT_PARAMETER_LIMIT))
            return ant_learner_exploded(l->config.layout, update, i);
    }
    return ANTLER_OK;
}

static antler_status update(void *opaque, uint32_t number, ant_update *result)
{
    learner *l = opaque;
    const antler_settings *s = l->config.settings;
    const size_t total = l->config.layout->total;
    *result = (ant_update){.alpha = forced(l) ? s->gtf_alpha : NAN, .lr = ant_learning_rate(s, number)};
    draw_windows(l, number);
    ANT_TRY(find_gradient(l, number, result));
    ANT_TRY(add_regularisers(l, number, result));
    result->gradient_norm = ANT_FN(ant_gradient_norm)(total, l->gradient);
    if (!isfinite(result->gradient_norm))
        return diverged(l, number, "the norm of the gradient is not finite");
    memcpy(l->good, l->parameters, total * sizeof *l->good);
    const ant_step step = ant_step_make(s, number, result->gradient_norm);
    ANT_FN(ant_step_apply)(&step, total, l->gradient, l->m, l->v, l->parameters);
    return check_parameters(l, number);
}

static void get(const void *opaque, const ant_learner_state *state)
{
    const learner *l = opaque;
    for (size_t i = 0; i < l->config.layout->total; i++) {
        state->parameters[i] = (double)l->parameters[i];
        state->m[i] = l->m[i];
        state->v[i] = l->v[i];
    }
}

static void put(void *opaque, const ant_learner_state *state)
{
    learner *l = opaque;
    for (size_t i = 0; i < l->config.layout->total; i++) {
        l->parameters[i] = l->good[i] = (real)state->parameters[i];
        l->m[i] = state->m[i];
        l->v[i] = state->v[i];
    }
}

static void good(const void *opaque, double *parameters)
{
    const learner *l = opaque;
    for (size_t i = 0; i < l->config.layout->total; i++)
        parameters[i] = (double)l->good[i];
}

static const char *solver(const void *opaque)
{
    return ant_solver_name(ANT_FN(ant_solve_plan_solver)(((const learner *)opaque)->plan));
}

static const char *choice(const void *opaque)
{
    return ANT_FN(ant_solve_plan_choice)(((const learner *)opaque)->plan);
}

const ant_learner_ops ANT_FN(ant_learner_ops) = {
    .create = create,
    .free = release,
    .initialise = initialise,
    .update = update,
    .get = get,
    .put = put,
    .good = good,
    .solver = solver,
    .choice = choice,
};
