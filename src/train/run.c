#include "train/run.h"

#include "base/machine.h"
#include "model/kind.h"
#include "train/break_even.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const ant_tally nothing = {.states_agree = -1.0, .gradient_agrees = -1.0};

antler_status ant_run_create(ant_run *run, size_t number, size_t total)
{
    *run = (ant_run){.number = number, .tally = nothing};
    run->state.parameters = calloc(total, sizeof(double));
    run->state.m = calloc(total, sizeof(double));
    run->state.v = calloc(total, sizeof(double));
    if (run->state.parameters == NULL || run->state.m == NULL || run->state.v == NULL) {
        ant_run_destroy(run);
        return ant_fail_memory(3 * total * sizeof(double), "the state of a run");
    }
    return ANTLER_OK;
}

void ant_run_destroy(ant_run *run)
{
    free(run->state.parameters);
    free(run->state.m);
    free(run->state.v);
    *run = (ant_run){0};
}

static const ant_learner_ops *ops_of(const ant_run_context *context)
{
    return context->settings->precision == ANTLER_PRECISION_FLOAT ? &ant_learner_ops_f32
                                                                  : &ant_learner_ops_f64;
}

static void count(ant_tally *tally, const ant_update *u, double seconds)
{
    tally->updates += 1.0;
    tally->loss += u->loss;
    tally->mar += u->mar;
    tally->readout += u->readout;
    tally->singular += u->singular;
    tally->iterations += (double)u->iterations;
    tally->fallbacks += (double)u->fallbacks;
    tally->seconds += seconds;
    /* fmax passes NaN over: an update that was not checked changes nothing. */
    tally->states_agree = fmax(tally->states_agree, u->states_agree);
    tally->gradient_agrees = fmax(tally->gradient_agrees, u->gradient_agrees);
}

/* A row for the log, after which the sums begin anew. */
static antler_train_row make_row(ant_run *run, const ant_update *u, const char *solver, size_t updates,
                                 bool iterates)
{
    ant_tally *t = &run->tally;
    const antler_train_row row = {
        .run = run->number,
        .update = run->update,
        .updates = updates,
        .loss = t->loss / t->updates,
        .mar = t->mar / t->updates,
        .readout = t->readout / t->updates,
        .singular = t->singular / t->updates,
        .total = (t->loss + t->mar + t->readout + t->singular) / t->updates,
        .iterations = iterates ? t->iterations / t->updates : NAN,
        .fallbacks = (size_t)t->fallbacks,
        .lr = u->lr,
        .alpha = u->alpha,
        .gradient_norm = u->gradient_norm,
        .seconds = t->seconds,
        .states_agree = t->states_agree < 0.0 ? NAN : t->states_agree,
        .gradient_agrees = t->gradient_agrees < 0.0 ? NAN : t->gradient_agrees,
        .solver = solver,
    };
    const double fallbacks = t->fallbacks, seconds = t->seconds;
    *t = nothing;
    t->fallbacks = fallbacks;
    t->seconds = seconds;
    return row;
}

antler_status ant_run_log(ant_run *run, const ant_run_context *context, const ant_update *u,
                          const char *solver)
{
    const bool iterates = ant_model_kind_of(context->layout->dims.kind)->forced;
    const antler_train_row row = make_row(run, u, solver, context->settings->updates, iterates);
    if (context->hooks != NULL)
        ANT_TRY(context->hooks->row(context->hooks->cookie, run, &row));
    context->report(context->reporter, &row);
    return ANTLER_OK;
}

antler_status ant_run_save(ant_run *run, const ant_run_context *context)
{
    return context->hooks == NULL ? ANTLER_OK : context->hooks->save(context->hooks->cookie, run);
}

bool ant_run_row_due(const ant_run *run, const antler_settings *s)
{
    return run->update == 1 || run->update % s->log_interval == 0 || run->update == s->updates;
}

bool ant_run_save_due(const ant_run *run, const antler_settings *s)
{
    return run->update % s->checkpoint_interval == 0 && run->update != s->updates;
}

antler_status ant_run_cancelled(const ant_run *run, const ant_run_context *context)
{
    return ant_fail(ANTLER_CANCELLED, "stopped after update %zu of %zu", run->update,
                    context->settings->updates);
}

