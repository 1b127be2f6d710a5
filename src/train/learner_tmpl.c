/*
 * learner_tmpl.c - the learner of the CPU (engine/learner.h): one run in one precision.  An update draws
 * windows, solves them, adds regularisers, clips the gradient and makes a step of the optimiser (spec 6).
 */
#include "train/dataset.h"
#include "train/forcing_rule.h"
#include "train/learning.h"
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
    ant_engine_learning work;
    ant_model_layout layout;
    ant_regulariser regulariser;
    solve_plan *plan;
    double alpha;            /* strength of forcing */
    size_t update;           /* done */
    ant_divergence diverged; /* then no more updates are made */
    size_t parameter;        /* index of the one beyond the limit */
    ant_arena arena;
    real *parameters, *good, *gradient; /* (total); good: the last whose loss and gradient were finite */
    double *m, *v;                      /* (total): moments of the optimiser */
    size_t *rows;                       /* (batch): first rows of the windows */
    const real **x, **s;                /* (batch) */
    real *noisy;                        /* (batch, T+1, N); NULL without noise */
    unsigned char *drawn;               /* (batch, T): rows of scheduled sampling; NULL without */
    double *scratch;                    /* of the regularisers */
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
    const antler_settings *s = l->work.settings;
    const size_t total = l->work.total, batch = s->batch_size;
    l->parameters = ant_arena_take(arena, total, sizeof *l->parameters);
    l->good = ant_arena_take(arena, total, sizeof *l->good);
    l->gradient = ant_arena_take(arena, total, sizeof *l->gradient);
    l->m = ant_arena_take(arena, total, sizeof *l->m);
    l->v = ant_arena_take(arena, total, sizeof *l->v);
    l->rows = ant_arena_take(arena, batch, sizeof *l->rows);
    l->x = ant_arena_take(arena, batch, sizeof *l->x);
    l->s = ant_arena_take(arena, batch, sizeof *l->s);
    l->scratch = ant_arena_take(arena, ant_regulariser_work(&l->layout.dims), sizeof *l->scratch);
    if (s->noise > 0.0)
        l->noisy = ant_arena_take(arena, batch * (s->sequence_length + 1) * l->work.N, sizeof *l->noisy);
    if (ant_settings_sample(s))
        l->drawn = ant_arena_take(arena, batch * s->sequence_length, sizeof *l->drawn);
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

/* Memory, and a plan for the windows. */
static antler_status build(learner *l)
{
    const antler_settings *s = l->work.settings;
    const ant_model_dims dims = ant_settings_dims(s, l->work.N, l->work.K);
    ant_solve_options options = ant_settings_solver(s, l->work.threads);
    options.comm = l->work.comm;
    options.patterns = l->work.lacks == NULL ? 0 : l->work.lacks->count;
    ant_arena counting;
    ANT_TRY(ant_model_layout_make(&dims, &l->layout));
    ANT_TRY(ant_regulariser_check(&l->regulariser, &dims));
    ant_arena_count(&counting);
    carve(l, &counting);
    ANT_TRY(ant_arena_create(&l->arena, counting.used));
    carve(l, &l->arena);
    return ANT_FN(ant_solve_plan_create)(&dims, s->sequence_length, s->batch_size, &options, &l->plan);
}

static antler_status create(const ant_engine_learning *work, void **opaque)
{
    const antler_settings *s = work->settings;
    learner *l = calloc(1, sizeof *l);
    if (l == NULL)
        return ant_fail_memory(sizeof *l, "a run");
    l->work = *work;
    l->alpha = s->gtf_alpha;
    l->regulariser = (ant_regulariser){.mar = s->MAR_lambda,
                                       .readout = s->readout_lambda,
                                       .singular = s->singular_lambda,
                                       .units = s->regularised_units,
                                       .p = (int)s->MAR_p,
                                       .initial_scale = s->MAR_initial_scale,
                                       .latent = s->latent_lambda,
                                       .observation = s->observation_lambda,
                                       .condition = s->condition_lambda};
    const antler_status status = build(l);
    if (status == ANTLER_OK)
        *opaque = l;
    else
        release(l);
    return status;
}

