/* cmd_fit.c - `antler fit` and `antler tune`: from a table to a model, and around given settings. */
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/evaluation.h"
#include "cli/foreign.h"
#include "cli/next.h"
#include "cli/progress.h"
#include "cli/show.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    cli_list set, test;
    cli_load load;
    const char *results, *name, *device, *seed, *threads; /* NULL: not given */
    bool quiet;
    double minutes, validation, holdout; /* shares of 0: not given */
} settings;

static const char *const devices[] = {"auto", "cpu", "cuda", NULL};

#define AT(field) offsetof(settings, field)
#define COMMON_OPTIONS                                                                                         \
    {"minutes",                                                                                                \
     CLI_REAL,                                                                                                 \
     "MINUTES",                                                                                                \
     "Budget. It becomes numbers of updates at the start, which plan.csv keeps. Default: 2 with a GPU, 5 "     \
     "without.",                                                                                               \
     AT(minutes),                                                                                              \
     NULL},                                                                                                    \
        {"validation",                                                                                         \
         CLI_REAL,                                                                                             \
         "SHARE",                                                                                              \
         "Share of each trajectory, at its end, on which models are judged; more, up to half, of short "       \
         "data. Default 0.2.",                                                                                 \
         AT(validation),                                                                                       \
         NULL},                                                                                                \
        {"holdout",                                                                                            \
         CLI_REAL,                                                                                             \
         "SHARE",                                                                                              \
         "Share of each trajectory, at its end, that takes no part at all; the result is measured on it.",     \
         AT(holdout),                                                                                          \
         NULL},                                                                                                \
        {"test",   CLI_FILES, "FILE", "Data on which the result is measured in the end. May be repeated.",     \
         AT(test), NULL},                                                                                      \
        {"seed",   CLI_TEXT, "NUMBER", "Of all trainings. Same seed and plan, same choice. Default 1.",        \
         AT(seed), NULL},                                                                                      \
        {"results", CLI_FILE, "FOLDER", "Folder that holds all results. Default Results.", AT(results), NULL}, \
        {"name", CLI_TEXT, "NAME", "Folder below it. Default: the name of the file.", AT(name), NULL},         \
        {"device", CLI_CHOICE, "auto|cpu|cuda", "Where to train. Default auto.", AT(device), devices},         \
        {"threads", CLI_TEXT, "N", "CPU threads; 0 for all. Default 0.", AT(threads), NULL},                   \
    {                                                                                                          \
        "quiet", CLI_FLAG, NULL, "Only the result.", AT(quiet), NULL                                           \
    }

static const cli_option fit_options[] = {
    COMMON_OPTIONS,
    CLI_TABLE_OPTIONS(settings, load),
};

static const cli_option tune_options[] = {
    COMMON_OPTIONS,
    {"set", CLI_ASSIGN, "NAME=VALUE", "Change a setting of the file; may be repeated.", AT(set), NULL},
};
#undef AT

/* ---- reports ----------------------------------------------------------------------------------------- */

typedef struct reporter {
    bool quiet, terminal, drawn;
    double begun, last;
    antler_fit_note note; /* of the present trial */
    const antler_series *series;
} reporter;

static void clear_line(reporter *r)
{
    if (r->drawn)
        cli_show_clear_line();
    r->drawn = false;
}

static void on_look(void *cookie, const antler_look *look)
{
    const reporter *r = cookie;
    if (r->quiet)
        return;
    cli_load_notes(r->series);
    printf("Data: %zu rows, %zu variable%s", look->rows, look->dim, look->dim == 1 ? "" : "s");
    if (look->trajectories > 1)
        printf(", %zu trajectories", look->trajectories);
    if (look->input_dim > 0)
        printf(", %zu inputs", look->input_dim);
    printf("\n  autocorrelation below 1/e after %.0f rows", look->decay);
    if (look->period > 0.0)
        printf(", period about %.0f rows", look->period);
    if (look->slow > 0.0)
        printf("\n  the amplitude changes over about %.0f rows: something slow acts on the variables",
               look->slow);
    printf("\n  noise at most %.2g of a standard deviation; %zu principal component%s of weight\n",
           look->noise, look->dimension, look->dimension == 1 ? "" : "s");
    if (look->white != 0)
        printf("  no row depends on the rows before it, as in white noise: there is nothing to predict\n");
    else if (look->hidden)
        printf("  delays improve neighbour forecasts from %.2g to %.2g: hidden variables, so more units than "
               "variables\n",
               look->error, look->error_delays);
    else if (!isnan(look->error))
        printf("  delays do not improve neighbour forecasts much (%.2g, %.2g): one unit per variable may be "
               "enough\n",
               look->error, look->error_delays);
    fflush(stdout);
}

