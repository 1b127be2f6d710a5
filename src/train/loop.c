/* loop.c - the training loop: updates on a learner, and after them rows, checkpoints, stops and ends. */
#include "train/loop.h"

#include "base/arena.h"
#include "base/machine.h"
#include "train/agreement.h"
#include "train/break_even.h"
#include "train/forcing_rule.h"
#include "train/initialisation.h"
#include "train/problem.h"
#include "train/strength.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of updates in one call of an asynchronous learner, so that a stop takes effect soon. */
#define CALL_SECONDS 0.25

/* What each rank reports after an update.  The numbers are equal on all, or a machine computes otherwise. */
typedef struct report {
    double loss, gradient_norm;
    int stop, save; /* requested on this rank */
} report;

/* The active runs, and the learner that moves them. */
typedef struct loop {
    const ant_run_context *context;
    const ant_learner_ops *ops;
    const char *device; /* NULL: the CPU */
    void *learner;
    ant_arena arena;
    size_t count;
    ant_run **run;          /* (count) */
    bool *active;           /* (count): has neither ended nor failed */
    uint32_t *numbers;      /* (count) */
    ant_tally *tallies;     /* (count) */
    ant_outcome *outcomes;  /* (count) */
    ant_check *checks;      /* (count) */
    ant_run **due;          /* (count): runs to validate */
    ant_strength *strength; /* NULL: it is not estimated here */
    double update_seconds;  /* of the last call */
    int saves;              /* what the caller's `save` said last */
    report *reports;        /* (ranks) */
} loop;

/* ---- how many updates -------------------------------------------------------------------------------- */

static bool check_is_next(const ant_run *run, const antler_settings *s)
{
    return s->check_interval > 0 && (run->update + 1) % s->check_interval == 0;
}

static size_t until_multiple(size_t update, size_t interval)
{
    return interval - update % interval;
}

/* Updates after which a row, a checkpoint, a validation, a check or the end is due for this run. */
static size_t until_due(const ant_run *run, const antler_settings *s)
{
    size_t n = s->updates - run->update;
    const size_t row = run->update == 0 ? 1 : until_multiple(run->update, s->log_interval);
    const size_t save = until_multiple(run->update, s->checkpoint_interval);
    n = row < n ? row : n;
    n = save < n ? save : n;
    if (s->validation_interval > 0) {
        const size_t validation = until_multiple(run->update, s->validation_interval);
        n = validation < n ? validation : n;
    }
    if (s->check_interval > 0) {
        const size_t check = check_is_next(run, s) ? 1 : until_multiple(run->update, s->check_interval) - 1;
        n = check < n ? check : n;
    }
    return n;
}

static size_t plan_updates(const loop *l)
{
    if (!l->ops->asynchronous)
        return 1;
    size_t n = l->update_seconds > 0.0 ? (size_t)(CALL_SECONDS / l->update_seconds) + 1 : 100;
    for (size_t i = 0; i < l->count; i++) {
        const size_t due = l->active[i] ? until_due(l->run[i], l->context->settings) : n;
        n = due < n ? due : n;
    }
    return n;
}

/* ---- ends -------------------------------------------------------------------------------------------- */

static void end(loop *l, size_t i, antler_status status)
{
    l->active[i] = false;
    ant_run_close(l->run[i], l->context, status);
    l->context->end(l->context->reporter, l->run[i]);
}

/* All active runs end with this status and its message. */
static void end_all(loop *l, antler_status status)
{
    char message[512];
    snprintf(message, sizeof message, "%s", antler_message());
    for (size_t i = 0; i < l->count; i++) {
        if (l->active[i])
            end(l, i, ant_fail(status, "%s", message));
    }
}

static antler_status fetch(const loop *l, size_t i)
{
    const ant_run *run = l->run[i];
    return l->ops->get(l->learner, i, run->state.parameters, run->state.m, run->state.v);
}

/* Run i ends with its last files written. */
static void conclude(loop *l, size_t i, antler_status status)
{
    if (status == ANTLER_OK || status == ANTLER_CANCELLED) {
        const antler_status fetched = fetch(l, i);
        status = fetched == ANTLER_OK ? status : fetched;
    }
    end(l, i, ant_run_conclude(l->run[i], l->context, status));
}

/* A failure between two exchanges, which other ranks do not have: this one does not come to the next. */
static antler_status keep_failure(const loop *l, antler_status status)
{
    if (status < 0)
        ant_comm_break(l->context->comm, status);
    return status;
}

