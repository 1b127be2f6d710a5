/*
 * fit.c - antler_fit: try candidates, judge them on held-back rows, refine the best (successive halving).
 *
 * Three rungs.  The first trains every candidate briefly; the second trains the leaders again, longer and
 * with more runs, beside variations of the first; the third the two best of the second, or the best alone and
 * longer where it is still far from the floors.  Every run can win.  Training and judging depend on seed,
 * data and plan alone, so a fit that was stopped continues to the same choice.
 */
#include "base/sized.h"
#include "fit/fit_files.h"
#include "fit/look.h"

#include "base/machine.h"
#include "base/path.h"
#include "data/missing.h"
#include "data/series.h"
#include "measure/late.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARALLEL_LEAST = 2,
    PARALLEL_MOST = 8,
    GPU_PARALLEL = 8,
    TRIALS_MOST = 64,
    VALIDATIONS = 4,
    DRAWS = 40,  /* of variations, until one is new */
    CHECKED = 8, /* runs at most whose long free runs are looked at */
};

/* Of a score: measures that are several times their floors. */
static const double FAR = 1.5;

void(antler_fit_opts_default)(antler_fit_opts *opts, size_t struct_size)
{
    const antler_fit_opts standard = {.validation = 0.2};
    ant_sized_default(&standard, sizeof standard, opts, struct_size);
}

void(antler_fit_events_default)(antler_fit_events *events, size_t struct_size)
{
    antler_fit_events standard = {0};
    antler_train_events_default(&standard.train);
    ant_sized_default(&standard, sizeof standard, events, struct_size);
}

typedef struct fit {
    const antler_fit_opts *opts;
    const antler_fit_events *events;
    antler_train_events
        train; /* of all trainings: those of `events`, without the notes that each would repeat */
    ant_fit_context context;
    antler_look look;
    antler_settings base;
    double validation; /* share that is held back */
    bool gpu;
    ant_fit_plan plan;
    ant_trial trials[TRIALS_MOST];
    size_t count;
    char folder[1400];
} fit;

/* ---- trials ------------------------------------------------------------------------------------------ */

static ant_trial *leader(fit *f)
{
    ant_trial *best = NULL;
    for (size_t i = 0; i < f->count; i++) {
        ant_trial *t = &f->trials[i];
        if (t->best > 0 && (best == NULL || ant_trial_score(t) < ant_trial_score(best)))
            best = t;
    }
    return best;
}

static antler_fit_note describe(fit *f, const ant_trial *t)
{
    const ant_trial *best = leader(f);
    antler_fit_note note = {.rung = t->rung,
                            .rungs = ANT_FIT_RUNGS,
                            .trial = t->number,
                            .trials = f->plan.rung[t->rung - 1].trials,
                            .settings = &t->candidate.settings,
                            .reason = t->candidate.reason,
                            .score = ant_trial_score(t),
                            .leads = t == best};
    if (t->best > 0) {
        const ant_validation_measures *m = &t->runs[t->best - 1].measures;
        note.dstsp = m->dstsp;
        note.hellinger = m->hellinger;
        note.prediction_error = m->prediction_error;
    }
    return note;
}

/* Complete the settings of a candidate for its place in the plan, and try it. */
static antler_status try_candidate(fit *f, size_t rung, size_t number, const ant_candidate *candidate)
{
    ANT_CHECK(f->count < TRIALS_MOST, ANTLER_ERROR_INTERNAL, "a fit has too many trials");
    ant_trial *t = &f->trials[f->count];
    *t = (ant_trial){.candidate = *candidate, .rung = rung, .number = number};
    antler_settings *s = &t->candidate.settings;
    s->runs = f->plan.rung[rung - 1].runs;
    s->updates = f->plan.rung[rung - 1].updates;
    s->checkpoint_interval = s->updates;
    s->validation_interval = (s->updates + VALIDATIONS - 1) / VALIDATIONS;
    snprintf(s->name, sizeof s->name, "try-%zu-%02zu", rung, number);
    ANT_TRY(ant_trial_create(t));
    f->count++;
    antler_fit_note note = describe(f, t);
    if (f->events != NULL && f->events->begin != NULL)
        f->events->begin(f->events->cookie, &note);
    const antler_status status = ant_trial_make(t, &f->context);
    note = describe(f, t);
    if (f->events != NULL && f->events->end != NULL && t->best > 0)
        f->events->end(f->events->cookie, &note);
    if (status >= ANTLER_OK)
        ANT_TRY(ant_fit_table_write(f->trials, f->count, f->folder));
    return status;
}

