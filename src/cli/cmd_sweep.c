/* cmd_sweep.c - `antler sweep`: every combination of a grid, with all its runs, and their statistics. */
#include "cli/command.h"
#include "cli/loss_log.h"
#include "cli/measuring.h"
#include "cli/next.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/sweep.h"
#include "cli/training.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct settings {
    cli_list set;
    cli_measuring measuring;
    bool resume, overwrite, share, leave, list, quiet;
    double lease;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"set", CLI_ASSIGN, "NAME=VALUE", "Change a setting that is not in the grid; may be repeated.", AT(set),
     NULL},
    {"resume", CLI_FLAG, NULL, "Continue a stopped sweep; finished runs are kept.", AT(resume), NULL},
    {"overwrite", CLI_FLAG, NULL, "Replace runs of the same name.", AT(overwrite), NULL},
    {"share", CLI_FLAG, NULL,
     "Work on the sweep together with all other processes, on any number of machines, that are given the "
     "same "
     "command and see the same folder. Runs that are there go on.",
     AT(share), NULL},
    {"lease", CLI_REAL, "SECONDS",
     "With --share: a run is taken over when its owner on another machine has not renewed its lease for so "
     "long. Default 300.",
     AT(lease), NULL},
    {"leave", CLI_FLAG, NULL,
     "With --share: end when others have all that is left. Otherwise wait for them, take over what a dead "
     "one "
     "leaves, and end when the sweep is complete.",
     AT(leave), NULL},
    {"list", CLI_FLAG, NULL, "Print the combinations and train nothing.", AT(list), NULL},
    CLI_MEASURING_OPTIONS(settings, measuring),
    {"quiet", CLI_FLAG, NULL, "No progress and no summary.", AT(quiet), NULL},
};
#undef AT

/* A sweep and its test data. */
typedef struct work {
    const settings *given;
    cli_sweep_table sweep;
    const antler_series *test; /* NULL: none */
    uint64_t stamp;            /* of the test data and the options of an evaluation */
    antler_floors floors;      /* of the test data; rows is 0 before the first evaluation */
    char folder[1400];
    bool stopped;
    bool *done;  /* (combinations, runs), of a shared sweep: the row of the run is complete */
    char *shown; /* what was last said about the runs of others; NULL: nothing */
} work;

/* The options of `antler evaluate` at their defaults. */
static antler_evaluate_opts evaluate_opts(const settings *given)
{
    antler_evaluate_opts opts;
    antler_evaluate_opts_default(&opts);
    opts.measure = given->measuring.opts;
    return opts;
}

/* Write metrics.json; without it where another process has taken the claim over.  claim: NULL in a sweep of
   one process. */
static int write_evaluation(const cli_evaluation *evaluation, antler_claim *claim, bool *judged)
{
    *judged = claim == NULL || antler_claim_check(claim) == ANTLER_OK;
    if (!*judged) {
        fprintf(stderr, "antler: %s\n", antler_message());
        return CLI_DONE;
    }
    json_t *json = cli_evaluation_json(evaluation);
    const int code = cli_evaluation_write(evaluation, json);
    json_decref(json);
    return code;
}

static int evaluate_run(work *w, const char *folder, cli_stamp stamp, antler_claim *claim, cli_sweep_run *run,
                        bool *judged)
{
    antler_model *model = NULL;
    antler_evaluate_opts opts = evaluate_opts(w->given);
    antler_evaluate_result result = {0};
    cli_progress progress;
    opts.measure.progress = cli_progress_begin(&progress, w->given->quiet);
    cli_loss_log log = {0};
    int code = cli_loss_log_read(folder, &log);
    opts.training = &log.curve;
    opts.floors = w->floors.rows > 0 ? &w->floors : NULL;
    antler_status status = code == CLI_DONE ? antler_model_load(folder, &model) : ANTLER_OK;
    if (status == ANTLER_OK && model != NULL)
        status = antler_evaluate(model, w->test, &opts, &result);
    cli_progress_end(&progress);
    if (code != CLI_DONE) {
        /* the fault has been printed */
    } else if (status >= ANTLER_OK && status != ANTLER_CANCELLED) {
        const cli_evaluation evaluation = {folder, model, w->test, &opts, &result, stamp};
        memcpy(run->of + CLI_SWEEP_TRAINING, result.values, sizeof result.values);
        run->diverged = result.diverged;
        w->floors = result.floors;
        code = write_evaluation(&evaluation, claim, judged);
    } else if (status != ANTLER_CANCELLED) {
        code = cli_fail(status);
    }
    antler_evaluate_result_clear(&result);
    antler_model_free(model);
    cli_loss_log_free(&log);
    return code;
}

