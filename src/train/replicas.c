#include "train/replicas.h"

#include "base/difference.h"
#include "base/machine.h"
#include "model/kind.h"
#include "train/break_even.h"
#include "train/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds after which the host looks at the latest, so that a stop is heard. */
#define PATIENCE 0.25

/* The runs that are at work, and the learner that moves them. */
typedef struct crew {
    const ant_run_context *context;
    const ant_engine_learner_ops *ops;
    const char *device;
    void *learner;
    void (*ended)(void *reporter, const ant_run *run);
    size_t count;
    ant_run **run;                /* (count) */
    bool *working;                /* (count) */
    uint32_t *names;              /* (count) */
    ant_engine_tally *tallies;    /* (count) */
    ant_engine_outcome *outcomes; /* (count) */
    double pace;                  /* seconds of an update, the last time */
} crew;

antler_status ant_replicas_engine(const antler_settings *s, const ant_engine **engine)
{
    return ant_engine_choose(s->device, ant_worth_gpu(s), engine);
}

ant_engine_learning ant_replicas_describe(const antler_settings *settings, const ant_model_layout *layout)
{
    const ant_model_dims *d = &layout->dims;
    return (ant_engine_learning){.M = d->M,
                                 .N = d->N,
                                 .L = d->L,
                                 .K = d->K,
                                 .rank = d->rank,
                                 .clipped = d->clipped,
                                 .total = layout->total,
                                 .settings = settings,
                                 .limit = ANT_PARAMETER_LIMIT};
}

/* ---- the proof that goes into the log ------------------------------------------------------------- */

static void add_difference(ant_difference *d, const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ant_difference_add(d, a[i], b[i]);
}

typedef struct reference {
    ant_solve_plan_f64 *plan;
    const double **x, **s;   /* (batch) */
    double *states, *slopes; /* (T, M), (total) */
} reference;

static antler_status compare_with(reference *r, const antler_settings *set, const ant_model_layout *layout,
                                  const double *parameters, const double *states, const double *gradient,
                                  ant_solve_agreement *agreement)
{
    const size_t M = layout->dims.M, T = set->sequence_length;
    ant_solve_report report;
    ant_difference first = {0}, second = {0};
    const antler_status status = ant_solve_gradient_f64(
        r->plan, parameters, r->x, layout->dims.K == 0 ? NULL : r->s, set->gtf_alpha, r->slopes, &report);
    if (status < 0)
        return status;
    for (size_t i = 0; i < set->batch_size; i++) {
        ant_solve_states_f64(r->plan, i, r->states);
        add_difference(&first, states + i * T * M, r->states, T * M);
    }
    add_difference(&second, gradient, r->slopes, layout->total);
    *agreement = (ant_solve_agreement){
        .states = ant_difference_relative(&first), .gradient = ant_difference_relative(&second), .loss = NAN};
    return ANTLER_OK;
}

antler_status ant_replicas_compare(const antler_settings *settings, const ant_model_layout *layout,
                                   const double *parameters, const double *x, const double *s,
                                   const double *states, const double *gradient,
                                   ant_solve_agreement *agreement)
{
    const ant_model_dims *d = &layout->dims;
    const size_t T = settings->sequence_length, batch = settings->batch_size;
    ant_solve_options options = ant_settings_solver(settings, 1);
    options.solver = ANT_SOLVER_REFERENCE;
    reference r = {.x = calloc(batch, sizeof *r.x),
                   .s = calloc(batch, sizeof *r.s),
                   .states = calloc(T * d->M, sizeof *r.states),
                   .slopes = calloc(layout->total, sizeof *r.slopes)};
    antler_status status = r.x == NULL || r.s == NULL || r.states == NULL || r.slopes == NULL
                               ? ant_fail_memory(T * d->M * sizeof *r.states, "a comparison")
                               : ant_solve_plan_create_f64(d, T, batch, &options, &r.plan);
    for (size_t i = 0; i < batch && status == ANTLER_OK; i++) {
        r.x[i] = x + i * (T + 1) * d->N;
        r.s[i] = d->K == 0 ? NULL : s + i * T * d->K;
    }
    if (status == ANTLER_OK)
        status = compare_with(&r, settings, layout, parameters, states, gradient, agreement);
    ant_solve_plan_free_f64(r.plan);
    free(r.x);
    free(r.s);
    free(r.states);
    free(r.slopes);
    return status;
}

/* What a comparison needs of one run. */
typedef struct sample {
    double *x, *s, *states, *gradient, *parameters, *unused;
} sample;