/* Equal but for the place of a trial: its name, its runs and its length. */
static bool same_settings(const antler_settings *a, const antler_settings *b)
{
    static const char *const place[] = {"name", "runs", "updates", "checkpoint_interval",
                                        "validation_interval"};
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const char *name = antler_setting_at(i)->name;
        char x[256] = "", y[256] = "";
        bool skip = false;
        for (size_t k = 0; k < sizeof place / sizeof place[0]; k++)
            skip = skip || strcmp(name, place[k]) == 0;
        if (skip || antler_settings_get(a, name, x, sizeof x) != ANTLER_OK ||
            antler_settings_get(b, name, y, sizeof y) != ANTLER_OK)
            continue;
        if (strcmp(x, y) != 0)
            return false;
    }
    return true;
}

/* Whether a variation can be trained, and differs from its origin and from all that this rung has tried. */
static bool is_new(const fit *f, const ant_candidate *c, const ant_candidate *from, size_t rung)
{
    if (same_settings(&c->settings, &from->settings) ||
        antler_settings_check(&c->settings, NULL) != ANTLER_OK)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        if (f->trials[i].rung == rung && same_settings(&f->trials[i].candidate.settings, &c->settings))
            return false;
    }
    return true;
}

/* A new variation; where many draws find none, the candidate itself, which then has the runs of two trials.
 */
static ant_candidate vary_anew(const fit *f, const ant_candidate *from, size_t rung, ant_stream *stream)
{
    for (size_t draw = 0; draw < DRAWS; draw++) {
        const ant_candidate c = ant_vary(&f->look, &from->settings, stream);
        if (is_new(f, &c, from, rung))
            return c;
    }
    return *from;
}

static antler_status first_rung(fit *f)
{
    const ant_candidate given = {.settings = f->base, .reason = "the given settings"};
    ant_stream stream = ant_stream_open(f->base.seed, 1, 0, ANT_PURPOSE_FIT);
    for (size_t i = 0; i < f->plan.rung[0].trials; i++) {
        ant_candidate c = given;
        if (!f->opts->around)
            c = ant_propose(&f->look, &f->base, i);
        else if (i > 0)
            c = vary_anew(f, &given, 1, &stream);
        ANT_TRY(try_candidate(f, 1, i + 1, &c));
    }
    return ANTLER_OK;
}

static int by_score(const void *a, const void *b)
{
    const double x = ant_trial_score(*(ant_trial *const *)a), y = ant_trial_score(*(ant_trial *const *)b);
    return (x > y) - (x < y);
}

/* The trials of a rung, the best first.  out: (TRIALS_MOST).  Returns how many there are. */
static size_t ranked(fit *f, size_t rung, ant_trial **out)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->trials[i].rung == rung)
            out[count++] = &f->trials[i];
    }
    qsort(out, count, sizeof *out, by_score);
    return count;
}

/* Half of the places for the leaders of the rung before, half for variations of the first. */
static antler_status later_rung(fit *f, size_t rung)
{
    ant_trial *order[TRIALS_MOST];
    const size_t before = ranked(f, rung - 1, order), trials = f->plan.rung[rung - 1].trials;
    const size_t kept = rung == ANT_FIT_RUNGS ? trials : (trials + 1) / 2;
    ant_stream stream = ant_stream_open(f->base.seed, (uint32_t)rung, 0, ANT_PURPOSE_FIT);
    for (size_t i = 0; i < trials; i++) {
        ant_candidate c = order[i < kept && i < before ? i : 0]->candidate;
        if (i >= kept)
            c = vary_anew(f, &order[0]->candidate, rung, &stream);
        ANT_TRY(try_candidate(f, rung, i + 1, &c));
    }
    return ANTLER_OK;
}

/* ---- the beginning ----------------------------------------------------------------------------------- */

/* Whether the first GPU can be used; otherwise a fit that may choose takes the CPU. */
static bool gpu_works(void)
{
    size_t gpus = 0;
    antler_device_info info;
    return antler_device_count(&gpus) == ANTLER_OK && gpus > 0 && antler_device_at(0, &info) == ANTLER_OK &&
           info.problem[0] == '\0';
}

static void choose_device(fit *f)
{
    if (f->opts->base != NULL)
        f->base = *f->opts->base;
    else
        antler_settings_default(&f->base);
    f->gpu = f->base.device == ANTLER_DEVICE_CUDA || (f->base.device == ANTLER_DEVICE_AUTO && gpu_works());
    f->base.device = f->gpu ? ANTLER_DEVICE_CUDA : ANTLER_DEVICE_CPU;
    f->base.validation = f->validation;
}