/* Take an evaluation on disk that is still valid, or make it. */
static int judge_run(work *w, const char *folder, cli_sweep_run *run)
{
    cli_stamp stamp;
    const int code = cli_stamp_run(w->stamp, folder, &stamp);
    const antler_evaluate_opts opts = evaluate_opts(w->given);
    if (code != CLI_DONE)
        return code;
    if (cli_evaluation_read(folder, &stamp, &opts, run->of + CLI_SWEEP_TRAINING, &run->diverged) ||
        cli_stop_requested())
        return CLI_DONE;
    bool judged = false;
    return evaluate_run(w, folder, stamp, NULL, run, &judged);
}

/* A training that diverged is not evaluated: all its measures count as infinite. */
static void mark_diverged(const work *w, cli_sweep_run *run)
{
    const antler_evaluate_opts opts = evaluate_opts(w->given);
    for (size_t m = 0; m < antler_measure_count(); m++) {
        if (antler_evaluate_wants(&opts, m))
            run->of[CLI_SWEEP_TRAINING + m] = antler_measure_worst(m);
    }
}

/* Metrics of all runs of a combination that has been trained. */
static int judge(work *w, size_t combination, const char *folder)
{
    int code = CLI_DONE;
    for (size_t r = 0; r < w->sweep.runs && code == CLI_DONE; r++) {
        char path[1500];
        cli_sweep_run *run = &w->sweep.of[combination * w->sweep.runs + r];
        snprintf(path, sizeof path, "%.1400s/%03zu", folder, r + 1);
        code = cli_sweep_read_run(path, run);
        if (code != CLI_DONE)
            break;
        if (w->test != NULL && run->diverged)
            mark_diverged(w, run);
        else if (w->test != NULL)
            code = judge_run(w, path, run);
    }
    w->stopped = w->stopped || cli_stop_requested();
    return code == CLI_DONE ? cli_sweep_write(&w->sweep) : code;
}

static int train_one(work *w, size_t combination)
{
    antler_settings one;
    antler_status status = antler_grid_settings(w->sweep.grid, combination, &one);
    if (status != ANTLER_OK)
        return cli_fail(status);
    char folder[1400], label[200];
    snprintf(folder, sizeof folder, "%.1200s/%s", w->folder, one.name);
    snprintf(label, sizeof label, "[%zu/%zu] %.150s: ", combination + 1, antler_grid_count(w->sweep.grid),
             one.name);
    cli_training training;
    antler_train_result result = {.finished = 0};
    cli_training_begin(&training, w->given->quiet, label);
    const antler_train_events events = cli_training_events(&training);
    bool begun = false;
    if (w->given->resume)
        status = antler_train_begun(folder, w->sweep.runs, &begun);
    if (status == ANTLER_OK)
        status = begun ? antler_train_resume(folder, &one, &events, &result)
                       : antler_train(&one, 0, w->given->overwrite, &events, &result);
    cli_training_end(&training);
    w->stopped = status == ANTLER_CANCELLED;
    if (status != ANTLER_OK && status != ANTLER_DIVERGED && !w->stopped)
        return cli_fail(status);
    return w->stopped ? CLI_DONE : judge(w, combination, folder);
}

/* ---- a sweep that processes share -------------------------------------------------------------------- */

/* The evaluation of a run that has ended, by this process or another.  *judged: it is there. */
static int judge_shared(work *w, const char *folder, cli_sweep_run *run, bool *judged)
{
    cli_stamp stamp;
    antler_claim *claim = NULL;
    const antler_evaluate_opts opts = evaluate_opts(w->given);
    double *measures = run->of + CLI_SWEEP_TRAINING;
    int code = cli_sweep_read_run(folder, run);
    *judged = w->test == NULL || run->diverged;
    if (w->test != NULL && run->diverged)
        mark_diverged(w, run);
    if (code != CLI_DONE || *judged)
        return code;
    code = cli_stamp_run(w->stamp, folder, &stamp);
    *judged = code == CLI_DONE && cli_evaluation_read(folder, &stamp, &opts, measures, &run->diverged);
    if (code != CLI_DONE || *judged || cli_stop_requested())
        return code;
    const antler_status status = antler_claim_take(folder, w->given->lease, &claim);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (claim != NULL) { /* another process may have made it just before */
        *judged = cli_evaluation_read(folder, &stamp, &opts, measures, &run->diverged);
        code = *judged ? CLI_DONE : evaluate_run(w, folder, stamp, claim, run, judged);
    }
    antler_claim_release(claim);
    return code;
}