static void on_note(void *cookie, const char *text)
{
    const reporter *r = cookie;
    if (!r->quiet)
        fprintf(stderr, "antler: note: %s\n", text);
}

static void print_settings(const antler_settings *s)
{
    printf("M %zu, L %zu, T %zu, ", s->latent_dim, s->hidden_dim, s->sequence_length);
    if (s->initialisation == ANTLER_INITIALISATION_STANDARD)
        printf("standard start");
    else if (s->kappa > 0.0)
        printf("kappa %g", s->kappa);
    else
        printf("start %s", s->initialisation == ANTLER_INITIALISATION_AUTO ? "auto" : "memory");
    printf(", %salpha %g, lr %g, noise %g", s->clipped ? "clipped, " : "", s->gtf_alpha, s->start_lr,
           s->noise);
}

static void on_begin(void *cookie, const antler_fit_note *note)
{
    reporter *r = cookie;
    r->note = *note;
    if (r->quiet)
        return;
    if (note->trial == 1)
        printf("\nRung %zu of %zu: %zu trial%s, %zu runs of %zu updates each\n", note->rung, note->rungs,
               note->trials, note->trials == 1 ? "" : "s", note->settings->runs, note->settings->updates);
    printf("%3zu  ", note->trial);
    print_settings(note->settings);
    printf("\n     %s\n", note->reason);
    fflush(stdout);
}

static void on_end(void *cookie, const antler_fit_note *note)
{
    reporter *r = cookie;
    clear_line(r);
    if (r->quiet)
        return;
    if (isfinite(note->score))
        printf("     score %.3g: D_stsp %.3g, D_H %.3g, PE %.3g%s\n", note->score, note->dstsp,
               note->hellinger, note->prediction_error, note->leads ? "  <- leads" : "");
    else
        printf("     diverged\n");
    fflush(stdout);
}

static void on_row(void *cookie, const antler_train_row *row)
{
    reporter *r = cookie;
    const double now = cli_now();
    if (r->quiet || now - r->last < (r->terminal ? 0.1 : 10.0))
        return;
    char elapsed[32];
    r->last = now;
    cli_duration(now - r->begun, elapsed);
    clear_line(r);
    fprintf(stderr, "rung %zu of %zu, trial %zu of %zu, run %zu, update %zu/%zu, loss %.3e, %s so far%s",
            r->note.rung, r->note.rungs, r->note.trial, r->note.trials, row->run, row->update, row->updates,
            row->total, elapsed, r->terminal ? "" : "\n");
    fflush(stderr);
    r->drawn = r->terminal;
}

static int on_stop(void *cookie)
{
    (void)cookie;
    return cli_stop_requested();
}

static int on_save(void *cookie)
{
    (void)cookie;
    return cli_saves_requested();
}

/* ---- the result -------------------------------------------------------------------------------------- */

static void print_result(const antler_fit_result *result, const antler_series *series)
{
    antler_settings best;
    char path[1500];
    printf("\nBest of %zu trials: %s\n", result->trials, result->reason);
    snprintf(path, sizeof path, "%s/settings.yaml", result->folder);
    if (cli_ok(antler_settings_load(path, &best))) {
        printf("  ");
        print_settings(&best);
        printf("\n");
    }
    printf("  the last %.0f %% of the rows were held back\n", 100.0 * result->validation);
    printf("  on held-back rows     model      between parts of the data\n");
    printf("  D_stsp            %9.3g      %9.3g\n", result->dstsp, result->dstsp_floor);
    printf("  D_H               %9.3g      %9.3g\n", result->hellinger, result->hellinger_floor);
    printf("  prediction error  %9.3g      %9.3g (nearest neighbour)\n", result->prediction_error,
           result->prediction_error_floor);
    printf("Verdict: %s. %s\n", antler_verdict_name(result->verdict.kind), result->verdict.text);
    if (result->verdict.advice[0] != '\0')
        printf("  %s\n", result->verdict.advice);
    if (result->verdict.kind != ANTLER_VERDICT_GOOD)
        cli_load_suspicions(series);
    printf("Run       %s\nModel     %s/model.npz\nSettings  %s/settings.yaml (antler train repeats it: run "
           "%zu)\n",
           result->run_folder, result->folder, result->folder, result->run);
}