static size_t parallel_runs(const fit *f)
{
    const size_t threads = (size_t)ant_threads_resolve((int)f->base.threads);
    if (f->gpu)
        return GPU_PARALLEL;
    return threads < PARALLEL_LEAST ? PARALLEL_LEAST : threads > PARALLEL_MOST ? PARALLEL_MOST : threads;
}

static antler_status make_plan(fit *f)
{
    bool found = false;
    double seconds[TRIALS_MOST];
    const size_t count = ant_propose_count(&f->look), parallel = parallel_runs(f);
    const double minutes = f->opts->minutes > 0.0 ? f->opts->minutes
                           : f->gpu               ? 2.0
                                                  : 5.0,
                 begun = ant_seconds();
    ANT_TRY(ant_fit_plan_read(&f->plan, f->folder, &found));
    if (found)
        return ANTLER_OK;
    for (size_t i = 0; i < count; i++) {
        ant_candidate c = ant_propose(&f->look, &f->base, i);
        c.settings.runs = parallel;
        if (!f->opts->around || i == 0)
            ANT_TRY(ant_fit_time(f->opts->around ? &f->base : &c.settings, f->context.series, 60.0 * minutes,
                                 &seconds[i]));
        else
            seconds[i] = seconds[0];
    }
    /* compiling kernels and timing are part of the budget, up to half of it */
    const double left = fmax(60.0 * minutes - (ant_seconds() - begun), 30.0 * minutes);
    f->plan = ant_fit_plan_make(left, seconds, count, parallel);
    ANT_TRY(ant_path_make_folders(f->folder));
    return ant_fit_plan_write(&f->plan, f->folder);
}

/* Name the trajectories that are too short for the windows of every first candidate. */
static void note_unused(const fit *f, const antler_series *series)
{
    char text[1000];
    antler_settings shortest = f->opts->around ? f->base : ant_propose(&f->look, &f->base, 0).settings;
    for (size_t i = 1; !f->opts->around && i < ant_propose_count(&f->look); i++) {
        const size_t length = ant_propose(&f->look, &f->base, i).settings.sequence_length;
        if (length < shortest.sequence_length)
            shortest.sequence_length = length;
    }
    if (f->events != NULL && f->events->train.note != NULL &&
        antler_settings_unused(&shortest, series, text, sizeof text))
        f->events->train.note(f->events->train.cookie, text);
}

static antler_status begin(fit *f, const antler_series *series)
{
    choose_device(f);
    const int length = snprintf(f->folder, sizeof f->folder, "%s/%s", f->base.results, f->base.experiment);
    ANT_CHECK(length > 0 && (size_t)length < sizeof f->folder - 64, ANTLER_ERROR_ARGUMENT,
              "results: the path is too long");
    ANT_TRY(antler_look_at(series, &f->look));
    if (f->events != NULL && f->events->looked != NULL)
        f->events->looked(f->events->cookie, &f->look);
    note_unused(f, series);
    return make_plan(f);
}

/* ---- the end ----------------------------------------------------------------------------------------- */

static antler_status load_best(const ant_trial *trial, antler_model **model)
{
    char path[1500];
    ANT_TRY(ant_trial_best(trial, trial->best, sizeof path, path));
    return antler_model_load(path, model);
}

/* The leader, if its long free runs stay; else the first run after it whose do; else the leader all the same.
 */
static antler_status choose_winner(fit *f, ant_trial **winner)
{
    ant_trial *first = leader(f);
    if (first == NULL || !isfinite(ant_trial_score(first)))
        return ant_fail(ANTLER_DIVERGED,
                        "every model that was tried diverged; look at the data (antler info), "
                        "or raise the budget");
    const size_t run = first->best;
    const double score = ant_trial_score(first);
    *winner = first;
    for (size_t i = 0; i < CHECKED && isfinite(ant_trial_score(*winner)); i++) {
        antler_model *model = NULL;
        bool stays = false;
        ANT_TRY(load_best(*winner, &model));
        const antler_status status =
            ant_validation_stays(model, f->context.held_back, &f->context.opts, &stays);
        antler_model_free(model);
        ANT_TRY(status);
        if (stays)
            return ANTLER_OK;
        ant_trial_drop_best(*winner);
        *winner = leader(f);
    }
    *winner = first;
    first->best = run;
    first->runs[run - 1].score = score;
    return ANTLER_OK;
}