/* What remains of a shared sweep, after one pass over it. */
typedef struct leftover {
    size_t held, open; /* runs with others, and runs that can be taken */
    FILE *others;      /* who has which */
} leftover;

static int look_at_run(work *w, size_t number, const char *folder, leftover *rest)
{
    antler_claim_state state = ANTLER_CLAIM_OPEN;
    char holder[160];
    const antler_status status = antler_claim_look(folder, &state, holder, sizeof holder);
    if (status != ANTLER_OK)
        return cli_fail(status);
    const int code = state == ANTLER_CLAIM_ENDED
                         ? judge_shared(w, folder, &w->sweep.of[number], &w->done[number])
                         : CLI_DONE;
    if (w->done[number])
        return code;
    holder[strcspn(holder, ",")] = '\0'; /* ages change all the time */
    if (state != ANTLER_CLAIM_OPEN)
        fprintf(rest->others, "  %s: %s\n", folder, holder[0] == '\0' ? "another process" : holder);
    rest->held += state != ANTLER_CLAIM_OPEN;
    rest->open += state == ANTLER_CLAIM_OPEN;
    return code;
}

/* Train and judge what can be taken of one combination. */
static int share_one(work *w, size_t combination, leftover *rest)
{
    antler_settings one;
    char folder[1400], label[200];
    bool done = true;
    for (size_t r = 0; r < w->sweep.runs; r++)
        done = done && w->done[combination * w->sweep.runs + r];
    if (done)
        return CLI_DONE;
    antler_status status = antler_grid_settings(w->sweep.grid, combination, &one);
    if (status != ANTLER_OK)
        return cli_fail(status);
    snprintf(folder, sizeof folder, "%.1200s/%s", w->folder, one.name);
    snprintf(label, sizeof label, "[%zu/%zu] %.150s: ", combination + 1, antler_grid_count(w->sweep.grid),
             one.name);
    cli_training training;
    cli_training_begin(&training, w->given->quiet, label);
    training.shared = true;
    const antler_train_events events = cli_training_events(&training);
    status = antler_train_shared(&one, w->given->lease, &events, NULL);
    cli_training_end(&training);
    w->stopped = status == ANTLER_CANCELLED;
    if (status != ANTLER_OK && status != ANTLER_DIVERGED && !w->stopped)
        return cli_fail(status);
    int code = CLI_DONE;
    for (size_t r = 0; r < w->sweep.runs && code == CLI_DONE && !w->stopped; r++) {
        char run[1500];
        const size_t number = combination * w->sweep.runs + r;
        snprintf(run, sizeof run, "%.1400s/%03zu", folder, r + 1);
        code = w->done[number] ? CLI_DONE : look_at_run(w, number, run, rest);
        w->stopped = w->stopped || cli_stop_requested();
    }
    return code;
}

/* One pass over all combinations; what others have is said when it has changed. */
static int share_pass(work *w, leftover *rest)
{
    char *text = NULL;
    size_t bytes = 0;
    int code = CLI_DONE;
    *rest = (leftover){.others = open_memstream(&text, &bytes)};
    if (rest->others == NULL)
        return cli_no_memory("the runs of others");
    for (size_t i = 0; i < antler_grid_count(w->sweep.grid) && code == CLI_DONE && !w->stopped; i++)
        code = share_one(w, i, rest);
    if (fclose(rest->others) != 0 || text == NULL) {
        free(text);
        return code != CLI_DONE ? code : cli_no_memory("the runs of others");
    }
    const bool changed = rest->held > 0 && (w->shown == NULL || strcmp(w->shown, text) != 0);
    if (changed && code == CLI_DONE && !w->stopped && !w->given->quiet)
        fprintf(stderr, "Others have %zu %s:\n%s", rest->held, rest->held == 1 ? "run" : "runs", text);
    free(w->shown);
    w->shown = text;
    return code;
}