/* The model on rows that took no part in the fit, if there are any. */
static antler_status print_test(const antler_settings *base, const antler_fit_result *result)
{
    char path[1500];
    antler_series *test = NULL;
    antler_model *model = NULL;
    antler_floors floors = {0};
    antler_verdict verdict;
    snprintf(path, sizeof path, "%s/model.npz", result->folder);
    antler_status status = antler_settings_test(base, &test);
    if (status != ANTLER_OK || test == NULL)
        return status;
    status = antler_model_load(path, &model);
    if (status == ANTLER_OK)
        status = antler_verdict_on(model, test, NULL, (int)base->threads, &floors, &verdict);
    if (status == ANTLER_OK)
        printf("On test rows, which took no part in the fit: %s. %s\n", antler_verdict_name(verdict.kind),
               verdict.text);
    antler_model_free(model);
    antler_series_free(test);
    return status;
}

static void print_next(const antler_fit_result *result, const antler_settings *base)
{
    char model[1500];
    antler_settings made = *base;
    snprintf(model, sizeof model, "%s/model.npz", result->folder);
    made.validation = result->validation;
    cli_next_print(&(cli_next){model, model, model, result->folder}, &made);
}

/* verdict.json beside the model, for the report; an older evaluation there is not of this model. */
static int write_verdict(const antler_fit_result *result)
{
    char path[1500];
    snprintf(path, sizeof path, "%s/metrics.json", result->folder);
    if (unlink(path) != 0 && errno != ENOENT)
        return cli_file_error(path, "removed");
    snprintf(path, sizeof path, "%s/verdict.json", result->folder);
    json_t *json = cli_verdict_json(&result->verdict);
    const int code = cli_json_write(path, json);
    json_decref(json);
    return code;
}