/* ---- updates ----------------------------------------------------------------------------------------- */

static void keep_agreement(ant_run *run, double states, double gradient)
{
    /* fmax ignores NaN: an update without a check changes nothing. */
    run->states_agree = fmax(run->states_agree, states);
    run->gradient_agrees = fmax(run->gradient_agrees, gradient);
}

static bool is_estimated(const loop *l)
{
    return l->context->settings->gtf_alpha_method != ANTLER_ALPHA_CONSTANT;
}

/* The strength of forcing of runs whose next update it is estimated for. */
static antler_status estimate_strengths(loop *l)
{
    for (size_t i = 0; i < l->count && l->strength != NULL; i++) {
        ant_run *run = l->run[i];
        if (!l->active[i] || !ant_strength_due(l->context->settings, run->update + 1))
            continue;
        ANT_TRY(fetch(l, i));
        ANT_TRY(
            ant_strength_estimate(l->strength, l->ops, l->learner, i, run->state.parameters, &run->alpha));
        ANT_TRY(l->ops->put_alpha(l->learner, i, run->alpha));
    }
    return ANTLER_OK;
}

static antler_status begin_checks(loop *l)
{
    const ant_run_context *c = l->context;
    for (size_t i = 0; i < l->count; i++) {
        if (l->ops->inspect == NULL || !l->active[i] || !check_is_next(l->run[i], c->settings))
            continue;
        ANT_TRY(ant_check_begin(&l->checks[i], l->ops, l->learner, i, c->settings, c->layout));
        l->checks[i].alpha = ant_alpha_scheduled(c->settings, l->run[i]->update + 1);
    }
    return ANTLER_OK;
}

static antler_status end_checks(loop *l)
{
    const ant_run_context *c = l->context;
    for (size_t i = 0; i < l->count; i++) {
        ant_solve_agreement agreement = {.states = NAN, .gradient = NAN};
        if (is_estimated(l))
            l->checks[i].alpha = l->run[i]->alpha;
        if (l->checks[i].x != NULL && l->outcomes[i].diverged == ANT_DIVERGED_NOT)
            ANT_TRY(ant_check_end(&l->checks[i], l->ops, l->learner, i, c->settings, c->layout, &agreement));
        keep_agreement(l->run[i], agreement.states, agreement.gradient);
    }
    return ANTLER_OK;
}

/* `updates` updates of all active runs.  Runs whose next update is to be checked are compared with the
 * reference. */
static antler_status make_updates(loop *l, size_t updates, double *seconds)
{
    const double estimates = ant_seconds();
    antler_status status = estimate_strengths(l);
    const double spent = ant_seconds() - estimates;
    if (status == ANTLER_OK)
        status = begin_checks(l);
    for (size_t i = 0; i < l->count; i++)
        l->tallies[i] = l->run[i]->tally;
    const double begun = ant_seconds();
    if (status == ANTLER_OK)
        status = l->ops->run(l->learner, updates, l->tallies, l->outcomes);
    *seconds = spent + (ant_seconds() - begun);
    for (size_t i = 0; i < l->count && status == ANTLER_OK && is_estimated(l) && l->ops->estimates; i++)
        l->run[i]->alpha = l->outcomes[i].alpha;
    if (status == ANTLER_OK)
        status = end_checks(l);
    for (size_t i = 0; i < l->count && l->ops->inspect != NULL; i++)
        ant_check_free(&l->checks[i]);
    return status;
}

/* Take over the outcome of run i. */
static void take_over(loop *l, size_t i, double seconds)
{
    ant_run *run = l->run[i];
    const ant_outcome *outcome = &l->outcomes[i];
    run->update = outcome->update;
    run->tally = l->tallies[i];
    run->tally.seconds += seconds;
    keep_agreement(run, outcome->states_agree, outcome->gradient_agrees);
}

/* Validate the runs for which it is due, all of them side by side. */
static antler_status validate(loop *l)
{
    const ant_run_context *c = l->context;
    size_t count = 0;
    for (size_t i = 0; i < l->count && c->validate != NULL; i++) {
        if (!l->active[i] || l->outcomes[i].diverged != ANT_DIVERGED_NOT ||
            !ant_run_validation_due(l->run[i], c->settings))
            continue;
        ANT_TRY(fetch(l, i));
        l->due[count++] = l->run[i];
    }
    return count == 0 ? ANTLER_OK : c->validate(c->reporter, l->due, count);
}