/* The loop.  Between two checkpoints nothing is allocated. */
static antler_status advance(ant_run *run, const ant_run_context *context, void *learner)
{
    const antler_settings *s = context->settings;
    const ant_learner_ops *ops = ops_of(context);
    const char *solver = ops->solver(learner);
    while (run->update < s->updates) {
        ant_update u;
        const double begun = ant_seconds();
        ANT_TRY(ops->update(learner, (uint32_t)(run->update + 1), &u));
        run->update++;
        count(&run->tally, &u, ant_seconds() - begun);
        if (ant_run_row_due(run, s))
            ANT_TRY(ant_run_log(run, context, &u, solver));
        if (ant_run_save_due(run, s)) {
            ops->get(learner, &run->state);
            ANT_TRY(ant_run_save(run, context));
        }
        if (run->update < s->updates && context->stop(context->reporter))
            return ant_run_cancelled(run, context);
    }
    return ANTLER_OK;
}

void ant_run_announce(const ant_run *run, const ant_run_context *context, const char *choice)
{
    const antler_train_note note = {
        .run = run->number,
        .runs = context->runs,
        .update = run->update,
        .updates = context->settings->updates,
        .status = ANTLER_OK,
        .text = choice,
        .folder = context->hooks == NULL ? "" : context->hooks->folder(context->hooks->cookie, run)};
    context->begin(context->reporter, &note);
}

antler_status ant_run_conclude(ant_run *run, const ant_run_context *context, antler_status status)
{
    const ant_run_hooks *hooks = context->hooks;
    switch (status) {
    case ANTLER_OK:
        return ant_run_save(run, context);
    case ANTLER_CANCELLED:
        ANT_TRY(ant_run_save(run, context));
        return ant_run_cancelled(run, context);
    case ANTLER_DIVERGED:
        snprintf(run->message, sizeof run->message, "%s", antler_message());
        if (hooks != NULL)
            ANT_TRY(hooks->diverged(hooks->cookie, run));
        return ant_fail(status, "%s", run->message);
    default:
        return status;
    }
}

static antler_status train(ant_run *run, const ant_run_context *context, void *learner)
{
    const ant_learner_ops *ops = ops_of(context);
    if (run->begun)
        ops->put(learner, &run->state);
    else
        ANT_TRY(ops->initialise(learner));
    run->begun = true;
    char text[512], remark[128];
    ant_break_even_remark(context->settings, false, remark, sizeof remark);
    snprintf(text, sizeof text, "%s%s", ops->choice(learner), remark);
    ant_run_announce(run, context, text);
    const antler_status status = advance(run, context, learner);
    ops->get(learner, &run->state);
    if (status == ANTLER_DIVERGED)
        ops->good(learner, run->state.parameters);
    return ant_run_conclude(run, context, status);
}

static antler_status go_on(ant_run *run, const ant_run_context *context)
{
    const ant_learner_ops *ops = ops_of(context);
    const ant_learner_config config = {.settings = context->settings,
                                       .dataset = context->dataset,
                                       .layout = context->layout,
                                       .run = (uint32_t)run->number,
                                       .threads = context->threads};
    if (run->begun && run->update == context->settings->updates)
        return ant_run_save(run, context); /* a finished run only makes sure that its files are there */
    void *learner = NULL;
    ANT_TRY(ops->create(&config, &learner));
    const antler_status status = train(run, context, learner);
    ops->free(learner);
    return status;
}

antler_status ant_run_open(ant_run *run, const ant_run_context *context)
{
    const ant_run_hooks *hooks = context->hooks;
    run->message[0] = '\0';
    return hooks == NULL ? ANTLER_OK : hooks->open(hooks->cookie, run);
}

antler_status ant_run_prepare(const ant_run_context *context)
{
    return context->hooks == NULL ? ANTLER_OK : context->hooks->prepare(context->hooks->cookie);
}

void ant_run_close(ant_run *run, const ant_run_context *context, antler_status status)
{
    run->status = status;
    if (status != ANTLER_OK)
        snprintf(run->message, sizeof run->message, "%s", antler_message());
    if (context->hooks != NULL)
        context->hooks->close(context->hooks->cookie, run);
}

void ant_run_train(ant_run *run, const ant_run_context *context)
{
    antler_status status = ant_run_open(run, context);
    if (status == ANTLER_OK)
        status = go_on(run, context);
    ant_run_close(run, context, status);
}