/* Copy the windows and add noise, which is drawn again for every update. */
static void add_noise(learner *l, uint32_t update)
{
    const antler_settings *s = l->work.settings;
    const size_t values = (s->sequence_length + 1) * l->work.N;
    ant_stream stream = ant_stream_open(s->seed, l->work.runs[0], update, ANT_PURPOSE_TRAINING_NOISE);
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
    const ant_engine_learning *w = &l->work;
    const antler_settings *s = w->settings;
    const ant_windows windows = {.count = w->trajectories,
                                 .row = w->row,
                                 .start = w->start,
                                 .eligible = w->eligible,
                                 .eligible_count = w->eligible_count};
    ant_windows_draw(&windows, s->seed, w->runs[0], update, s->batch_size, l->rows);
    for (size_t i = 0; i < s->batch_size; i++) {
        l->x[i] = (const real *)w->x + l->rows[i] * w->N;
        /* The input of row t acts on the step to row t: s_1 is in the row of x_1. */
        l->s[i] = w->K == 0 ? NULL : (const real *)w->s + (l->rows[i] + 1) * w->K;
    }
    if (s->noise > 0.0)
        add_noise(l, update);
    if (l->drawn != NULL)
        ant_sampling_draw(s, w->runs[0], update, l->drawn);
}

static antler_status find_gradient(learner *l, uint32_t update, ant_tally *tally, ant_outcome *outcome)
{
    const antler_settings *s = l->work.settings;
    const real *const *inputs = l->work.K == 0 ? NULL : l->s;
    ant_solve_report report;
    ant_solve_agreement agreement = {.states = NAN, .gradient = NAN};
    const bool check = s->check_interval > 0 && update % s->check_interval == 0;
    if (l->drawn != NULL)
        ANT_TRY(ANT_FN(ant_solve_sample)(l->plan, l->drawn));
    const antler_status status = check ? ANT_FN(ant_solve_check)(l->plan, l->parameters, l->x, inputs,
                                                                 l->alpha, l->gradient, &report, &agreement)
                                       : ANT_FN(ant_solve_gradient)(l->plan, l->parameters, l->x, inputs,
                                                                    l->alpha, l->gradient, &report);
    if (status < 0)
        return status;
    l->diverged = !isfinite(report.loss)        ? ANT_DIVERGED_LOSS
                  : status == ANTLER_NON_FINITE ? ANT_DIVERGED_GRADIENT
                                                : ANT_DIVERGED_NOT;
    tally->loss += report.loss;
    tally->iterations += (double)report.iterations;
    /* Without fallback the gradient of an unfinished solve is used as it is, and counted. */
    tally->fallbacks += (double)(report.fallbacks + (status == ANTLER_NOT_CONVERGED ? 1 : 0));
    /* fmax ignores NaN. */
    outcome->states_agree = fmax(outcome->states_agree, agreement.states);
    outcome->gradient_agrees = fmax(outcome->gradient_agrees, agreement.gradient);
    return ANTLER_OK;
}

static antler_status add_regularisers(learner *l, ant_tally *tally)
{
    ant_regulariser_terms terms;
    const antler_status status = ANT_FN(ant_regulariser_add)(&l->layout, &l->regulariser, l->parameters,
                                                             l->gradient, l->scratch, &terms);
    if (status < 0)
        return status;
    tally->mar += terms.mar;
    tally->readout += terms.readout;
    tally->singular += terms.singular;
    if (status != ANTLER_OK || !isfinite(terms.mar) || !isfinite(terms.readout) || !isfinite(terms.singular))
        l->diverged = !isfinite(terms.mar)       ? ANT_DIVERGED_MAR
                      : !isfinite(terms.readout) ? ANT_DIVERGED_READOUT
                                                 : ANT_DIVERGED_SINGULAR;
    return ANTLER_OK;
}

