/* trainer.c - all runs of a training: on an engine as replicas, or on CPU threads one by one. */
#include "train/trainer.h"

#include "base/machine.h"
#include "base/sized.h"
#include "train/forcing_rule.h"
#include "train/initialisation.h"
#include "train/problem.h"
#include "train/settings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the threads of one training share. */
typedef struct pool {
    antler_trainer *trainer;
    const antler_train_events *events;
    ant_run_context context;
    size_t first, last;
    atomic_size_t next; /* run to begin */
    atomic_bool stopping;
    pthread_mutex_t reporting;
} pool;

static antler_status create_runs(antler_trainer *t)
{
    const size_t runs = t->settings.runs;
    t->runs = calloc(runs, sizeof *t->runs);
    if (t->runs == NULL)
        return ant_fail_memory(runs * sizeof *t->runs, "the runs");
    for (size_t i = 0; i < runs; i++)
        ANT_TRY(ant_run_create(&t->runs[i], i + 1, t->layout.total));
    return ANTLER_OK;
}

/* The rows of validations.  A model without a start has the units of all. */
static antler_status hold_back(antler_trainer *t, const ant_division *division)
{
    antler_settings *s = &t->settings;
    antler_model *units = NULL;
    if (division->held_back == NULL)
        return ANTLER_OK;
    ANT_TRY(ant_trainer_make_model(t, &t->runs[0], &units));
    const antler_status status = ant_held_back_create(division, s->warmup, units, &t->held_back);
    antler_model_free(units);
    if (status == ANTLER_OK && s->validation_interval == 0)
        s->validation_interval = ant_validation_interval(s, t->held_back, t->engine != NULL);
    return status;
}

/* Append one line about missing values to what is said when a run begins. */
static void remark_missing(antler_trainer *t, const ant_division *division)
{
    static const char *const how[] = {
        [ANTLER_MISSING_MASK] = "masked", [ANTLER_MISSING_SPLIT] = "trajectories are cut there"};
    const size_t used = strlen(t->start), room = sizeof t->start - used;
    const char *gap = used > 0 ? "; " : "";
    const double share = 100.0 * (double)division->missing / (double)(division->values + 1);
    if (division->missing == 0)
        return;
    if (t->settings.missing == ANTLER_MISSING_INTERPOLATE)
        snprintf(t->start + used, room,
                 "%s%zu of %zu values are missing (%.2g %%): %zu interpolated, %zu masked", gap,
                 division->missing, division->values, share, division->filled, t->dataset->lacks.missing);
    else
        snprintf(t->start + used, room, "%s%zu of %zu values are missing (%.2g %%): %s", gap,
                 division->missing, division->values, share, how[t->settings.missing]);
}

/* The CPU takes what the engine does not. */
static antler_status check_engine(antler_trainer *t)
{
    const char *limit = ant_learning_gap_limit(&t->settings, &t->dataset->lacks);
    if (t->engine == NULL || limit == NULL)
        return ANTLER_OK;
    ANT_CHECK(t->settings.device != ANTLER_DEVICE_CUDA, ANTLER_ERROR_ARGUMENT,
              "device: cuda does not take missing values %s, and %zu are missing; set device: cpu, or "
              "missing: split or interpolate",
              limit, t->dataset->lacks.missing);
    t->engine = NULL;
    return ANTLER_OK;
}

static antler_status fill(antler_trainer *t, const antler_series *series)
{
    const antler_settings *s = &t->settings;
    const ant_model_dims dims =
        ant_settings_dims(s, antler_series_dim(series), antler_series_input_dim(series));
    ant_division division = {0};
    ANT_TRY(ant_model_layout_make(&dims, &t->layout));
    ANT_TRY(ant_learning_engine(s, &t->engine));
    antler_status status = ant_division_create(s, series, &division);
    if (status == ANTLER_OK)
        status = ant_dataset_create(division.training, s->sequence_length, s->standardise, s->precision,
                                    &t->dataset);
    if (status == ANTLER_OK)
        status = ant_dataset_find_gaps(t->dataset, s->precision, s->warmup);
    if (status == ANTLER_OK)
        status = check_engine(t);
    if (status == ANTLER_OK)
        status = ant_forcing_resolve(&t->settings, t->dataset);
    if (status == ANTLER_OK) {
        ant_initialisation_resolve(&t->settings, t->dataset, t->start, sizeof t->start);
        remark_missing(t, &division);
        status = create_runs(t);
    }
    if (status == ANTLER_OK)
        status = hold_back(t, &division);
    ant_division_free(&division);
    return status;
}

