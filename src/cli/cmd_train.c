/* cmd_train.c - `antler train`: from a settings file to trained models, with exact resume. */
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/foreign.h"
#include "cli/next.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/train_verdict.h"
#include "cli/training.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

typedef struct settings {
    cli_list set, test;
    cli_load load;
    const char *resume;
    size_t run;
    bool overwrite, check, list, quiet;
} settings;

#define AT(field) offsetof(settings, field)
static const cli_option options[] = {
    {"set", CLI_ASSIGN, "NAME=VALUE", "Change a setting; may be repeated.", AT(set), NULL},
    {"test", CLI_FILES, "FILE",
     "Data that training does not see; each run is measured on it at the end. May be repeated. See also the "
     "setting "
     "holdout.",
     AT(test), NULL},
    {"resume", CLI_FILE, "RUN",
     "Continue a stopped run (its folder), or all runs of the folder above it, to the same bytes as "
     "without a stop.",
     AT(resume), NULL},
    {"run", CLI_COUNT, "NUMBER", "Train only this one of the settings' runs, counted from 1.", AT(run), NULL},
    {"overwrite", CLI_FLAG, NULL, "Replace runs of the same name.", AT(overwrite), NULL},
    {"check", CLI_FLAG, NULL,
     "Check settings and data, with --resume also the checkpoints, and train nothing.", AT(check), NULL},
    {"settings", CLI_FLAG, NULL, "List all settings with defaults, bounds and meaning, as Markdown.",
     AT(list), NULL},
    {"quiet", CLI_FLAG, NULL, "No progress and no summary.", AT(quiet), NULL},
    CLI_TABLE_OPTIONS(settings, load),
};
#undef AT

static void print_bounds(const antler_setting_info *info)
{
    if (info->choices != NULL) {
        for (size_t i = 0; info->choices[i] != NULL; i++)
            printf("%s`%s`", i == 0 ? "" : ", ", info->choices[i]);
    } else if (strcmp(info->kind, "number") != 0 && strcmp(info->kind, "whole number") != 0) {
        printf("%s", info->kind);
    } else if (isinf(info->highest)) {
        printf("%s, %s %.10g", info->kind, info->lowest_open ? "above" : "at least", info->lowest);
    } else {
        printf("%s in %c%.10g, %.10g%c", info->kind, info->lowest_open ? '(' : '[', info->lowest,
               info->highest, info->highest_open ? ')' : ']');
    }
}

/* docs/settings.md is this text; a test compares them. */
static void list_settings(void)
{
    const char *group = "";
    printf("# Settings\n\nAll settings of `antler train` and `antler sweep`, as `antler train --settings` "
           "prints "
           "them. A settings\nfile is YAML with one `name: value` per line; settings that it omits have "
           "their default. "
           "`--set NAME=VALUE`\noverrides the file.\n");
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const antler_setting_info *info = antler_setting_at(i);
        if (strcmp(group, info->group) != 0)
            printf("\n## %s\n\n| name | default | values | meaning |\n| --- | --- | --- | --- |\n",
                   info->group);
        group = info->group;
        printf("| `%s` | %s%s%s | ", info->name, info->standard[0] == '\0' ? "" : "`", info->standard,
               info->standard[0] == '\0' ? "" : "`");
        print_bounds(info);
        printf(" | %s |\n", info->meaning);
    }
}

/* Data take the place of a settings file; the ending decides which it is. */
static bool is_data(const char *path)
{
    static const char *const endings[] = {".npy", ".npz", ".csv", ".tsv", ".txt", ".dat"};
    const size_t length = strlen(path);
    bool found = strcmp(path, "-") == 0;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        found = found || (length > 4 && strcasecmp(path + length - 4, endings[i]) == 0);
    found = found || (length > 3 && strcasecmp(path + length - 3, ".gz") == 0);
    return found || antler_file_foreign(path) != NULL;
}

static bool is_set(const cli_list *set, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < set->count; i++)
        found =
            found || (strncmp(set->items[i], name, strlen(name)) == 0 && set->items[i][strlen(name)] == '=');
    return found;
}

/*
 * Without a settings file, a table that is too short for the defaults gets shorter windows and a larger share
 * that is held back; what the command line sets stays.  Where nothing fits, the training says why.
 */