/* Do what is due for run i after its updates.  OK: it continues, unless it is at its last update. */
static antler_status settle(loop *l, size_t i)
{
    ant_run *run = l->run[i];
    const antler_settings *s = l->context->settings;
    const ant_outcome *outcome = &l->outcomes[i];
    if (outcome->diverged != ANT_DIVERGED_NOT) {
        ANT_TRY(fetch(l, i));
        return ant_learning_diverged(l->context->layout, outcome);
    }
    if (ant_run_row_due(run, s))
        ANT_TRY(ant_run_log(run, l->context, l->ops->solver(l->learner)));
    if (ant_run_save_due(run, s)) {
        ANT_TRY(fetch(l, i));
        ANT_TRY(ant_run_save(run, l->context));
    }
    return ANTLER_OK;
}

/* What is requested on any rank, after an update.  A failure goes to all active runs. */
static void find_requests(loop *l, bool *stop, bool *save)
{
    const ant_run_context *c = l->context;
    const int saves = c->save(c->reporter);
    const ant_tally *tally = &l->tallies[0];
    report *own = &l->reports[ant_comm_rank(c->comm)];
    memset(own, 0, sizeof *own);
    *own = (report){.loss = tally->loss,
                    .gradient_norm = tally->gradient_norm,
                    .stop = c->stop(c->reporter),
                    .save = saves != l->saves};
    *stop = *save = false;
    l->saves = saves;
    antler_status status = ant_comm_share_one(c->comm, l->reports, sizeof *l->reports);
    for (size_t r = 0; r < ant_comm_size(c->comm) && status == ANTLER_OK; r++) {
        const report *other = &l->reports[r], *first = &l->reports[0];
        *stop = *stop || other->stop;
        *save = *save || other->save;
        if (memcmp(&other->loss, &first->loss, sizeof first->loss) != 0 ||
            memcmp(&other->gradient_norm, &first->gradient_norm, sizeof first->gradient_norm) != 0)
            status = ant_fail(ANTLER_ERROR_INTERNAL,
                              "ranks 0 and %zu have other numbers after the same update, so their machines "
                              "compute differently; set ANTLER_CPU to the lowest instruction set of all",
                              r);
    }
    if (status != ANTLER_OK)
        end_all(l, status);
}

/* Checkpoints of all active runs, between those of the settings. */
static void save_all(loop *l)
{
    for (size_t i = 0; i < l->count; i++) {
        antler_status status = l->active[i] ? fetch(l, i) : ANTLER_OK;
        if (l->active[i] && status == ANTLER_OK)
            status = keep_failure(l, ant_run_save(l->run[i], l->context));
        if (status != ANTLER_OK)
            conclude(l, i, status);
    }
}

static bool any_active(const loop *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->active[i])
            return true;
    }
    return false;
}

/* Between two checkpoints a learner of the CPU needs no allocation here. */
static void train(loop *l)
{
    const antler_settings *s = l->context->settings;
    while (any_active(l)) {
        double seconds = 0.0;
        const size_t updates = plan_updates(l);
        antler_status made = make_updates(l, updates, &seconds);
        for (size_t i = 0; i < l->count && made == ANTLER_OK; i++) {
            if (l->active[i])
                take_over(l, i, seconds);
        }
        if (made == ANTLER_OK)
            made = validate(l);
        if (keep_failure(l, made) != ANTLER_OK) {
            end_all(l, made);
            return;
        }
        l->update_seconds = seconds / (double)updates;
        for (size_t i = 0; i < l->count; i++) {
            if (!l->active[i])
                continue;
            const antler_status status = keep_failure(l, settle(l, i));
            if (status != ANTLER_OK || l->run[i]->update == s->updates)
                conclude(l, i, status);
        }
        bool stop = false, save = false;
        if (any_active(l))
            find_requests(l, &stop, &save);
        if (save)
            save_all(l);
        for (size_t i = 0; i < l->count && stop; i++) {
            if (l->active[i])
                conclude(l, i, ant_run_cancelled(l->run[i], l->context));
        }
    }
}

/* ---- the beginning ----------------------------------------------------------------------------------- */