antler_status antler_trainer_create(const antler_settings *settings, const antler_series *series,
                                    antler_trainer **trainer)
{
    ANT_NEED(settings != NULL && series != NULL && trainer != NULL);
    ANT_OPTIONS(antler_settings, settings);
    ANT_TRY(antler_settings_check(settings, series));
    antler_trainer *t = calloc(1, sizeof *t);
    if (t == NULL)
        return ant_fail_memory(sizeof *t, "a training");
    t->settings = *settings;
    t->settings.threads = (size_t)ant_threads_resolve((int)settings->threads);
    ant_settings_resolve_segments(&t->settings);
    const antler_status status = fill(t, series);
    if (status != ANTLER_OK) {
        antler_trainer_free(t);
        return status;
    }
    *trainer = t;
    return ANTLER_OK;
}

void antler_trainer_free(antler_trainer *trainer)
{
    if (trainer == NULL)
        return;
    for (size_t i = 0; trainer->runs != NULL && i < trainer->settings.runs; i++)
        ant_run_destroy(&trainer->runs[i]);
    free(trainer->runs);
    ant_dataset_free(trainer->dataset);
    ant_held_back_free(trainer->held_back);
    free(trainer);
}

static void report_begin(void *reporter, const antler_train_note *note)
{
    pool *p = reporter;
    if (p->events == NULL || p->events->begin == NULL)
        return;
    pthread_mutex_lock(&p->reporting);
    p->events->begin(p->events->cookie, note);
    pthread_mutex_unlock(&p->reporting);
}

static void report_row(void *reporter, const antler_train_row *row)
{
    pool *p = reporter;
    if (p->events == NULL || p->events->row == NULL)
        return;
    pthread_mutex_lock(&p->reporting);
    p->events->row(p->events->cookie, row);
    pthread_mutex_unlock(&p->reporting);
}

static void report_end(void *reporter, const ant_run *run)
{
    pool *p = reporter;
    if (p->events == NULL || p->events->end == NULL)
        return;
    const ant_run_hooks *hooks = p->context.hooks;
    const antler_train_note note = {.run = run->number,
                                    .runs = p->context.runs,
                                    .update = run->update,
                                    .updates = p->trainer->settings.updates,
                                    .status = run->status,
                                    .text = run->message,
                                    .folder = hooks == NULL ? "" : hooks->folder(hooks->cookie, run)};
    pthread_mutex_lock(&p->reporting);
    p->events->end(p->events->cookie, &note);
    pthread_mutex_unlock(&p->reporting);
}

int antler_stop_when_set(void *flag)
{
    return flag == NULL ? 0 : atomic_load((atomic_int *)flag);
}

int antler_save_when_raised(void *flag)
{
    return flag == NULL ? 0 : atomic_load((atomic_int *)flag + 1);
}

static bool stop_requested(void *reporter)
{
    pool *p = reporter;
    if (p->events != NULL && p->events->stop != NULL && p->events->stop(p->events->cookie) != 0)
        atomic_store(&p->stopping, true);
    return atomic_load(&p->stopping);
}

static int save_requests(void *reporter)
{
    const pool *p = reporter;
    return p->events == NULL || p->events->save == NULL ? 0 : p->events->save(p->events->cookie);
}

static antler_status validate(void *reporter, ant_run *const *runs, size_t count)
{
    const pool *p = reporter;
    const int threads = count > 1 ? (int)p->trainer->settings.threads : p->context.threads;
    return ant_trainer_validate(p->trainer, runs, count, threads);
}

static void *work(void *argument)
{
    pool *p = argument;
    for (size_t number = atomic_fetch_add(&p->next, 1); number <= p->last;
         number = atomic_fetch_add(&p->next, 1)) {
        ant_run *run = &p->trainer->runs[number - 1];
        if (number > p->first && /* the first one makes the folders of all */
            ant_comm_any(p->context.comm, stop_requested(p))) {
            run->status = ANTLER_CANCELLED;
            snprintf(run->message, sizeof run->message, "stopped before it began");
            continue;
        }
        (void)ant_loop_train(ant_learning_cpu(p->trainer->settings.precision), NULL, run, 1, &p->context);
    }
    return NULL;
}