/* A model that is not good after short trainings needs longer ones before it needs other settings. */
static void advise_time(const fit *f, antler_verdict *verdict)
{
    antler_settings standard;
    size_t longest = 0;
    antler_settings_default(&standard);
    for (size_t i = 0; i < f->count; i++) {
        const size_t updates = f->trials[i].candidate.settings.updates;
        longest = updates > longest ? updates : longest;
    }
    const bool of_the_data =
        verdict->kind == ANTLER_VERDICT_TOO_SHORT || verdict->kind == ANTLER_VERDICT_NOISE;
    if (verdict->kind == ANTLER_VERDICT_GOOD || of_the_data || longest >= standard.updates / 4)
        return;
    char other[sizeof verdict->advice];
    snprintf(other, sizeof other, "%s", verdict->advice);
    const int used =
        snprintf(verdict->advice, sizeof verdict->advice,
                 "Give the fit more minutes: its longest training had %zu updates, and a training "
                 "alone has %zu by default. ",
                 longest, standard.updates);
    if (strlen(other) < sizeof verdict->advice - (size_t)used)
        memcpy(verdict->advice + used, other, strlen(other) + 1);
}

static antler_status judge_winner(const fit *f, const ant_trial *best, antler_verdict *verdict)
{
    antler_model *model = NULL;
    antler_floors floors = {0};
    ANT_TRY(load_best(best, &model));
    const ant_fit_context *c = &f->context;
    antler_status status =
        antler_verdict_on(model, c->held_back, NULL, (int)f->base.threads, &floors, verdict);
    if (status == ANTLER_OK && c->whole.rows > 0)
        status = ant_verdict_check_whole(model, c->series, c->halves, &c->whole, verdict);
    antler_model_free(model);
    if (status == ANTLER_OK) {
        ant_verdict_on_slow(antler_series_total_length(f->context.held_back), f->look.slow, verdict);
        advise_time(f, verdict);
    }
    return status;
}

static antler_status finish(fit *f, antler_fit_result *result)
{
    ant_trial *best = NULL;
    ANT_TRY(choose_winner(f, &best));
    *result = (antler_fit_result){.struct_size = sizeof *result,
                                  .look = f->look,
                                  .run = best->best,
                                  .validation = f->validation,
                                  .score = ant_trial_score(best),
                                  .trials = f->count};
    const ant_validation_measures *m = &best->runs[best->best - 1].measures, *floor = &f->context.floor;
    result->dstsp = m->dstsp, result->dstsp_floor = floor->dstsp;
    result->hellinger = m->hellinger, result->hellinger_floor = floor->hellinger;
    result->prediction_error = m->prediction_error, result->prediction_error_floor = floor->prediction_error;
    snprintf(result->reason, sizeof result->reason, "%s", best->candidate.reason);
    snprintf(result->folder, sizeof result->folder, "%s", f->folder);
    ANT_TRY(ant_trial_folder(best, best->best, sizeof result->run_folder, result->run_folder));
    ANT_TRY(judge_winner(f, best, &result->verdict));
    return ant_fit_winner_write(best, f->folder);
}

/* Where the leader is far from the floors, the last rung trains it alone, and longer in place of twice. */
static void focus_last_rung(fit *f)
{
    const ant_trial *best = leader(f);
    if (best != NULL && ant_trial_score(best) > FAR)
        ant_fit_plan_focus(&f->plan);
}

static antler_status rungs(fit *f)
{
    ANT_TRY(first_rung(f));
    for (size_t rung = 2; rung <= ANT_FIT_RUNGS; rung++) {
        if (rung == ANT_FIT_RUNGS)
            focus_last_rung(f);
        ANT_TRY(later_rung(f, rung));
    }
    return ANTLER_OK;
}

/* What is measured on all rows, where half of them are enough for a floor. */
static antler_status choose_whole(fit *f, const antler_series *series)
{
    ant_validation_opts *whole = &f->context.whole;
    const size_t half = antler_series_length(series, ant_series_longest(series)) / 2;
    if (half < ant_validation_rows_needed(antler_series_dim(series)))
        return ANTLER_OK;
    ANT_TRY(ant_validation_choose(series, whole));
    whole->rows = whole->rows > ANT_WHOLE_ROWS ? whole->rows : ANT_WHOLE_ROWS;
    return ANTLER_OK;
}

static antler_status fit_all(fit *f, const antler_series *series, antler_fit_result *result)
{
    ANT_TRY(ant_validation_choose(f->context.held_back, &f->context.opts));
    ANT_TRY(choose_whole(f, series));
    ANT_TRY(begin(f, series));
    f->context.opts.threads = f->context.whole.threads = (int)f->base.threads;
    f->context.opts.late = ANT_LATE_STEPS;
    const antler_status status = rungs(f);
    if (status < ANTLER_OK)
        return status;
    ANT_TRY(finish(f, result));
    return status == ANTLER_CANCELLED ? ant_fail(status, "the fit was stopped") : ANTLER_OK;
}