/* Initial parameters (spec 4, spec 10), rounded to the precision of training; moments are 0. */
static antler_status initialise(const ant_run_context *context, ant_run *run)
{
    const antler_settings *s = context->settings;
    const ant_model_layout *layout = context->layout;
    const uint32_t number = (uint32_t)run->number;
    const ant_initialisation how = ant_settings_initialisation(s);
    snprintf(run->notice, sizeof run->notice, "%s", context->start);
    for (size_t i = 0; i < layout->total; i++)
        run->state.m[i] = run->state.v[i] = 0.0;
    run->alpha = 1.0;
    if (s->precision == ANTLER_PRECISION_DOUBLE)
        return ant_model_initialise_f64(layout, how, s->seed, number, run->state.parameters);
    float *values = calloc(layout->total, sizeof *values);
    if (values == NULL)
        return ant_fail_memory(layout->total * sizeof *values, "initial parameters");
    const antler_status status = ant_model_initialise_f32(layout, how, s->seed, number, values);
    for (size_t i = 0; i < layout->total; i++)
        run->state.parameters[i] = (double)values[i];
    free(values);
    return status;
}

/* The strengths of all updates where they follow a schedule, for an engine, which makes many updates in one
   call. */
static antler_status list_alphas(const antler_settings *s, double **alphas)
{
    if (s->gtf_alpha_schedule == ANTLER_ALPHA_SCHEDULE_CONSTANT)
        return ANTLER_OK;
    *alphas = calloc(s->updates, sizeof **alphas);
    if (*alphas == NULL)
        return ant_fail_memory(s->updates * sizeof **alphas, "the strengths of forcing");
    for (size_t i = 0; i < s->updates; i++)
        (*alphas)[i] = ant_alpha_scheduled(s, i + 1);
    return ANTLER_OK;
}

static antler_status create_learner(loop *l)
{
    const ant_run_context *c = l->context;
    const ant_dataset *d = c->dataset;
    ant_engine_learning work = ant_learning_describe(c->settings, c->layout);
    work.replicas = l->count;
    work.runs = l->numbers;
    work.threads = c->threads;
    work.comm = c->comm;
    work.rows = d->rows;
    work.trajectories = d->count;
    work.x = d->x;
    work.s = d->s;
    work.row = d->row;
    work.start = d->start;
    work.lacks = d->lacks.count > 0 ? &d->lacks : NULL;
    work.eligible = d->eligible;
    work.eligible_count = d->eligible_count;
    double *alphas = NULL;
    if (l->device != NULL)
        ANT_TRY(list_alphas(c->settings, &alphas));
    work.alphas = alphas;
    const antler_status status = l->ops->create(&work, &l->learner);
    free(alphas);
    return status;
}

/* Another solver, instruction set, number of threads or device than before: other bytes may follow. */
static void note_choice(ant_run *run, const char *choice)
{
    const size_t used = strlen(run->history);
    const bool changed = run->update > 0 && run->choice[0] != '\0' && strcmp(run->choice, choice) != 0;
    if (changed)
        snprintf(run->history + used, sizeof run->history - used, "%supdate %zu: %s", used == 0 ? "" : "; ",
                 run->update, choice);
    if (changed)
        snprintf(run->notice + strlen(run->notice), sizeof run->notice - strlen(run->notice),
                 "%sthe run began with another division of work, so its bytes may differ from those of an "
                 "uninterrupted run",
                 run->notice[0] == '\0' ? "" : "; ");
    snprintf(run->choice, sizeof run->choice, "%s", choice);
}

static void announce(const loop *l, ant_run *run, const char *remark)
{
    char text[sizeof run->choice + 512];
    snprintf(text, sizeof text, "%s%s%s%s", run->choice, remark, run->notice[0] == '\0' ? "" : "; ",
             run->notice);
    ant_run_begin(run, l->context, text);
    run->notice[0] = '\0';
}