static void make_step(learner *l, uint32_t update, ant_tally *tally)
{
    const antler_settings *s = l->work.settings;
    const size_t total = l->work.total;
    tally->lr = ant_learning_rate(s, update);
    tally->gradient_norm = ANT_FN(ant_gradient_norm)(total, l->gradient);
    if (!isfinite(tally->gradient_norm)) {
        l->diverged = ANT_DIVERGED_NORM;
        return;
    }
    memcpy(l->good, l->parameters, total * sizeof *l->good);
    const ant_step step = ant_step_make(s, update, tally->gradient_norm);
    ANT_FN(ant_step_apply)(&step, total, l->gradient, l->m, l->v, l->parameters);
    for (size_t i = 0; i < total && l->diverged == ANT_DIVERGED_NOT; i++) {
        if (!(fabs((double)l->parameters[i]) <= l->work.limit)) {
            l->diverged = ANT_DIVERGED_PARAMETER;
            l->parameter = i;
        }
    }
}

/* One update; one that diverges leaves the tally as it was. */
static antler_status make_update(learner *l, ant_tally *tally, ant_outcome *outcome)
{
    const uint32_t number = (uint32_t)(l->update + 1);
    ant_tally next = *tally;
    draw_windows(l, number);
    if (l->work.settings->gtf_alpha_method == ANTLER_ALPHA_CONSTANT)
        l->alpha = ant_alpha_scheduled(l->work.settings, number);
    ANT_TRY(find_gradient(l, number, &next, outcome));
    if (l->diverged == ANT_DIVERGED_NOT)
        ANT_TRY(add_regularisers(l, &next));
    if (l->diverged == ANT_DIVERGED_NOT)
        make_step(l, number, &next);
    if (l->diverged != ANT_DIVERGED_NOT)
        return ANTLER_OK;
    next.updates += 1.0;
    l->update++;
    *tally = next;
    return ANTLER_OK;
}

static antler_status run(void *opaque, size_t updates, ant_tally *tally, ant_outcome *outcome)
{
    learner *l = opaque;
    *outcome = (ant_outcome){.states_agree = NAN, .gradient_agrees = NAN};
    for (size_t i = 0; i < updates; i++) {
        if (l->diverged == ANT_DIVERGED_NOT && l->update < l->work.settings->updates)
            ANT_TRY(make_update(l, tally, outcome));
    }
    outcome->update = l->update;
    outcome->diverged = l->diverged;
    outcome->parameter = l->parameter;
    return ANTLER_OK;
}

static antler_status get(void *opaque, size_t replica, double *parameters, double *m, double *v)
{
    const learner *l = opaque;
    const real *from = l->diverged == ANT_DIVERGED_NOT ? l->parameters : l->good;
    (void)replica;
    for (size_t i = 0; i < l->work.total; i++) {
        parameters[i] = (double)from[i];
        m[i] = l->m[i];
        v[i] = l->v[i];
    }
    return ANTLER_OK;
}

static antler_status put(void *opaque, size_t replica, size_t update, const double *parameters,
                         const double *m, const double *v)
{
    learner *l = opaque;
    (void)replica;
    l->update = update;
    l->diverged = ANT_DIVERGED_NOT;
    for (size_t i = 0; i < l->work.total; i++) {
        l->parameters[i] = l->good[i] = (real)parameters[i];
        l->m[i] = m[i];
        l->v[i] = v[i];
    }
    return ANTLER_OK;
}

static antler_status put_alpha(void *opaque, size_t replica, double alpha)
{
    (void)replica;
    ((learner *)opaque)->alpha = alpha;
    return ANTLER_OK;
}

static antler_status windows(void *opaque, size_t replica, double *x, double *s)
{
    learner *l = opaque;
    const size_t T = l->work.settings->sequence_length, values = (T + 1) * l->work.N, inputs = T * l->work.K;
    (void)replica;
    draw_windows(l, (uint32_t)(l->update + 1));
    for (size_t i = 0; i < l->work.settings->batch_size; i++) {
        for (size_t k = 0; k < values; k++)
            x[i * values + k] = (double)l->x[i][k];
        for (size_t k = 0; k < inputs; k++)
            s[i * inputs + k] = (double)l->s[i][k];
    }
    return ANTLER_OK;
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
    .solver = solver,
    .choice = choice,
    .put = put,
    .get = get,
    .put_alpha = put_alpha,
    .windows = windows,
    .run = run,
};