/*
 * The share of the rows that is held back: that of the options or, where it leaves too few rows to judge a
 * model by and half of the rows are enough, the smallest share that does.
 */
static double choose_share(const antler_series *series, double share)
{
    const size_t needed = ant_validation_rows_needed(antler_series_dim(series));
    const size_t longest = antler_series_length(series, ant_series_longest(series));
    if (ant_series_last_rows(longest, share) >= needed || 2 * needed > longest)
        return share;
    return (double)(needed + 1) / (double)longest;
}

/* Faults of the data are named with their file and column, before a part of the rows is measured. */
static antler_status check_series(const antler_series *series, double share)
{
    const size_t dim = antler_series_dim(series), needed = ant_validation_rows_needed(dim);
    ANT_TRY(ant_series_check_gaps(series, 2, true));
    ANT_TRY(ant_series_check_squares(series));
    const size_t longest = antler_series_length(series, ant_series_longest(series));
    ANT_CHECK(
        ant_series_last_rows(longest, share) >= needed, ANTLER_ERROR_DATA,
        "%s: %zu rows are too few for a fit of %zu variable%s: %zu held-back rows judge it, and as many "
        "train it; give %zu rows or more",
        antler_series_origin(series, 0)[0] == '\0' ? "the series" : antler_series_origin(series, 0), longest,
        dim, dim == 1 ? "" : "s", needed, 2 * needed);
    return ANTLER_OK;
}

/* A column may be constant in one of the two parts alone. */
static antler_status check_parts(const antler_series *others, const antler_series *held_back)
{
    antler_status status = ant_series_check_gaps(others, 1, true);
    if (status != ANTLER_OK)
        return ant_fail_within(status, "the rows before those held back");
    status = ant_series_check_gaps(held_back, 1, true);
    return status == ANTLER_OK ? status : ant_fail_within(status, "the held-back rows");
}

static antler_status fit_series(const antler_series *series, const antler_fit_opts *opts,
                                const antler_fit_events *events, antler_fit_result *result)
{
    antler_series *others = NULL, *held_back = NULL, *halves[2] = {NULL, NULL};
    ANT_CHECK(opts->validation > 0.0 && opts->validation < 1.0, ANTLER_ERROR_ARGUMENT,
              "validation: a share between 0 and 1, not %g", opts->validation);
    ANT_CHECK(opts->base == NULL || opts->base->validation_data[0] == '\0', ANTLER_ERROR_ARGUMENT,
              "validation_data is set, but a fit judges on a share of the data; leave it out");
    ANT_TRY(check_series(series, choose_share(series, opts->validation)));
    fit *f = calloc(1, sizeof *f);
    if (f == NULL)
        return ant_fail_memory(sizeof *f, "a fit");
    f->opts = opts;
    f->events = events;
    f->validation = choose_share(series, opts->validation);
    if (events != NULL)
        f->train = events->train;
    f->train.note = NULL;
    antler_status status = ant_series_split(series, f->validation, &others, &held_back);
    if (status == ANTLER_OK)
        status = check_parts(others, held_back);
    if (status == ANTLER_OK)
        status = ant_series_split(series, 0.5, &halves[0], &halves[1]);
    f->context = (ant_fit_context){.series = series,
                                   .held_back = held_back,
                                   .others = others,
                                   .halves = {halves[0], halves[1]},
                                   .events = events == NULL ? NULL : &f->train};
    if (status == ANTLER_OK)
        status = fit_all(f, series, result);
    for (size_t i = 0; i < f->count; i++)
        ant_trial_free(&f->trials[i]);
    antler_series_free(halves[1]);
    antler_series_free(halves[0]);
    antler_series_free(held_back);
    antler_series_free(others);
    free(f);
    return status;
}

antler_status(antler_fit)(const antler_series *series, const antler_fit_opts *opts,
                          const antler_fit_events *events, antler_fit_result *result, size_t struct_size)
{
    ANT_NEED(series != NULL && opts != NULL && result != NULL);
    ANT_RESULT(antler_fit_result, result, struct_size, antler_fit(series, opts, events, &whole), (void)0);
    ANT_OPTIONS(antler_fit_opts, opts);
    ANT_OPTIONS(antler_fit_events, events);
    if (events != NULL)
        ANT_PART(antler_train_events, &events->train);
    const antler_settings *base = opts->base;
    ANT_OPTIONS(antler_settings, base);
    antler_fit_opts own = *opts;
    own.base = base;
    return fit_series(series, &own, events, result);
}