static void suit_short_data(const settings *s, antler_settings *given)
{
    static const double shares[] = {0.2, 0.3, 0.4, 0.5};
    static const size_t lengths[] = {200, 100, 50, 25};
    antler_settings trial = *given;
    antler_series *series = NULL;
    const bool keeps_share = is_set(&s->set, "validation") || is_set(&s->set, "validation_data");
    const bool keeps_length = is_set(&s->set, "sequence_length");
    if ((keeps_share && keeps_length) || !cli_ok(antler_settings_series(given, &series)))
        return;
    antler_status status = antler_settings_check(given, series);
    for (size_t i = 0; i < 4 && status != ANTLER_OK; i++) {
        for (size_t k = 0; k < 4 && status != ANTLER_OK; k++) {
            trial.sequence_length = keeps_length ? given->sequence_length : lengths[i];
            trial.validation = keeps_share ? given->validation : shares[k];
            status = antler_settings_check(&trial, series);
        }
    }
    antler_series_free(series);
    if (status != ANTLER_OK ||
        (trial.sequence_length == given->sequence_length && trial.validation == given->validation))
        return;
    *given = trial;
    if (!s->quiet)
        printf("The data are short: sequence_length is %zu%s and validation %g%s\n", given->sequence_length,
               keeps_length ? "" : " (200 otherwise)", given->validation, keeps_share ? "" : " (0.2)");
}

static int read_settings(const settings *s, char *const *paths, size_t count, antler_settings *out)
{
    antler_status status = ANTLER_OK;
    size_t data = 0;
    for (size_t i = 0; i < count; i++)
        data += is_data(paths[i]);
    if (data < count && count > 1)
        return cli_usage_error("give one settings file, or data files (.npy, .npz, .csv, .tsv, .txt, .dat)");
    if (data == 0) {
        status = antler_settings_load(paths[0], out);
    } else {
        const int code = cli_settings_of_files(paths, count, out);
        if (code != CLI_DONE)
            return code;
    }
    if (status == ANTLER_OK)
        status = cli_load_to_settings(&s->load, out);
    for (size_t i = 0; i < s->set.count && status == ANTLER_OK; i++)
        status = antler_settings_set(out, s->set.items[i]);
    for (size_t i = 0; i < s->test.count && status == ANTLER_OK; i++) {
        const size_t used = i == 0 ? 0 : strlen(out->test_data);
        snprintf(out->test_data + used, sizeof out->test_data - used, "%s%s", i == 0 ? "" : "\n",
                 s->test.items[i]);
    }
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

static int check_only(const antler_settings *given)
{
    antler_series *series = NULL;
    antler_status status = antler_settings_check(given, NULL);
    if (status == ANTLER_OK)
        status = antler_settings_series(given, &series);
    if (status == ANTLER_OK)
        status = antler_settings_check(given, series);
    if (status == ANTLER_OK)
        cli_load_notes(series);
    if (status == ANTLER_OK)
        printf("Settings and data fit together: %zu trajector%s, %zu rows, %zu variable%s, %zu input%s.\n",
               antler_series_count(series), antler_series_count(series) == 1 ? "y" : "ies",
               antler_series_total_length(series), antler_series_dim(series),
               antler_series_dim(series) == 1 ? "" : "s", antler_series_input_dim(series),
               antler_series_input_dim(series) == 1 ? "" : "s");
    antler_series_free(series);
    return status == ANTLER_OK ? CLI_DONE : cli_fail(status);
}

static int check_resume(const settings *s, const antler_settings *given)
{
    antler_train_result result;
    const antler_status status = antler_train_resume_check(s->resume, given, NULL, &result);
    if (status != ANTLER_OK)
        return cli_fail(status);
    printf("Settings, data and checkpoints go together: %zu runs, %zu of them finished.\n",
           result.finished + result.stopped, result.finished);
    return CLI_DONE;
}

/* What `--resume` needs to continue: the folder of the run, or the one above all. */
static void name_folder(const settings *s, const antler_settings *given, char *folder, size_t bytes)
{
    if (s->resume != NULL)
        snprintf(folder, bytes, "%s", s->resume);
    else if (s->run > 0 || given->runs == 1)
        snprintf(folder, bytes, "%s/%s/%s/%03zu", given->results, given->experiment, given->name,
                 s->run > 0 ? s->run : (size_t)1);
    else
        snprintf(folder, bytes, "%s/%s/%s", given->results, given->experiment, given->name);
}

static int train(const settings *s, const antler_settings *given)
{
    cli_training training;
    antler_train_result result = {.finished = 0};
    char folder[4096];
    name_folder(s, given, folder, sizeof folder);
    const int joined = cli_ranks_join(folder);
    if (joined != CLI_DONE)
        return joined;
    cli_training_begin(&training, s->quiet, "");
    const antler_train_events events = cli_training_events(&training);
    const antler_status status = s->resume != NULL
                                     ? antler_train_resume(s->resume, given, &events, &result)
                                     : antler_train(given, s->run, s->overwrite, &events, &result);
    cli_training_end(&training);
    if (!cli_ranks_leave(status))
        return CLI_DONE;
    const int code = cli_training_conclude(&training, status, &result);
    if (status != ANTLER_OK && status != ANTLER_DIVERGED)
        return code;
    const int judged = cli_train_verdicts(&result, s->quiet);
    if (!s->quiet && judged == CLI_DONE && result.finished > 0)
        cli_next_of_runs(result.folder, result.run, result.finished + result.diverged);
    return status == ANTLER_OK ? judged : code;
}

static int train_or_check(const cli_command *self, int argc, char **argv)
{
    settings s = {.resume = NULL};
    antler_settings given;
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, &s, &count, &code))
        return code;
    if (s.list) {
        list_settings();
        return CLI_DONE;
    }
    if (count == 0 && s.resume == NULL)
        return cli_usage_error("'antler train' needs a data file, a settings file, or --resume RUN");
    if (count == 0 && (s.set.count + s.test.count > 0 || cli_load_given(&s.load)))
        return cli_usage_error(
            "%s needs a data file or a settings file; a run resumes with the settings that it began with",
            s.set.count > 0    ? "--set"
            : s.test.count > 0 ? "--test"
                               : "what is said about the table");
    if (s.resume != NULL && (s.overwrite || s.run > 0))
        return cli_usage_error(
            "--resume cannot be combined with --overwrite or --run; give the folder of the run");
    if (count > 0) {
        code = read_settings(&s, argv, count, &given);
        if (code == CLI_DONE && s.resume == NULL)
            code = cli_foreign_settle(&given, s.quiet);
        if (code != CLI_DONE)
            return code;
        if (is_data(argv[0]) && s.resume == NULL)
            suit_short_data(&s, &given);
    }
    if (s.check)
        return s.resume == NULL ? check_only(&given) : check_resume(&s, count > 0 ? &given : NULL);
    return train(&s, count > 0 ? &given : NULL);
}

