/* cmd_evaluate.c - `antler evaluate`: one or many trained models against data that they have not seen. */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/evaluation.h"
#include "cli/foreign.h"
#include "cli/loss_log.h"
#include "cli/measuring.h"
#include "cli/metrics.h"
#include "cli/progress.h"
#include "cli/runs.h"
#include "cli/start_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_GIVEN SIZE_MAX

typedef struct settings {
    cli_list data, horizon;
    cli_measuring measuring;
    const char *inputs_end;
    antler_evaluate_opts evaluate;
    bool no_lyapunov, no_rmse, no_verdict, only_embedded, no_files, json, quiet;
    cli_load load;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"data", CLI_FILES, "FILE",
     "The true series, which the model has not seen: a file or a glob. Default: the rows that the training "
     "of "
     "the first run held back.",
     AT(data), NULL},
    {"n", CLI_COUNT, "STEPS", "Free steps of RMSE(n). Default 128, or what fits into short data.",
     AT(evaluate.rmse.steps), NULL},
    {"windows", CLI_COUNT, "N", "Windows of RMSE(n), spread evenly over the data. Default 100.",
     AT(evaluate.rmse.windows), NULL},
    {"horizon", CLI_TEXTS, "NAME=STEPS",
     "Free steps of another forecast measure, by its name in metrics.csv; may be repeated.", AT(horizon),
     NULL},
    {"exponent", CLI_REAL, "LAMBDA",
     "Largest Lyapunov exponent of the true system, per unit of time: times are then in Lyapunov times. "
     "Default: unknown.",
     AT(evaluate.rmse.exponent), NULL},
    {"warmup", CLI_COUNT, "ROWS", CLI_WARMUP_HELP, AT(evaluate.warmup), NULL},
    {"steps", CLI_COUNT, "ROWS", "Length of the free run. Default: three times the data.", AT(evaluate.steps),
     NULL},
    CLI_MEASURING_OPTIONS(settings, measuring),
    {"only-embedded", CLI_FLAG, NULL, "With --embed: leave out D_stsp without embedding.", AT(only_embedded),
     NULL},
    {"no-rmse", CLI_FLAG, NULL, "Leave out RMSE(n) and all other forecast measures.", AT(no_rmse), NULL},
    {"no-lyapunov", CLI_FLAG, NULL, "Leave out the Lyapunov exponents.", AT(no_lyapunov), NULL},
    {"lyapunov-steps", CLI_COUNT, "N", "Steps over which they are averaged. Default 20000.",
     AT(evaluate.lyapunov.steps), NULL},
    {"range-factor", CLI_REAL, "FACTOR",
     "A free run has diverged where it is farther from the middle of the data than this many half ranges; 0: "
     "no "
     "such limit. Default 5.",
     AT(evaluate.range_factor), NULL},
    {"no-verdict", CLI_FLAG, NULL, "Leave out the floors and the verdict.", AT(no_verdict), NULL},
    {"user-units", CLI_FLAG, NULL, "Report RMSE, means and spreads in the units of the user's data.",
     AT(evaluate.user_units), NULL},
    {"model-units", CLI_FLAG, NULL, CLI_MODEL_UNITS_HELP, AT(evaluate.model_units), NULL},
    {"inputs-end", CLI_CHOICE, "stop|hold|repeat", CLI_INPUTS_END_HELP " Default repeat.", AT(inputs_end),
     cli_inputs_ends},
    CLI_LOAD_OPTIONS(settings, load),
    {"no-files", CLI_FLAG, NULL, "Write nothing into the run folders.", AT(no_files), NULL},
    {"json", CLI_FLAG, NULL, "Print one JSON object instead of tables.", AT(json), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress.", AT(quiet), NULL},
};
#undef AT

/* What is gathered over all runs. */
typedef struct gathering {
    const settings *s;
    const antler_series *truth;
    uint64_t stamp; /* of data and options */
    size_t count, good;
    double *values;                /* (count, antler_measure_count()) */
    bool *diverged;                /* (count) */
    antler_verdict_kind *verdicts; /* (count) */
    antler_floors floors;          /* of the first run, for all; rows is 0 before */
    json_t *runs;
} gathering;