static int fit(const settings *s, const char *command, const char *file, antler_settings *base,
               const antler_fit_opts *opts)
{
    antler_series *series = NULL;
    antler_fit_result result;
    reporter r = {
        .quiet = s->quiet, .terminal = isatty(STDERR_FILENO) == 1, .begun = cli_now(), .last = cli_now()};
    const antler_fit_events events = {.struct_size = sizeof events,
                                      .cookie = &r,
                                      .looked = on_look,
                                      .begin = on_begin,
                                      .end = on_end,
                                      .train = {.struct_size = sizeof events.train,
                                                .cookie = &r,
                                                .row = on_row,
                                                .stop = on_stop,
                                                .note = on_note,
                                                .save = on_save}};
    cli_stop_install();
    const int code = cli_foreign_settle(base, s->quiet);
    if (code != CLI_DONE)
        return code;
    antler_status status = antler_settings_series(base, &series);
    r.series = series;
    if (status == ANTLER_OK)
        status = antler_fit(series, opts, &events, &result);
    clear_line(&r);
    if (status == ANTLER_OK || (status == ANTLER_CANCELLED && result.trials > 0)) {
        print_result(&result, series);
        const int written = write_verdict(&result);
        const antler_status tested = written == CLI_DONE ? print_test(base, &result) : ANTLER_OK;
        if (written != CLI_DONE || tested != ANTLER_OK) {
            antler_series_free(series);
            return written != CLI_DONE ? written : cli_fail(tested);
        }
    }
    antler_series_free(series);
    if (status == ANTLER_OK && !s->quiet)
        print_next(&result, base);
    if (status == ANTLER_CANCELLED) {
        char *quoted = cli_memory(CLI_QUOTED(strlen(file)), 1, "a message");
        printf("Stopped: this is the best so far. Continue with the same command:\n  antler %s %s ...\n",
               command, cli_show_quoted(file, quoted));
        free(quoted);
        return CLI_DONE;
    }
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

/* ---- the command lines ------------------------------------------------------------------------------- */

static antler_status set(antler_settings *base, const char *name, const char *value)
{
    char text[1200];
    if (value == NULL)
        return ANTLER_OK;
    snprintf(text, sizeof text, "%s=%s", name, value);
    return antler_settings_set(base, text);
}

/* What the command line gives takes the place of what the settings have. */
static antler_status apply_common(const settings *s, antler_settings *base, antler_fit_opts *opts)
{
    const char *const given[][2] = {{"results", s->results},
                                    {"experiment", s->name},
                                    {"device", s->device},
                                    {"seed", s->seed},
                                    {"threads", s->threads}};
    antler_status status = ANTLER_OK;
    antler_fit_opts_default(opts);
    opts->base = base;
    opts->minutes = s->minutes;
    if (s->validation != 0.0 || base->validation > 0.0)
        opts->validation = s->validation != 0.0 ? s->validation : base->validation;
    if (s->holdout != 0.0)
        base->holdout = s->holdout;
    for (size_t i = 0; i < s->test.count; i++) {
        const size_t used = i == 0 ? 0 : strlen(base->test_data);
        snprintf(base->test_data + used, sizeof base->test_data - used, "%s%s", i == 0 ? "" : "\n",
                 s->test.items[i]);
    }
    for (size_t i = 0; i < sizeof given / sizeof given[0] && status == ANTLER_OK; i++)
        status = set(base, given[i][0], given[i][1]);
    return status;
}

static int run_fit(const cli_command *self, int argc, char **argv)
{
    settings s = {.validation = 0.0};
    antler_fit_opts opts;
    antler_settings base;
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    code = cli_settings_of_files(argv, count, &base);
    if (code != CLI_DONE)
        return code;
    antler_status status = apply_common(&s, &base, &opts);
    if (status == ANTLER_OK)
        status = cli_load_to_settings(&s.load, &base);
    return status == ANTLER_OK ? fit(&s, self->name, argv[0], &base, &opts) : cli_fail(status);
}

static int run_tune(const cli_command *self, int argc, char **argv)
{
    settings s = {.validation = 0.0};
    antler_fit_opts opts;
    antler_settings base;
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    antler_status status = antler_settings_load(argv[0], &base);
    for (size_t i = 0; i < s.set.count && status == ANTLER_OK; i++)
        status = antler_settings_set(&base, s.set.items[i]);
    if (status == ANTLER_OK)
        status = apply_common(&s, &base, &opts);
    opts.around = true;
    return status == ANTLER_OK ? fit(&s, self->name, argv[0], &base, &opts) : cli_fail(status);
}

const cli_command cli_fit = {
    .name = "fit",
    .summary = "from a table to a model, without a settings file",
    .arguments = "FILE...",
    .description = "Look at the data, train candidates side by side, judge their free runs on rows that were "
                   "held back, train "
                   "the best ones longer, and keep the best model.\n\n"
                   "Results/<name> then has model.npz, settings.yaml (which repeats the best training), "
                   "trials.csv (every run "
                   "with its settings and measures) and the runs themselves. Ctrl-C ends with the best so "
                   "far; the same command "
                   "continues from there.",
    .examples = "  $ antler fit heart.npy\n"
                "  $ antler fit weather.csv --columns 2-5 --minutes 10\n",
    .options = fit_options,
    .option_count = sizeof fit_options / sizeof fit_options[0],
    .minimum = 1,
    .maximum = 256,
    .run = run_fit,
};

const cli_command cli_tune = {
    .name = "tune",
    .summary = "try settings near given ones, and keep the best model",
    .arguments = "FILE.yaml",
    .description = "As 'antler fit', but the candidates are the settings of the file and variations of them.",
    .examples = "  $ antler tune run.yaml --minutes 10\n",
    .options = tune_options,
    .option_count = sizeof tune_options / sizeof tune_options[0],
    .minimum = 1,
    .maximum = 1,
    .run = run_tune,
};
