/* budget.c - how much each rung of a fit trains: timed, rounded, and kept in plan.csv. */
#include "fit/budget.h"

#include "base/machine.h"
#include "base/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Shares of the budget: the first rung is wide, the last one refines.  The rest is for judging. */
static const double SHARE[ANT_FIT_RUNGS] = {0.3, 0.3, 0.33};

enum {
    FEWEST_TRIALS = 4,     /* of the first rung */
    LATER_TRIALS = 6,      /* at most, of the second: half of them lead, half vary the leader */
    LAST_TRIALS = 2,       /* at most */
    FEWEST_UPDATES = 200,  /* of any run */
    ENOUGH_UPDATES = 1500, /* below it, fewer candidates are tried instead of shorter */
    MOST_UPDATES = 40000,  /* more never helped */
    MOST_RUNS = 4,         /* times those that run side by side */
    FEWEST_TIMED = 16,     /* updates that are timed, more until they take long enough */
    MOST_TIMED = 16384,
};

/* Of the budget, for each timing; short ones are too slow by a factor of two, long ones waste the budget. */
static const double TIMED_SHARE = 0.003, TIMED_LEAST = 0.05, TIMED_MOST = 0.5; /* seconds */

static size_t round_updates(double updates)
{
    const double limited = fmin(fmax(updates, FEWEST_UPDATES), MOST_UPDATES);
    return (size_t)(limited / 100.0) * 100;
}

static double sum_of(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* As many candidates as can be trained long enough. */
static ant_fit_rung plan_first(double budget, const double *seconds, size_t count, size_t parallel)
{
    ant_fit_rung rung = {count, parallel, 0};
    while (rung.trials > FEWEST_TRIALS && budget / sum_of(seconds, rung.trials) < ENOUGH_UPDATES)
        rung.trials--;
    rung.updates = round_updates(budget / sum_of(seconds, rung.trials));
    return rung;
}

/* Twice the updates of the rung before; what is left of the budget goes into trials, then into runs, then
 * into longer training. */
static ant_fit_rung plan_later(double budget, double seconds, size_t updates, size_t most, size_t parallel)
{
    const double twice = 2.0 * (double)updates, times = budget / (seconds * twice);
    const double trials = fmin(fmax(floor(times), 1.0), (double)most);
    const double more = fmin(fmax(floor(times / trials), 1.0), MOST_RUNS);
    return (ant_fit_rung){(size_t)trials, parallel * (size_t)more,
                          round_updates(twice * fmax(times / (trials * more), 1.0))};
}

ant_fit_plan ant_fit_plan_make(double budget, const double *seconds, size_t count, size_t parallel)
{
    ant_fit_plan plan;
    plan.rung[0] = plan_first(SHARE[0] * budget, seconds, count, parallel);
    const size_t tried = plan.rung[0].trials;
    const double mean = sum_of(seconds, tried) / (double)tried;
    plan.rung[1] = plan_later(SHARE[1] * budget, mean, plan.rung[0].updates, LATER_TRIALS, parallel);
    plan.rung[2] = plan_later(SHARE[2] * budget, mean, plan.rung[1].updates, LAST_TRIALS, parallel);
    return plan;
}

void ant_fit_plan_focus(ant_fit_plan *plan)
{
    ant_fit_rung *last = &plan->rung[ANT_FIT_RUNGS - 1];
    const size_t parallel = plan->rung[0].runs, times = last->trials * last->runs / parallel;
    *last = (ant_fit_rung){1, parallel, round_updates((double)times * (double)last->updates)};
}

static double rounded(double seconds)
{
    return exp2(round(2.0 * log2(seconds)) / 2.0);
}

/* Seconds of a whole training of `updates` updates. */
static antler_status time_training(const antler_settings *settings, const antler_series *series,
                                   size_t updates, double *seconds)
{
    antler_settings s = *settings;
    antler_trainer *trainer = NULL;
    s.updates = updates;
    s.validation = 0.0; /* its time is planned for apart */
    ANT_TRY(antler_trainer_create(&s, series, &trainer));
    const double begun = ant_seconds();
    const antler_status status = antler_trainer_run(trainer, NULL, NULL);
    *seconds = ant_seconds() - begun;
    antler_trainer_free(trainer);
    return status < ANTLER_OK ? status : ANTLER_OK;
}

antler_status ant_fit_time(const antler_settings *settings, const antler_series *series, double budget,
                           double *seconds)
{
    const double enough = fmin(fmax(TIMED_SHARE * budget, TIMED_LEAST), TIMED_MOST);
    double one = 0.0, all = 0.0;
    size_t updates = FEWEST_TIMED;
    ANT_TRY(time_training(settings, series, 1, &one)); /* kernels are compiled here */
    ANT_TRY(time_training(settings, series, 1, &one));
    for (; all < enough && updates <= MOST_TIMED; updates *= 4)
        ANT_TRY(time_training(settings, series, updates + 1, &all));
    *seconds = rounded(fmax(all - one, 1e-6) / (double)(updates / 4));
    return ANTLER_OK;
}

static antler_status plan_path(const char *folder, size_t bytes, char *path)
{
    const int length = snprintf(path, bytes, "%s/plan.csv", folder);
    ANT_CHECK(length > 0 && (size_t)length < bytes, ANTLER_ERROR_ARGUMENT, "results: the path is too long");
    return ANTLER_OK;
}

antler_status ant_fit_plan_write(const ant_fit_plan *plan, const char *folder)
{
    char path[1500], text[256] = "trials,runs,updates\n";
    ANT_TRY(plan_path(folder, sizeof path, path));
    for (size_t i = 0; i < ANT_FIT_RUNGS; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%zu,%zu,%zu\n", plan->rung[i].trials, plan->rung[i].runs,
                 plan->rung[i].updates);
    }
    return antler_write_file(path, text);
}

antler_status ant_fit_plan_read(ant_fit_plan *plan, const char *folder, bool *found)
{
    char path[1500];
    antler_series *table = NULL;
    double x[ANT_FIT_RUNGS][3];
    ANT_TRY(plan_path(folder, sizeof path, path));
    ANT_TRY(ant_path_exists(path, found));
    if (!*found)
        return ANTLER_OK;
    const char *const paths[] = {path};
    antler_load_opts opts;
    antler_load_opts_default(&opts);
    opts.time = "none";
    ANT_TRY(antler_series_load(paths, 1, &opts, &table));
    const bool fits = antler_series_dim(table) == 3 && antler_series_length(table, 0) == ANT_FIT_RUNGS;
    const antler_status status = fits ? antler_series_read_f64(table, 0, 0, ANT_FIT_RUNGS, x[0], NULL)
                                      : ant_fail(ANTLER_ERROR_FORMAT, "%s: is no plan of a fit", path);
    antler_series_free(table);
    for (size_t i = 0; i < ANT_FIT_RUNGS && status == ANTLER_OK; i++)
        plan->rung[i] = (ant_fit_rung){(size_t)x[i][0], (size_t)x[i][1], (size_t)x[i][2]};
    return status;
}
