/* cmd_fit.c - `antler fit` and `antler tune`: from a table to a model, and around given settings. */
#include "cli/command.h"
#include "cli/progress.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    cli_list set;
    const char *columns, *inputs, *results, *name, *device, *seed, *threads; /* NULL: not given */
    bool transpose, quiet;
    double dt, minutes, validation; /* validation 0: not given */
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
    {"columns", CLI_TEXT, "LIST", "Variables to take, by name or number: x,z or 1-3.", AT(columns), NULL},
    {"inputs", CLI_TEXT, "LIST", "Columns that are known inputs, not variables.", AT(inputs), NULL},
    {"transpose", CLI_FLAG, NULL, "The file has variables in rows (N x T).", AT(transpose), NULL},
    {"dt", CLI_REAL, "TIME", "Time between rows, where the file does not contain it.", AT(dt), NULL},
};

static const cli_option tune_options[] = {
    COMMON_OPTIONS,
    {"set", CLI_TEXTS, "NAME=VALUE", "Change a setting of the file; may be repeated.", AT(set), NULL},
};
#undef AT

/* ---- reports ----------------------------------------------------------------------------------------- */

typedef struct reporter {
    bool quiet, terminal, drawn;
    double begun, last;
    antler_fit_note note; /* of the present trial */
} reporter;

static void clear_line(reporter *r)
{
    if (r->drawn)
        fputs("\r\033[K", stderr);
    r->drawn = false;
}

static void on_look(void *cookie, const antler_look *look)
{
    const reporter *r = cookie;
    if (r->quiet)
        return;
    printf("Data: %zu rows, %zu variable%s", look->rows, look->dim, look->dim == 1 ? "" : "s");
    if (look->trajectories > 1)
        printf(", %zu trajectories", look->trajectories);
    if (look->input_dim > 0)
        printf(", %zu inputs", look->input_dim);
    printf("\n  autocorrelation below 1/e after %.0f rows", look->decay);
    if (look->period > 0.0)
        printf(", period about %.0f rows", look->period);
    printf("\n  noise at most %.2g of a standard deviation; %zu principal component%s of weight\n",
           look->noise, look->dimension, look->dimension == 1 ? "" : "s");
    if (look->hidden)
        printf("  delays improve neighbour forecasts from %.2g to %.2g: hidden variables, so more units than "
               "variables\n",
               look->error, look->error_delays);
    else if (!isnan(look->error))
        printf("  delays do not improve neighbour forecasts much (%.2g, %.2g): one unit per variable may be "
               "enough\n",
               look->error, look->error_delays);
    fflush(stdout);
}

static void print_settings(const antler_settings *s)
{
    printf("M %zu, L %zu, T %zu, ", s->latent_dim, s->hidden_dim, s->sequence_length);
    if (s->initialisation == ANTLER_INITIALISATION_MEMORY)
        printf("kappa %g", s->kappa);
    else
        printf("standard start");
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
        printf("\nRung %zu of %zu: %zu trials, %zu runs of %zu updates each\n", note->rung, note->rungs,
               note->trials, note->settings->runs, note->settings->updates);
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
    fprintf(stderr, "%srung %zu of %zu, trial %zu of %zu, run %zu, update %zu/%zu, loss %.3e, %s so far%s",
            r->terminal ? "\r" : "", r->note.rung, r->note.rungs, r->note.trial, r->note.trials, row->run,
            row->update, row->updates, row->total, elapsed, r->terminal ? "\033[K" : "\n");
    fflush(stderr);
    r->drawn = r->terminal;
}

static int on_stop(void *cookie)
{
    (void)cookie;
    return cli_stop_requested();
}

/* ---- the result -------------------------------------------------------------------------------------- */

static void print_result(const antler_fit_result *result)
{
    antler_settings best;
    char path[1500];
    printf("\nBest of %zu trials: %s\n", result->trials, result->reason);
    snprintf(path, sizeof path, "%s/settings.yaml", result->folder);
    if (antler_settings_load(path, &best) == ANTLER_OK) {
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
    printf("Run       %s\nModel     %s/model.npz\nSettings  %s/settings.yaml (antler train repeats it: run "
           "%zu)\n",
           result->run_folder, result->folder, result->folder, result->run);
}

static int fit(const settings *s, const char *command, const char *file, const antler_fit_opts *opts)
{
    antler_series *series = NULL;
    antler_fit_result result;
    reporter r = {
        .quiet = s->quiet, .terminal = isatty(STDERR_FILENO) == 1, .begun = cli_now(), .last = cli_now()};
    const antler_fit_events events = {.cookie = &r,
                                      .looked = on_look,
                                      .begin = on_begin,
                                      .end = on_end,
                                      .train = {.cookie = &r, .row = on_row, .stop = on_stop}};
    cli_stop_install();
    antler_status status = antler_settings_series(opts->base, &series);
    if (status == ANTLER_OK)
        status = antler_fit(series, opts, &events, &result);
    clear_line(&r);
    antler_series_free(series);
    if (status == ANTLER_OK || (status == ANTLER_CANCELLED && result.trials > 0))
        print_result(&result);
    if (status == ANTLER_CANCELLED) {
        printf("Stopped: this is the best so far. Continue with the same command:\n  antler %s %s ...\n",
               command, file);
        return CLI_DONE;
    }
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

/* ---- the command lines ------------------------------------------------------------------------------- */

/* "runs/heart-1.npy" gives "heart-1"; a letter that cannot stand in a folder's name becomes '-'. */
static void name_after(const char *path, size_t bytes, char *name)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", slash == NULL ? path : slash + 1);
    char *dot = strrchr(name, '.');
    if (dot != NULL && dot != name)
        *dot = '\0';
    for (char *c = name; *c != '\0'; c++)
        *c = strchr("*?[] ", *c) == NULL ? *c : '-';
}

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
    antler_settings_default(&base);
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(base.data);
        snprintf(base.data + used, sizeof base.data - used, "%s%s", i == 0 ? "" : "\n", argv[i]);
    }
    name_after(argv[0], sizeof base.experiment, base.experiment);
    base.transpose = s.transpose;
    base.dt = s.dt;
    antler_status status = apply_common(&s, &base, &opts);
    if (status == ANTLER_OK)
        status = set(&base, "columns", s.columns);
    if (status == ANTLER_OK)
        status = set(&base, "inputs", s.inputs);
    return status == ANTLER_OK ? fit(&s, self->name, argv[0], &opts) : cli_fail(status);
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
    return status == ANTLER_OK ? fit(&s, self->name, argv[0], &opts) : cli_fail(status);
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