static int run(const cli_command *self, int argc, char **argv)
{
    cli_ranks_open();
    return cli_ranks_end(train_or_check(self, argc, argv));
}

const cli_command cli_train = {
    .name = "train",
    .summary = "train models on time series, with checkpoints and exact resume",
    .arguments = "FILE.yaml|DATA...",
    .description =
        "Train with the settings of a YAML file, or on data files with the default settings; the experiment "
        "is "
        "then named after the first file, and short data get shorter windows. --set changes any setting. "
        "Each run has a folder, "
        "<results>/<experiment>/<name>/<001>, with "
        "config.yaml (all settings), log.csv, model.npz (the latest model) and checkpoints.\n\n"
        "Ctrl-C finishes the update, writes a checkpoint and prints the command that continues from there; a "
        "second "
        "Ctrl-C stops at once and loses nothing older than the last checkpoint. A resumed run gives the same "
        "bytes as one that was never stopped.\n\n"
        "With validation, each run ends with a verdict on its held-back rows, also in verdict.json.\n\n"
        "A run that diverges stops with the reason and keeps its last good model; the others continue, and "
        "the exit code is 1.\n\n"
        "Started by mpiexec or srun, the processes share the training: its runs, or the windows and the time "
        "of each run. The models are those of one process.\n\n"
        "'antler train --settings' explains every setting.",
    .examples = "  $ antler train weather.csv --set runs=3 --set latent_dim=8\n"
                "  $ antler train examples/lorenz63.yaml --set runs=10\n"
                "  $ antler train run.yaml --set gtf_alpha=0.2 --set name=alpha-0.2\n"
                "  $ antler train --resume Results/lorenz63/full/001\n"
                "  $ mpiexec -n 4 antler train run.yaml\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .maximum = CLI_LIST_MAX,
    .run = run,
};
