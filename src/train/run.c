/* run.c - one training run in memory: its state, the rows of its log, and its end. */
#include "train/run.h"

#include "model/kind.h"
#include "train/forcing_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const ant_validation_measures none = {NAN, NAN, NAN};

antler_status ant_run_create(ant_run *run, size_t number, size_t total)
{
    *run = (ant_run){.number = number, .states_agree = -1.0, .gradient_agrees = -1.0};
    run->validation = none;
    run->best.parameters = calloc(total, sizeof(double));
    run->state.parameters = calloc(total, sizeof(double));
    run->state.m = calloc(total, sizeof(double));
    run->state.v = calloc(total, sizeof(double));
    if (run->state.parameters == NULL || run->state.m == NULL || run->state.v == NULL ||
        run->best.parameters == NULL) {
        ant_run_destroy(run);
        return ant_fail_memory(4 * total * sizeof(double), "the state of a run");
    }
    return ANTLER_OK;
}

void ant_run_destroy(ant_run *run)
{
    free(run->state.parameters);
    free(run->state.m);
    free(run->state.v);
    free(run->best.parameters);
    *run = (ant_run){0};
}

antler_status ant_run_share(ant_run *run, const ant_run_context *context, antler_status status)
{
    const size_t bytes = context->layout->total * sizeof(double);
    ant_run copy = *run;
    if (context->comm == NULL)
        return status;
    ANT_TRY(ant_comm_agree(context->comm, status));
    ANT_TRY(ant_comm_broadcast(context->comm, &copy, sizeof copy));
    copy.state = run->state; /* each rank has memory of its own */
    copy.best.parameters = run->best.parameters;
    *run = copy;
    ANT_TRY(ant_comm_broadcast(context->comm, run->state.parameters, bytes));
    ANT_TRY(ant_comm_broadcast(context->comm, run->state.m, bytes));
    ANT_TRY(ant_comm_broadcast(context->comm, run->state.v, bytes));
    return ant_comm_broadcast(context->comm, run->best.parameters, bytes);
}

static antler_train_row make_row(const ant_run *run, const antler_settings *s, bool forced,
                                 const char *solver)
{
    const ant_tally *t = &run->tally;
    const bool iterates = forced || s->solver == ANTLER_SOLVER_DEER;
    return (antler_train_row){
        .run = run->number,
        .update = run->update,
        .updates = s->updates,
        .loss = t->loss / t->updates,
        .mar = t->mar / t->updates,
        .readout = t->readout / t->updates,
        .singular = t->singular / t->updates,
        .total = (t->loss + t->mar + t->readout + t->singular) / t->updates,
        .iterations = iterates ? t->iterations / t->updates : NAN,
        .fallbacks = (size_t)t->fallbacks,
        .lr = t->lr,
        .alpha = !forced || ant_forcing_is_sparse(s)            ? NAN
                 : s->gtf_alpha_method == ANTLER_ALPHA_CONSTANT ? ant_alpha_scheduled(s, run->update)
                                                                : run->alpha,
        .gradient_norm = t->gradient_norm,
        .seconds = t->seconds,
        .states_agree = run->states_agree < 0.0 ? NAN : run->states_agree,
        .gradient_agrees = run->gradient_agrees < 0.0 ? NAN : run->gradient_agrees,
        .solver = solver,
        .val_dstsp = run->validation.dstsp,
        .val_hellinger = run->validation.hellinger,
        .val_prediction_error = run->validation.prediction_error,
    };
}

antler_status ant_run_log(ant_run *run, const ant_run_context *context, const char *solver)
{
    const bool forced = ant_model_kind_of(context->layout->dims.kind)->forced;
    const antler_train_row row = make_row(run, context->settings, forced, solver);
    run->tally = (ant_tally){.fallbacks = run->tally.fallbacks, .seconds = run->tally.seconds};
    run->states_agree = run->gradient_agrees = -1.0;
    run->validation = none;
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

bool ant_run_validation_due(const ant_run *run, const antler_settings *s)
{
    return s->validation_interval > 0 &&
           (run->update % s->validation_interval == 0 || run->update == s->updates);
}

antler_status ant_run_cancelled(const ant_run *run, const ant_run_context *context)
{
    return ant_fail(ANTLER_CANCELLED, "stopped after update %zu of %zu", run->update,
                    context->settings->updates);
}

void ant_run_begin(const ant_run *run, const ant_run_context *context, const char *choice)
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

antler_status ant_run_claim(ant_run *run, const ant_run_context *context)
{
    const ant_run_hooks *hooks = context->hooks;
    return hooks == NULL || hooks->claim == NULL ? ANTLER_OK : hooks->claim(hooks->cookie, run);
}

antler_status ant_run_open(ant_run *run, const ant_run_context *context)
{
    const ant_run_hooks *hooks = context->hooks;
    run->message[0] = '\0';
    return hooks == NULL ? ANTLER_OK : hooks->open(hooks->cookie, run);
}

antler_status ant_run_prepare(const ant_run *run, const ant_run_context *context)
{
    return context->hooks == NULL ? ANTLER_OK : context->hooks->prepare(context->hooks->cookie, run);
}

void ant_run_close(ant_run *run, const ant_run_context *context, antler_status status)
{
    run->status = status;
    if (status != ANTLER_OK)
        snprintf(run->message, sizeof run->message, "%s", antler_message());
    if (context->hooks != NULL)
        context->hooks->close(context->hooks->cookie, run);
}