static void free_sample(sample *taken)
{
    free(taken->x);
    free(taken->s);
    free(taken->states);
    free(taken->gradient);
    free(taken->parameters);
    free(taken->unused);
}

/* Windows and parameters of run i's next update. */
static antler_status take_sample(const crew *c, size_t i, sample *taken)
{
    const antler_settings *s = c->context->settings;
    const ant_model_layout *layout = c->context->layout;
    const size_t T = s->sequence_length, batch = s->batch_size, total = layout->total;
    *taken = (sample){.x = calloc(batch * (T + 1) * layout->dims.N, sizeof(double)),
                      .s = calloc(batch * T * layout->dims.K + 1, sizeof(double)),
                      .states = calloc(batch * T * layout->dims.M, sizeof(double)),
                      .gradient = calloc(total, sizeof(double)),
                      .parameters = calloc(total, sizeof(double)),
                      .unused = calloc(2 * total, sizeof(double))};
    if (taken->x == NULL || taken->s == NULL || taken->states == NULL || taken->gradient == NULL ||
        taken->parameters == NULL || taken->unused == NULL)
        return ant_fail_memory(batch * T * layout->dims.M * sizeof(double), "a comparison");
    ANT_TRY(c->ops->windows(c->learner, i, taken->x, taken->s));
    return c->ops->get(c->learner, i, taken->parameters, taken->unused, taken->unused + total);
}

static antler_status judge_sample(const crew *c, size_t i, const sample *taken, ant_tally *tally)
{
    ant_solve_agreement found = {.states = NAN, .gradient = NAN};
    ANT_TRY(c->ops->inspect(c->learner, i, taken->states, taken->gradient));
    ANT_TRY(ant_replicas_compare(c->context->settings, c->context->layout, taken->parameters, taken->x,
                                 taken->s, taken->states, taken->gradient, &found));
    tally->states_agree = fmax(tally->states_agree, found.states);
    tally->gradient_agrees = fmax(tally->gradient_agrees, found.gradient);
    return ANTLER_OK;
}

/* ---- the loop ------------------------------------------------------------------------------------- */

static bool check_is_next(const ant_run *run, const antler_settings *s)
{
    return s->check_interval > 0 && (run->update + 1) % s->check_interval == 0;
}

static size_t until_multiple(size_t update, size_t interval)
{
    return interval - update % interval;
}

/* Updates after which something is due for this run. */
static size_t until_due(const ant_run *run, const antler_settings *s)
{
    size_t n = s->updates - run->update;
    const size_t row = run->update == 0 ? 1 : until_multiple(run->update, s->log_interval);
    const size_t save = until_multiple(run->update, s->checkpoint_interval);
    n = row < n ? row : n;
    n = save < n ? save : n;
    if (s->check_interval > 0) {
        const size_t check = check_is_next(run, s) ? 1 : until_multiple(run->update, s->check_interval) - 1;
        n = check < n ? check : n;
    }
    return n;
}

static size_t plan_updates(const crew *c)
{
    size_t n = SIZE_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const size_t due = c->working[i] ? until_due(c->run[i], c->context->settings) : n;
        n = due < n ? due : n;
    }
    const size_t patient = c->pace > 0.0 ? (size_t)(PATIENCE / c->pace) + 1 : 100;
    return n < patient ? n : patient;
}

static void leave(crew *c, size_t i, antler_status status)
{
    c->working[i] = false;
    ant_run_close(c->run[i], c->context, status);
    c->ended(c->context->reporter, c->run[i]);
}

/* Everybody who still works stops with this status and its sentence. */
static void leave_all(crew *c, antler_status status)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", antler_message());
    for (size_t i = 0; i < c->count; i++) {
        if (c->working[i])
            leave(c, i, ant_fail(status, "%s", sentence));
    }
}

static antler_status diverged(const crew *c, size_t i)
{
    static const char *const terms[] = {[ANT_FATE_LOSS] = "the loss is not finite",
                                        [ANT_FATE_GRADIENT] = "the gradient of the loss is not finite",
                                        [ANT_FATE_MAR] = "the MAR term is not finite",
                                        [ANT_FATE_READOUT] = "the readout term is not finite",
                                        [ANT_FATE_SINGULAR] = "the singular value term is not finite",
                                        [ANT_FATE_NORM] = "the norm of the gradient is not finite"};
    const ant_engine_outcome *o = &c->outcomes[i];
    const ant_model_layout *layout = c->context->layout;
    return o->fate == ANT_FATE_PARAMETER ? ant_learner_exploded(layout, o->update + 1, o->parameter)
                                         : ant_learner_diverged(layout, o->update + 1, terms[o->fate]);
}

