/* trial.c - train the runs of one candidate in their folder, and judge them on held-back rows. */
#include "fit/trial.h"
#include "base/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below the floors scores are equal; this share of the differences there still decides between equals. */
static const double SHARE_BELOW_FLOOR = 0.01;

antler_status ant_trial_create(ant_trial *trial)
{
    const size_t runs = trial->candidate.settings.runs;
    trial->best = 0;
    trial->runs = malloc(runs * sizeof *trial->runs);
    if (trial->runs == NULL)
        return ant_fail_memory(runs * sizeof *trial->runs, "the runs of a trial");
    for (size_t i = 0; i < runs; i++)
        trial->runs[i].score = NAN;
    return ANTLER_OK;
}

void ant_trial_free(ant_trial *trial)
{
    free(trial->runs);
    trial->runs = NULL;
}

double ant_trial_score(const ant_trial *trial)
{
    return trial->best == 0 ? INFINITY : trial->runs[trial->best - 1].score;
}

void ant_trial_drop_best(ant_trial *trial)
{
    trial->runs[trial->best - 1].score = INFINITY;
    for (size_t i = 0; i < trial->candidate.settings.runs; i++) {
        if (trial->runs[i].score < ant_trial_score(trial))
            trial->best = i + 1;
    }
}

/* <results>/<experiment>/<name>, and below it the run; run 0: without it */
antler_status ant_trial_folder(const ant_trial *trial, size_t run, size_t bytes, char *path)
{
    const antler_settings *s = &trial->candidate.settings;
    const int length = run == 0
                           ? snprintf(path, bytes, "%s/%s/%s", s->results, s->experiment, s->name)
                           : snprintf(path, bytes, "%s/%s/%s/%03zu", s->results, s->experiment, s->name, run);
    ANT_CHECK(length > 0 && (size_t)length < bytes, ANTLER_ERROR_ARGUMENT, "results: the path is too long");
    return ANTLER_OK;
}

antler_status ant_trial_best(const ant_trial *trial, size_t run, size_t bytes, char *path)
{
    static const char name[] = "/best.npz";
    ANT_TRY(ant_trial_folder(trial, run, bytes - sizeof name, path));
    memcpy(path + strlen(path), name, sizeof name);
    return ANTLER_OK;
}

/* With the weights of the score. */
static double total(const ant_validation_measures *m)
{
    return log(fmax(m->dstsp, 1e-4)) + log(fmax(m->hellinger, 1e-4)) +
           ANT_PREDICTION_SHARE * log(fmax(m->prediction_error, 1e-8));
}

static const ant_validation_measures unknown = {NAN, NAN, NAN};

static antler_status find_floors(const antler_model *model, ant_fit_context *context)
{
    context->whole_floor = unknown;
    ANT_TRY(
        ant_validation_floor(model, context->held_back, context->others, &context->opts, &context->floor));
    if (context->whole.rows > 0)
        ANT_TRY(ant_validation_floor(model, context->halves[1], context->halves[0], &context->whole,
                                     &context->whole_floor));
    context->whole_floor.prediction_error = NAN; /* of rows that were trained on it says nothing */
    context->has_floor = true;
    return ANTLER_OK;
}

/* Held-back rows are few: a model whose rate never changes is right for them, and wrong for all rows.  So
 * D_stsp and D_H also count on all rows, of which a free run uses no more than its start. */
static antler_status judge(const antler_model *model, ant_fit_context *context, ant_fit_run *run)
{
    if (!context->has_floor)
        ANT_TRY(find_floors(model, context));
    run->whole = unknown;
    ANT_TRY(ant_validation_measure(model, context->held_back, &context->opts, &run->measures));
    if (context->whole.rows > 0 && isfinite(run->measures.dstsp))
        ANT_TRY(ant_validation_compare(model, context->series, &context->whole, &run->whole));
    run->score =
        ant_validation_score_both(&run->measures, &context->floor, &run->whole, &context->whole_floor);
    if (isfinite(run->score))
        run->score += SHARE_BELOW_FLOOR * (total(&run->measures) - total(&context->floor));
    return ANTLER_OK;
}

/* Judge the best model of every run. */
static antler_status judge_runs(ant_trial *trial, ant_fit_context *context)
{
    for (size_t i = 0; i < trial->candidate.settings.runs; i++) {
        char path[1500];
        bool exists = false;
        antler_model *model = NULL;
        ANT_TRY(ant_trial_best(trial, i + 1, sizeof path, path));
        ANT_TRY(ant_path_exists(path, &exists));
        if (!exists)
            continue; /* stopped or diverged before its first validation */
        ANT_TRY(antler_model_load(path, &model));
        const antler_status status = judge(model, context, &trial->runs[i]);
        antler_model_free(model);
        ANT_TRY(status);
        if (trial->best == 0 || trial->runs[i].score < ant_trial_score(trial))
            trial->best = i + 1;
    }
    return ANTLER_OK;
}

static antler_status train(const ant_trial *trial, const ant_fit_context *context)
{
    char path[1500];
    bool begun = false;
    ANT_TRY(ant_trial_folder(trial, 0, sizeof path, path));
    const antler_settings *s = &trial->candidate.settings;
    ANT_TRY(antler_train_begun(path, s->runs, &begun));
    return begun ? antler_train_resume_series(path, s, context->series, context->events, NULL)
                 : antler_train_series(s, context->series, 0, false, context->events, NULL);
}

antler_status ant_trial_make(ant_trial *trial, ant_fit_context *context)
{
    const antler_status trained = train(trial, context);
    if (trained < ANTLER_OK)
        return trained;
    ANT_TRY(judge_runs(trial, context));
    return trained == ANTLER_CANCELLED ? ant_fail(trained, "the fit was stopped") : ANTLER_OK;
}