/* What is gathered of one run. */
static void gather(gathering *g, size_t index, const antler_evaluate_result *result)
{
    memcpy(g->values + index * antler_measure_count(), result->values,
           antler_measure_count() * sizeof *result->values);
    g->diverged[index] = result->diverged;
    g->verdicts[index] = result->verdict.kind;
    g->good += result->diverged ? 0 : 1;
    g->floors = result->floors;
}

static int evaluate_one(gathering *g, const char *run, size_t index)
{
    const settings *s = g->s;
    antler_model *model = NULL;
    antler_evaluate_result result = {0};
    antler_evaluate_opts opts = s->evaluate;
    cli_progress progress;
    opts.measure.progress = cli_progress_begin(&progress, s->quiet);
    cli_stamp stamp;
    cli_loss_log log = {0};
    int code = cli_stamp_run(g->stamp, run, &stamp); /* of what is read next, or older */
    if (code == CLI_DONE)
        code = cli_loss_log_read(run, &log);
    opts.training = &log.curve;
    opts.floors = g->floors.rows > 0 ? &g->floors : NULL;
    antler_status status = code == CLI_DONE ? antler_model_load(run, &model) : ANTLER_OK;
    if (status == ANTLER_OK && model != NULL)
        status = antler_evaluate(model, g->truth, &opts, &result);
    cli_progress_end(&progress);
    const cli_evaluation e = {run, model, g->truth, &opts, &result, stamp};
    if (code != CLI_DONE) {
        /* the fault has been printed */
    } else if (status < ANTLER_OK || status == ANTLER_CANCELLED) {
        code = cli_fail(status);
    } else {
        json_t *json = cli_evaluation_json(&e);
        gather(g, index, &result);
        if (!s->no_files)
            code = cli_evaluation_write(&e, json);
        if (!s->json && g->count == 1)
            cli_evaluation_print(&e);
        json_array_append_new(g->runs, json);
    }
    antler_evaluate_result_clear(&result);
    antler_model_free(model);
    cli_loss_log_free(&log);
    return code;
}

static json_t *statistics_json(const cli_metrics *m)
{
    json_t *all = json_object();
    for (size_t k = 0; k < m->metrics; k++) {
        const antler_statistics s = cli_metrics_statistics(m, k);
        if (s.count > 0)
            json_object_set_new(all, m->names[k],
                                json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "median", cli_json_real(s.median),
                                          "mad", cli_json_real(s.mad), "mean", cli_json_real(s.mean), "sem",
                                          cli_json_real(s.sem), "runs", (json_int_t)s.count, "diverged",
                                          (json_int_t)s.diverged));
    }
    return all;
}

/* Tables and files over all runs. */
static int conclude(const gathering *g, const cli_runs *runs)
{
    const char *names[ANTLER_MEASURE_MAX];
    for (size_t i = 0; i < antler_measure_count(); i++)
        names[i] = antler_measure_at(i)->name;
    const cli_metrics m = {antler_measure_count(),
                           names,
                           g->count,
                           runs->paths,
                           g->diverged,
                           g->values,
                           g->s->no_verdict ? NULL : g->verdicts};
    char folder[4096];
    int code = CLI_DONE;
    bool is_folder = false;
    if (g->count > 1 && !g->s->no_files)
        code = cli_run_is_folder(runs->paths[0], &is_folder);
    if (is_folder && cli_run_parent(runs->paths[0], folder, sizeof folder))
        code = cli_metrics_write(&m, folder);
    if (code != CLI_DONE)
        return code;
    if (g->s->json)
        code = g->count == 1 ? cli_json_print(json_incref(json_array_get(g->runs, 0)))
                             : cli_json_print(json_pack("{s:O, s:o, s:I}", "runs", g->runs, "statistics",
                                                        statistics_json(&m), "diverged",
                                                        (json_int_t)(g->count - g->good)));
    else if (g->count > 1) {
        cli_metrics_print_runs(&m);
        putchar('\n');
        cli_metrics_print(&m);
    }
    return code > CLI_DONE ? code : g->good == 0 ? CLI_NUMBERS : CLI_DONE;
}