/* Sleep, or until a signal comes. */
static void wait_for_others(double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
    if (!cli_stop_requested())
        nanosleep(&pause, NULL);
}

/* Passes over the sweep until it is complete, or until others have what is left.  *complete: all rows are
   there. */
static int share_all(work *w, bool *complete)
{
    double pause = 0.1;
    const double longest = fmin(w->given->lease / 8.0, 10.0);
    *complete = false;
    w->done = cli_memory(antler_grid_count(w->sweep.grid) * w->sweep.runs, sizeof *w->done, "the tables");
    int code = CLI_DONE;
    while (code == CLI_DONE && !w->stopped && !*complete) {
        leftover rest;
        code = share_pass(w, &rest);
        *complete = code == CLI_DONE && !w->stopped && rest.held + rest.open == 0;
        if (*complete || (w->given->leave && rest.open == 0))
            break;
        wait_for_others(pause);
        pause = fmin(2.0 * pause, longest);
        w->stopped = w->stopped || cli_stop_requested();
    }
    if (code == CLI_DONE && *complete)
        code = cli_sweep_write(&w->sweep);
    free(w->done);
    free(w->shown);
    return code;
}

/* ---- the end ----------------------------------------------------------------------------------------- */

/* Median over the runs of a combination: of D_stsp on the test data, or of the loss without them. */
static double rank(const work *w, size_t combination, double *values)
{
    const size_t metric = w->test == NULL ? 0 : CLI_SWEEP_TRAINING + antler_measure_index("dstsp");
    antler_statistics s = {.median = NAN};
    for (size_t r = 0; r < w->sweep.runs; r++)
        values[r] = w->sweep.of[combination * w->sweep.runs + r].of[metric];
    return cli_ok(antler_statistics_of(values, w->sweep.runs, &s)) ? s.median : NAN;
}

/* The commands that follow, for the best combination. */
static void print_next(const work *w)
{
    double *values = cli_memory(w->sweep.runs, sizeof *values, "the statistics"), least = INFINITY;
    size_t best = SIZE_MAX;
    antler_settings one;
    char folder[1400];
    for (size_t i = 0; i < antler_grid_count(w->sweep.grid); i++) {
        const double median = rank(w, i, values);
        best = median < least ? i : best;
        least = median < least ? median : least;
    }
    free(values);
    if (best == SIZE_MAX || !cli_ok(antler_grid_settings(w->sweep.grid, best, &one)))
        return;
    snprintf(folder, sizeof folder, "%.1200s/%s", w->folder, one.name);
    printf("Best by the median of %s: %s\n", w->test == NULL ? "the loss" : "D_stsp", one.name);
    cli_next_of_runs(folder, 0, w->sweep.runs);
}

static int conclude(const work *w)
{
    const size_t total = antler_grid_count(w->sweep.grid) * w->sweep.runs;
    size_t diverged = 0;
    for (size_t i = 0; i < total; i++)
        diverged += w->sweep.of[i].diverged ? 1 : 0;
    if (!w->given->quiet)
        printf("%zu combinations, %zu runs; %s/metrics.csv and statistics.csv\n",
               antler_grid_count(w->sweep.grid), total, w->folder);
    if (!w->given->quiet)
        print_next(w);
    if (diverged > 0)
        fprintf(stderr, "antler: %zu of %zu runs diverged\n", diverged, total);
    return diverged > 0 ? CLI_NUMBERS : CLI_DONE;
}

static int print_stopped(const char *path, bool shared)
{
    char *quoted = cli_memory(CLI_QUOTED(strlen(path)), 1, "a message");
    printf("Stopped; nothing is lost. Continue with:\n  antler sweep %s --%s\n",
           cli_show_quoted(path, quoted), shared ? "share" : "resume");
    free(quoted);
    return CLI_DONE;
}

static int sweep_all(work *w, const char *path)
{
    const size_t combinations = antler_grid_count(w->sweep.grid);
    w->sweep.of = cli_memory(combinations * w->sweep.runs, sizeof *w->sweep.of, "the tables");
    for (size_t i = 0; i < combinations * w->sweep.runs; i++) {
        for (size_t m = 0; m < CLI_SWEEP_METRICS; m++)
            w->sweep.of[i].of[m] = NAN;
    }
    int code = CLI_DONE;
    bool complete = true;
    if (w->given->share)
        code = share_all(w, &complete);
    for (size_t i = 0; i < combinations && code == CLI_DONE && !w->stopped && !w->given->share; i++)
        code = train_one(w, i);
    if (code == CLI_DONE && w->stopped) {
        code = print_stopped(path, w->given->share);
    } else if (code == CLI_DONE && !complete) {
        if (!w->given->quiet)
            puts("Others have all that is left; the last of them writes the tables");
    } else if (code == CLI_DONE) {
        code = conclude(w);
    }
    free(w->sweep.of);
    return code;
}