/* Workers beyond the first get threads of their own; without one more thread, fewer workers run. */
static void work_on_threads(pool *p, size_t workers)
{
    pthread_t *threads = calloc(workers, sizeof *threads);
    size_t started = 0;
    while (threads != NULL && started + 1 < workers && pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    work(p);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static antler_status conclude(const antler_trainer *trainer, size_t first, size_t last,
                              antler_train_result *result)
{
    const ant_run *failed = NULL, *diverged = NULL, *stopped = NULL;
    for (size_t i = first; i <= last; i++) {
        const ant_run *run = &trainer->runs[i - 1];
        result->elsewhere += run->elsewhere;
        result->before += run->before;
        if (run->elsewhere || run->before)
            continue;
        switch (run->status) {
        case ANTLER_OK:
            result->finished++;
            break;
        case ANTLER_CANCELLED:
            result->stopped++;
            stopped = stopped == NULL ? run : stopped;
            break;
        case ANTLER_DIVERGED:
            result->diverged++;
            diverged = diverged == NULL ? run : diverged;
            break;
        default:
            result->failed++;
            failed = failed == NULL ? run : failed;
            break;
        }
    }
    const ant_run *first_failure = failed != NULL ? failed : stopped != NULL ? stopped : diverged;
    if (first_failure == NULL)
        return ANTLER_OK;
    return first == last ? ant_fail(first_failure->status, "%s", first_failure->message)
                         : ant_fail(first_failure->status, "run %zu: %s", first_failure->number,
                                    first_failure->message);
}

/* Threads inside a run.  A process by itself has those that follow from the settings. */
static size_t threads_inside(const antler_trainer *trainer, size_t runs)
{
    const antler_settings *s = &trainer->settings;
    if (trainer->ranks <= 1)
        return ant_settings_inner_threads(s);
    return trainer->comm != NULL || runs == 0 ? s->threads : runs < s->threads ? s->threads / runs : 1;
}

antler_status ant_trainer_train(antler_trainer *trainer, size_t first, size_t last,
                                const ant_run_hooks *hooks, const antler_train_events *events,
                                antler_train_result *result)
{
    const antler_settings *s = &trainer->settings;
    const size_t at_once = trainer->comm != NULL ? 1 : s->runs < s->threads ? s->runs : s->threads;
    pool p = {.trainer = trainer, .events = events, .first = first, .last = last};
    p.context = (ant_run_context){
        .settings = s,
        .start = trainer->start,
        .dataset = trainer->dataset,
        .layout = &trainer->layout,
        .runs = last - first + 1,
        .threads = (int)threads_inside(trainer, last - first + 1),
        .comm = trainer->comm,
        .hooks = hooks,
        .reporter = &p,
        .begin = report_begin,
        .report = report_row,
        .end = report_end,
        .stop = stop_requested,
        .save = save_requests,
        .validate = trainer->held_back == NULL || ant_comm_rank(trainer->comm) > 0 ? NULL : validate};
    atomic_init(&p.next, first);
    atomic_init(&p.stopping, false);
    ANT_CHECK(pthread_mutex_init(&p.reporting, NULL) == 0, ANTLER_ERROR_MEMORY, "a lock could not be made");
    const bool done =
        trainer->engine != NULL && ant_loop_train(trainer->engine->learner, trainer->engine->device(),
                                                  trainer->runs + first - 1, last - first + 1, &p.context);
    if (!done)
        work_on_threads(&p, last - first + 1 < at_once ? last - first + 1 : at_once);
    pthread_mutex_destroy(&p.reporting);
    return conclude(trainer, first, last, result);
}

void(antler_train_events_default)(antler_train_events *events, size_t struct_size)
{
    const antler_train_events standard = {0};
    ant_sized_default(&standard, sizeof standard, events, struct_size);
}

antler_status(antler_trainer_run)(antler_trainer *trainer, const antler_train_events *events,
                                  antler_train_result *result, size_t struct_size)
{
    ANT_NEED(trainer != NULL);
    ANT_RESULT(antler_train_result, result, struct_size, antler_trainer_run(trainer, events, &whole),
               (void)0);
    ANT_OPTIONS_PART(antler_train_events, events);
    antler_train_result counts = {.struct_size = sizeof counts};
    const antler_status status = ant_trainer_train(trainer, 1, trainer->settings.runs, NULL, events, &counts);
    if (result != NULL)
        *result = counts;
    return status;
}

/* The settings of the training after the number of the run; number and seed select its random streams. */
static antler_status describe(const antler_trainer *trainer, const ant_run *run, char **settings)
{
    char *yaml = NULL;
    ANT_TRY(ant_settings_yaml(&trainer->settings, false, &yaml));
    const size_t bytes = strlen(yaml) + 64;
    *settings = malloc(bytes);
    if (*settings != NULL)
        snprintf(*settings, bytes, "# run %zu\n%s", run->number, yaml);
    free(yaml);
    return *settings == NULL ? ant_fail_memory(bytes, "the settings as text") : ANTLER_OK;
}

antler_status ant_trainer_make_best(const antler_trainer *trainer, const ant_run *run, antler_model **model)
{
    ant_run best = *run;
    best.state.parameters = run->best.parameters;
    return ant_trainer_make_model(trainer, &best, model);
}

antler_status ant_trainer_make_model(const antler_trainer *trainer, const ant_run *run, antler_model **model)
{
    const ant_dataset *d = trainer->dataset;
    antler_model *m = NULL;
    ANT_TRY(ant_model_create(&trainer->layout.dims, &m));
    memcpy(m->parameters, run->state.parameters, trainer->layout.total * sizeof *m->parameters);
    ant_model_refresh(m);
    m->precision = trainer->settings.precision == ANTLER_PRECISION_FLOAT ? 32 : 64;
    m->dt = d->dt;
    antler_status status = d->scaled ? ant_model_set_scaling(m, d->mean, d->scale) : ANTLER_OK;
    for (size_t i = 0; i < d->N + d->K && status == ANTLER_OK; i++)
        status = ant_model_set_name(m, i, d->names[i]);
    if (status == ANTLER_OK)
        status = describe(trainer, run, &m->settings);
    if (status == ANTLER_OK) {
        const size_t bytes = strlen(antler_build_info()) + sizeof run->history + 64;
        m->provenance = malloc(bytes);
        if (m->provenance == NULL)
            status = ant_fail_memory(bytes, "the provenance of a model");
        else
            snprintf(m->provenance, bytes, "%s%s%s", antler_build_info(),
                     run->history[0] == '\0' ? "" : "; resumed otherwise than it began: ", run->history);
    }
    if (status != ANTLER_OK) {
        antler_model_free(m);
        return status;
    }
    *model = m;
    return ANTLER_OK;
}

static antler_status check_number(const antler_trainer *trainer, size_t run)
{
    ANT_CHECK(run >= 1 && run <= trainer->settings.runs, ANTLER_ERROR_ARGUMENT,
              "there is no run %zu; runs count from 1 to %zu", run, trainer->settings.runs);
    return ANTLER_OK;
}

antler_status antler_trainer_model(const antler_trainer *trainer, size_t run, antler_model **model)
{
    ANT_NEED(trainer != NULL && model != NULL);
    ANT_TRY(check_number(trainer, run));
    ANT_CHECK(trainer->runs[run - 1].begun, ANTLER_ERROR_ARGUMENT,
              "run %zu has no model yet; call antler_trainer_run first", run);
    return ant_trainer_make_model(trainer, &trainer->runs[run - 1], model);
}

antler_status(antler_trainer_best_model)(const antler_trainer *trainer, size_t run,
                                         antler_validation *validation, antler_model **model,
                                         size_t struct_size)
{
    ANT_NEED(trainer != NULL && model != NULL);
    ANT_RESULT(antler_validation, validation, struct_size,
               antler_trainer_best_model(trainer, run, &whole, model), (void)0);
    ANT_TRY(check_number(trainer, run));
    const ant_run *r = &trainer->runs[run - 1];
    ANT_CHECK(r->best.update > 0, ANTLER_ERROR_ARGUMENT,
              "run %zu was not validated yet; the setting validation holds rows back for it", run);
    ANT_TRY(ant_trainer_make_best(trainer, r, model));
    if (validation != NULL)
        *validation = (antler_validation){.struct_size = sizeof *validation,
                                          .update = r->best.update,
                                          .score = r->best.score,
                                          .dstsp = r->best.measures.dstsp,
                                          .hellinger = r->best.measures.hellinger,
                                          .prediction_error = r->best.measures.prediction_error};
    return ANTLER_OK;
}