static antler_status fetch(const crew *c, size_t i)
{
    const ant_learner_state *state = &c->run[i]->state;
    return c->ops->get(c->learner, i, state->parameters, state->m, state->v);
}

/* Bring run i to where the engine left it, and do what is due.  OK: it goes on, unless it is at its last
 * update. */
static antler_status settle(crew *c, size_t i, double seconds)
{
    ant_run *run = c->run[i];
    const antler_settings *s = c->context->settings;
    const ant_engine_tally *t = &c->tallies[i];
    run->update = c->outcomes[i].update;
    run->tally.updates = t->updates;
    run->tally.loss = t->loss;
    run->tally.mar = t->mar;
    run->tally.readout = t->readout;
    run->tally.singular = t->singular;
    run->tally.iterations = t->iterations;
    run->tally.fallbacks = t->fallbacks;
    run->tally.seconds += seconds;
    if (c->outcomes[i].fate != ANT_FATE_RUNNING) {
        ANT_TRY(fetch(c, i));
        return diverged(c, i);
    }
    const ant_update last = {.lr = t->lr, .alpha = s->gtf_alpha, .gradient_norm = t->gradient_norm};
    if (ant_run_row_due(run, s))
        ANT_TRY(ant_run_log(run, c->context, &last, c->ops->solver(c->learner)));
    if (ant_run_save_due(run, s)) {
        ANT_TRY(fetch(c, i));
        ANT_TRY(ant_run_save(run, c->context));
    }
    return ANTLER_OK;
}

static void fill_tallies(crew *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const ant_tally *t = &c->run[i]->tally;
        c->tallies[i] = (ant_engine_tally){.updates = t->updates,
                                           .loss = t->loss,
                                           .mar = t->mar,
                                           .readout = t->readout,
                                           .singular = t->singular,
                                           .iterations = t->iterations,
                                           .fallbacks = t->fallbacks};
    }
}

/* `updates` updates on the engine; runs whose next one is to be checked are compared with plain loops. */
static antler_status move(crew *c, size_t updates, double *seconds)
{
    const antler_settings *s = c->context->settings;
    sample *samples = calloc(c->count, sizeof *samples);
    if (samples == NULL)
        return ant_fail_memory(c->count * sizeof *samples, "a comparison");
    antler_status status = ANTLER_OK;
    for (size_t i = 0; i < c->count && status == ANTLER_OK; i++) {
        if (c->working[i] && check_is_next(c->run[i], s))
            status = take_sample(c, i, &samples[i]);
    }
    fill_tallies(c);
    const double begun = ant_seconds();
    if (status == ANTLER_OK)
        status = c->ops->run(c->learner, updates, c->tallies, c->outcomes);
    *seconds = ant_seconds() - begun;
    for (size_t i = 0; i < c->count; i++) {
        if (status == ANTLER_OK && samples[i].x != NULL && c->outcomes[i].fate == ANT_FATE_RUNNING)
            status = judge_sample(c, i, &samples[i], &c->run[i]->tally);
        free_sample(&samples[i]);
    }
    free(samples);
    return status;
}

static bool anyone_works(const crew *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->working[i])
            return true;
    }
    return false;
}

static void finish(crew *c, size_t i, antler_status status)
{
    if (status == ANTLER_OK || status == ANTLER_CANCELLED) {
        const antler_status fetched = fetch(c, i);
        status = fetched == ANTLER_OK ? status : fetched;
    }
    leave(c, i, ant_run_conclude(c->run[i], c->context, status));
}

static void work(crew *c)
{
    const antler_settings *s = c->context->settings;
    while (anyone_works(c)) {
        double seconds = 0.0;
        const size_t updates = plan_updates(c);
        const antler_status moved = move(c, updates, &seconds);
        if (moved != ANTLER_OK) {
            leave_all(c, moved);
            return;
        }
        c->pace = seconds / (double)updates;
        for (size_t i = 0; i < c->count; i++) {
            if (!c->working[i])
                continue;
            const antler_status status = settle(c, i, seconds);
            if (status != ANTLER_OK || c->run[i]->update == s->updates)
                finish(c, i, status);
        }
        if (!anyone_works(c) || !c->context->stop(c->context->reporter))
            continue;
        for (size_t i = 0; i < c->count; i++) {
            if (c->working[i])
                finish(c, i, ant_run_cancelled(c->run[i], c->context));
        }
    }
}

/* ---- begin and end -------------------------------------------------------------------------------- */