static int list_grid(const antler_grid *grid)
{
    for (size_t i = 0; i < antler_grid_count(grid); i++) {
        for (size_t k = 0; k < antler_grid_key_count(grid); k++)
            printf("%s%s=%s", k == 0 ? "" : " ", antler_grid_key(grid, k), antler_grid_value(grid, i, k));
        putchar('\n');
    }
    return CLI_DONE;
}

/* Load the test data, with the same columns as for training, and train. */
static int sweep_grid(const settings *given, const antler_grid *grid, const char *path)
{
    const antler_settings *base = antler_grid_base(grid);
    antler_series *test = NULL;
    work w = {.given = given, .sweep = {.grid = grid, .runs = base->runs}};
    snprintf(w.folder, sizeof w.folder, "%.1000s/%s", base->results, base->experiment);
    w.sweep.folder = w.folder;
    if (antler_grid_test(grid)[0] != '\0') {
        antler_settings of_test = *base;
        snprintf(of_test.data, sizeof of_test.data, "%s", antler_grid_test(grid));
        const antler_status status = antler_settings_series(&of_test, &test);
        if (status != ANTLER_OK)
            return cli_fail(status);
        w.test = test;
    }
    int code = CLI_DONE;
    if (test != NULL) {
        const antler_evaluate_opts opts = evaluate_opts(given);
        code = cli_stamp_begin(test, &opts, &w.stamp);
    }
    if (code == CLI_DONE)
        code = sweep_all(&w, path);
    antler_series_free(test);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings given = {.measuring = cli_measuring_default(), .lease = 300.0};
    size_t count = 0;
    antler_grid *grid = NULL;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &given, &count, &code))
        return code;
    code = cli_measuring_finish(&given.measuring);
    if (code != CLI_DONE)
        return code;
    if (given.share && given.overwrite)
        return cli_usage_error(
            "--share keeps what other processes have made, --overwrite replaces it; give one of "
            "them");
    if (given.lease < 1.0 || given.lease > 86400.0)
        return cli_usage_error("--lease must be between 1 and 86400 seconds");
    if (given.resume && given.overwrite)
        return cli_usage_error("--resume keeps what is there, --overwrite replaces it; give one of them");
    const antler_status status = antler_grid_load(argv[0], given.set.items, given.set.count, &grid);
    if (status != ANTLER_OK)
        return cli_fail(status);
    code = given.list ? list_grid(grid) : sweep_grid(&given, grid, argv[0]);
    antler_grid_free(grid);
    return code;
}

const cli_command cli_sweep = {
    .name = "sweep",
    .summary = "train every combination of a grid of settings",
    .arguments = "GRID.yaml",
    .description =
        "A grid file is a settings file with a mapping 'grid:' of lists. Every combination of its values is "
        "trained, with all its runs, in <results>/<experiment>/<name>_<key>-<value>..., and the tables "
        "metrics.csv (one row per run) and statistics.csv (median, MAD, mean, standard error, diverged "
        "runs) appear in <results>/<experiment>. They grow during the sweep. With a line 'test: FILE' "
        "each model is also evaluated on these data, as 'antler evaluate' does.\n\n"
        "With --share, any number of processes on any number of machines work on one sweep: each run is "
        "claimed by "
        "a lease in its folder, a run whose owner is dead is taken over, and the tables appear when all is "
        "done. "
        "docs/cluster.md has scripts for clusters.\n\n"
        "Ctrl-C stops as in 'antler train'; SIGUSR1 writes checkpoints and goes on; --resume continues, and "
        "takes evaluations that are still valid "
        "from the "
        "metrics.json of their runs.",
    .examples = "  $ antler sweep examples/sweep.yaml --list\n"
                "  $ antler sweep examples/sweep.yaml --set runs=10\n"
                "  $ antler sweep examples/sweep.yaml --share\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run,
};