static int evaluate_all(const settings *s, const cli_runs *runs, const antler_series *truth)
{
    gathering g = {.s = s, .truth = truth, .count = runs->count, .runs = json_array()};
    g.values = cli_memory(runs->count * antler_measure_count(), sizeof *g.values, "the measures");
    g.diverged = cli_memory(runs->count, sizeof *g.diverged, "the list of runs");
    g.verdicts = cli_memory(runs->count, sizeof *g.verdicts, "the list of runs");
    int code = cli_stamp_begin(truth, &s->evaluate, &g.stamp);
    for (size_t i = 0; i < runs->count && code == CLI_DONE; i++)
        code = evaluate_one(&g, runs->paths[i], i);
    if (code == CLI_DONE)
        code = conclude(&g, runs);
    free(g.values);
    free(g.diverged);
    free(g.verdicts);
    json_decref(g.runs);
    return code;
}

/* Read NAME=STEPS into the array by measure.  False: it is wrong, and the fault has been printed. */
static bool read_horizon(const char *text, size_t *horizon)
{
    const char *equals = strchr(text, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", equals == NULL ? (int)strlen(text) : (int)(equals - text), text);
    const size_t index = antler_measure_index(name);
    if (index == antler_measure_count() || !antler_measure_at(index)->forecast)
        cli_usage_error("--horizon: '%s' is not a forecast measure; 'antler measure --measures' lists them",
                        name);
    else if (equals == NULL || !cli_read_count(equals + 1, &horizon[index]) || horizon[index] == 0)
        cli_usage_error("--horizon: '%s' is not of the form NAME=STEPS, such as smape=50", text);
    else
        return true;
    return false;
}

/* Short data get forecasts that fit: half of the rows after the warm-up of the first model. */
static int fit_steps(settings *s, const char *run, const antler_settings *of_run, const antler_series *truth)
{
    enum { STEPS = 128, UNKNOWN_WARMUP = 100 };
    antler_model *model = NULL;
    size_t rows = 0, warmup = s->evaluate.warmup;
    if (s->evaluate.rmse.steps != NOT_GIVEN)
        return CLI_DONE;
    const antler_status status = antler_model_load(run, &model);
    if (status != ANTLER_OK)
        return cli_fail(status);
    for (size_t i = 0; i < antler_series_count(truth); i++)
        rows = antler_series_length(truth, i) > rows ? antler_series_length(truth, i) : rows;
    if (warmup == ANTLER_WARMUP_AUTO) { /* as the library chooses it */
        const bool observed = strcmp(antler_model_kind(model), "shplrnn") == 0 &&
                              antler_model_latent_dim(model) <= antler_model_dim(model);
        warmup = of_run->warmup > 0 ? of_run->warmup : observed ? 0 : UNKNOWN_WARMUP;
        warmup = warmup < rows / 2 ? warmup : rows / 2;
    }
    const size_t half = rows > warmup + 2 ? (rows - warmup - 1) / 2 : 1;
    s->evaluate.rmse.steps = rows > warmup + STEPS ? STEPS : half;
    antler_model_free(model);
    return CLI_DONE;
}

static int evaluate_data(settings *s, const cli_runs *runs)
{
    antler_settings of_run;
    antler_series *truth = NULL;
    antler_settings_default(&of_run);
    int code = cli_load_from_run(runs->paths[0], &of_run, &s->load);
    if (code == CLI_DONE)
        code = cli_series_load(&s->data, &s->load, &truth);
    if (code == CLI_DONE)
        code = fit_steps(s, runs->paths[0], &of_run, truth);
    if (code == CLI_DONE)
        code = evaluate_all(s, runs, truth);
    if (code == CLI_DONE)
        cli_load_notes(truth);
    antler_series_free(truth);
    return code;
}

/* On the rows that the training of the first run did not see. */
static int evaluate_held_back(settings *s, const cli_runs *runs)
{
    antler_settings of_run;
    antler_series *series = NULL, *held_back = NULL;
    bool found = false;
    int code = cli_settings_of_run(runs->paths[0], &of_run, &found);
    if (code != CLI_DONE)
        return code;
    if (access(runs->paths[0], F_OK) != 0 && errno == ENOENT)
        return cli_usage_error("%s: there is no such run or model; check the name and the folder",
                               runs->paths[0]);
    if (!found || (of_run.validation == 0.0 && of_run.validation_data[0] == '\0'))
        return cli_usage_error(
            "%s: its training held back no rows; give --data FILE with data that the model "
            "has not seen",
            runs->paths[0]);
    antler_status status = antler_settings_series(&of_run, &series);
    if (status == ANTLER_OK)
        status = antler_settings_held_back(&of_run, series, &held_back);
    if (status == ANTLER_OK && !s->json && !s->quiet)
        printf("On the rows that training held back: %zu of %zu\n", antler_series_total_length(held_back),
               antler_series_total_length(series));
    code = status == ANTLER_OK ? fit_steps(s, runs->paths[0], &of_run, held_back) : cli_fail(status);
    if (code == CLI_DONE)
        code = evaluate_all(s, runs, held_back);
    antler_series_free(held_back);
    antler_series_free(series);
    return code;
}

static int run(const cli_command *self, int argc, char **argv)
{
    settings s = {.inputs_end = "repeat", .measuring = cli_measuring_default()};
    antler_evaluate_opts_default(&s.evaluate);
    s.evaluate.rmse.steps = NOT_GIVEN;
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    code = cli_measuring_finish(&s.measuring);
    if (code != CLI_DONE)
        return code;
    if (s.only_embedded && s.measuring.opts.embed_dim < 2)
        return cli_usage_error("--only-embedded needs --embed M,TAU");
    for (size_t i = 0; i < s.horizon.count; i++) {
        if (!read_horizon(s.horizon.items[i], s.evaluate.horizon))
            return CLI_USAGE;
    }
    s.evaluate.measure = s.measuring.opts;
    s.evaluate.rmse.warmup = s.evaluate.warmup;
    s.evaluate.with_dstsp = !s.only_embedded;
    s.evaluate.with_rmse = !s.no_rmse;
    s.evaluate.with_lyapunov = !s.no_lyapunov;
    s.evaluate.with_verdict = !s.no_verdict;
    s.evaluate.inputs_end = cli_inputs_end(s.inputs_end);
    cli_runs runs = {0};
    code = cli_runs_find(argv, count, &runs);
    if (code == CLI_DONE && s.data.count == 0)
        code = evaluate_held_back(&s, &runs);
    else if (code == CLI_DONE)
        code = evaluate_data(&s, &runs);
    cli_runs_free(&runs);
    return code;
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .summary = "judge trained models by data that they have not seen",
    .arguments = "RUN...",
    .description =
        "Let each model run free and compare its orbit with the data: D_stsp (with --embed also D_stsp^DE), "
        "D_H, RMSE(n) and other errors of forecasts, Lyapunov exponents. RUN is a run folder, a model.npz, a "
        "checkpoint, or a folder of "
        "runs.\n\nWhere --columns or --inputs is not given, the settings in the first run's folder say which "
        "columns of "
        "the data are taken.\n\nmetrics.json is written into every run folder, and beside the model.npz of a "
        "fit. Of "
        "several runs the median, "
        "MAD, mean and "
        "standard error are printed, and metrics.csv and statistics.csv are written into the folder above "
        "the first run. A run that diverged counts as infinite in the median and is never dropped; mean and "
        "standard error are over the others.\n\nBeside the measures are their floors, the same measures "
        "between parts of the data, and a verdict: "
        "good, close, far, undertrained, collapsed, left_range, diverged, too_short or noise. A free run "
        "that "
        "leaves the "
        "data's range by --range-factor counts as diverged.\n\nThe exit code is 1 when every run diverged.",
    .examples = "  $ antler evaluate Results/lorenz63/fo/001 --data test.npy\n"
                "  $ antler evaluate Results/lorenz63/po --data test.npy --embed 3,10 "
                "--only-embedded --json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .minimum = 1,
    .maximum = CLI_LIST_MAX,
    .run = run,
};