/* The learner with the state of every run, then the folders: a device that fails before leaves no files. */
static antler_status begin(loop *l)
{
    if (!l->ops->estimates)
        ANT_TRY(ant_strength_create(l->context->settings, l->context->layout, &l->strength));
    ANT_TRY(create_learner(l));
    for (size_t i = 0; i < l->count; i++) {
        ant_run *run = l->run[i];
        if (!run->begun)
            ANT_TRY(initialise(l->context, run));
        run->begun = true;
        ANT_TRY(l->ops->put(l->learner, i, run->update, run->state.parameters, run->state.m, run->state.v));
        if (is_estimated(l))
            ANT_TRY(l->ops->put_alpha(l->learner, i, run->alpha));
    }
    for (size_t i = 0; i < l->count; i++)
        ANT_TRY(ant_run_prepare(l->run[i], l->context));
    const bool engine = l->device != NULL;
    char choice[sizeof l->run[0]->choice], remark[256];
    snprintf(choice, sizeof choice, "%.400s%s%.80s", l->ops->choice(l->learner), engine ? "; " : "",
             engine ? l->device : "");
    const char *gaps = ant_learning_gap_limit(l->context->settings, &l->context->dataset->lacks);
    ant_break_even_remark(l->context->settings, engine, gaps, remark, sizeof remark);
    ant_forcing_remark(l->context->settings, remark + strlen(remark), sizeof remark - strlen(remark));
    if (l->context->comm != NULL)
        snprintf(remark + strlen(remark), sizeof remark - strlen(remark), "; shared by %zu ranks",
                 ant_comm_size(l->context->comm));
    for (size_t i = 0; i < l->count; i++) {
        ANT_TRY(ant_run_open(l->run[i], l->context));
        note_choice(l->run[i], choice);
        announce(l, l->run[i], remark);
    }
    return ANTLER_OK;
}

/* Open the runs and keep those that have updates left; a finished run only writes its files again. */
static void open_runs(loop *l, ant_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ant_run *run = &runs[i];
        antler_status status = ant_run_claim(run, l->context);
        if (status == ANTLER_OK && (run->elsewhere || run->before))
            continue;
        if (status == ANTLER_OK)
            status = ant_run_open(run, l->context);
        status = ant_run_share(run, l->context, status);
        const bool done = run->begun && run->update == l->context->settings->updates;
        if (status == ANTLER_OK && done)
            status = ant_run_save(run, l->context);
        if (status != ANTLER_OK || done) {
            ant_run_close(run, l->context, status);
            l->context->end(l->context->reporter, run);
            continue;
        }
        l->run[l->count] = run;
        l->numbers[l->count] = (uint32_t)run->number;
        l->active[l->count++] = true;
    }
}

static void fail_runs(const loop *l, ant_run *runs, size_t count, antler_status status)
{
    for (size_t i = 0; i < count; i++) {
        runs[i].status = status;
        snprintf(runs[i].message, sizeof runs[i].message, "%s", antler_message());
        l->context->end(l->context->reporter, &runs[i]);
    }
}

static void carve(loop *l, size_t count, ant_arena *arena)
{
    l->run = ant_arena_take(arena, count, sizeof *l->run);
    l->active = ant_arena_take(arena, count, sizeof *l->active);
    l->numbers = ant_arena_take(arena, count, sizeof *l->numbers);
    l->tallies = ant_arena_take(arena, count, sizeof *l->tallies);
    l->outcomes = ant_arena_take(arena, count, sizeof *l->outcomes);
    l->checks = ant_arena_take(arena, count, sizeof *l->checks);
    l->due = ant_arena_take(arena, count, sizeof *l->due);
    l->reports = ant_arena_take(arena, ant_comm_size(l->context->comm), sizeof *l->reports);
}

static antler_status take_memory(loop *l, size_t count)
{
    ant_arena counting;
    ant_arena_count(&counting);
    carve(l, count, &counting);
    ANT_TRY(ant_arena_create(&l->arena, counting.used));
    carve(l, count, &l->arena);
    memset(l->checks, 0, count * sizeof *l->checks);
    return ANTLER_OK;
}

bool ant_loop_train(const ant_learner_ops *ops, const char *device, ant_run *runs, size_t count,
                    const ant_run_context *context)
{
    loop l = {.context = context, .ops = ops, .device = device, .saves = context->save(context->reporter)};
    const antler_status memory = ant_comm_agree(context->comm, take_memory(&l, count));
    if (memory != ANTLER_OK) {
        fail_runs(&l, runs, count, memory);
        return true;
    }
    open_runs(&l, runs, count);
    const antler_status status = l.count == 0 ? ANTLER_OK : ant_comm_agree(context->comm, begin(&l));
    const bool to_cpu = status == ANTLER_ERROR_DEVICE && context->settings->device == ANTLER_DEVICE_AUTO;
    if (status == ANTLER_OK)
        train(&l);
    else if (!to_cpu)
        end_all(&l, status);
    for (size_t i = 0; i < l.count && to_cpu; i++)
        ant_run_close(l.run[i], context, ANTLER_OK); /* without an outcome */
    ops->free(l.learner);
    ant_strength_free(l.strength);
    ant_arena_destroy(&l.arena);
    return !to_cpu;
}