static antler_status initialise(const crew *c, ant_run *run)
{
    const antler_settings *s = c->context->settings;
    const ant_model_layout *layout = c->context->layout;
    const uint32_t name = (uint32_t)run->number;
    for (size_t i = 0; i < layout->total; i++)
        run->state.m[i] = run->state.v[i] = 0.0;
    if (s->precision == ANTLER_PRECISION_DOUBLE)
        return ant_model_initialise_f64(layout, s->kappa, s->seed, name, run->state.parameters);
    float *values = calloc(layout->total, sizeof *values);
    if (values == NULL)
        return ant_fail_memory(layout->total * sizeof *values, "initial parameters");
    const antler_status status = ant_model_initialise_f32(layout, s->kappa, s->seed, name, values);
    for (size_t i = 0; i < layout->total; i++)
        run->state.parameters[i] = (double)values[i];
    free(values);
    return status;
}

static antler_status begin(crew *c)
{
    const ant_dataset *d = c->context->dataset;
    ant_engine_learning work = ant_replicas_describe(c->context->settings, c->context->layout);
    char text[512], remark[128];
    work.replicas = c->count;
    work.runs = c->names;
    work.rows = d->rows;
    work.trajectories = d->count;
    work.x = d->x;
    work.s = d->s;
    work.row = d->row;
    work.start = d->start;
    ANT_TRY(c->ops->create(&work, &c->learner));
    for (size_t i = 0; i < c->count; i++) {
        ant_run *run = c->run[i];
        if (!run->begun)
            ANT_TRY(initialise(c, run));
        run->begun = true;
        ANT_TRY(c->ops->put(c->learner, i, run->update, run->state.parameters, run->state.m, run->state.v));
    }
    ANT_TRY(ant_run_found(c->context)); /* an engine that cannot begin has left no trace */
    ant_worth_remark(c->context->settings, true, remark, sizeof remark);
    snprintf(text, sizeof text, "%s; %s%s", c->ops->choice(c->learner), c->device, remark);
    for (size_t i = 0; i < c->count; i++) {
        ANT_TRY(ant_run_open(c->run[i], c->context));
        ant_run_announce(c->run[i], c->context, text);
    }
    return ANTLER_OK;
}

/* Open the runs and keep those that have work to do. */
static void enlist(crew *c, ant_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ant_run *run = &runs[i];
        antler_status status = ant_run_open(run, c->context);
        const bool done = run->begun && run->update == c->context->settings->updates;
        if (status == ANTLER_OK && done)
            status = ant_run_save(run, c->context);
        if (status != ANTLER_OK || done) {
            ant_run_close(run, c->context, status);
            c->ended(c->context->reporter, run);
            continue;
        }
        c->run[c->count] = run;
        c->names[c->count] = (uint32_t)run->number;
        c->working[c->count++] = true;
    }
}

static void fail_all(crew *c, ant_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        runs[i].status = ant_fail_memory(count * sizeof(ant_run), "the runs");
        snprintf(runs[i].message, sizeof runs[i].message, "%s", antler_message());
        c->ended(c->context->reporter, &runs[i]);
    }
}

/* Close everybody without an outcome: somebody else begins again. */
static void hand_over(crew *c)
{
    for (size_t i = 0; i < c->count; i++)
        ant_run_close(c->run[i], c->context, ANTLER_OK);
}

/* False: see replicas.h. */
static bool begin_and_work(crew *c, ant_run *runs, size_t count)
{
    enlist(c, runs, count);
    const antler_status status = c->count == 0 ? ANTLER_OK : begin(c);
    const bool elsewhere =
        status == ANTLER_ERROR_DEVICE && c->context->settings->device == ANTLER_DEVICE_AUTO;
    if (elsewhere)
        hand_over(c);
    else if (status != ANTLER_OK)
        leave_all(c, status);
    else
        work(c);
    c->ops->free(c->learner);
    return !elsewhere;
}

bool ant_replicas_train(const ant_engine *engine, ant_run *runs, size_t count, const ant_run_context *context,
                        void (*ended)(void *reporter, const ant_run *run))
{
    bool done = true;
    crew c = {.context = context,
              .ops = engine->learner,
              .device = engine->device(),
              .ended = ended,
              .run = calloc(count, sizeof *c.run),
              .working = calloc(count, sizeof *c.working),
              .names = calloc(count, sizeof *c.names),
              .tallies = calloc(count, sizeof *c.tallies),
              .outcomes = calloc(count, sizeof *c.outcomes)};
    if (c.run == NULL || c.working == NULL || c.names == NULL || c.tallies == NULL || c.outcomes == NULL)
        fail_all(&c, runs, count);
    else
        done = begin_and_work(&c, runs, count);
    free(c.run);
    free(c.working);
    free(c.names);
    free(c.tallies);
    free(c.outcomes);
    return done;
}
