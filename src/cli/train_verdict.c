/* train_verdict.c - after `antler train` with validation: what the held-back rows say about each run. */
#include "cli/train_verdict.h"

#include "cli/evaluation.h"
#include "cli/loss_log.h"

#include <stdlib.h>

/* A training whose runs are judged. */
typedef struct judged {
    antler_settings settings;
    antler_series *series, *held_back;
    antler_floors floors; /* of the first run, for all; rows is 0 before */
} judged;

static antler_status judge(judged *j, const char *run, antler_verdict *verdict)
{
    char path[1600];
    antler_model *model = NULL;
    snprintf(path, sizeof path, "%s/best.npz", run);
    const antler_status status = antler_model_load(path, &model);
    if (status != ANTLER_OK)
        return status;
    cli_loss_log log = cli_loss_log_read(run);
    const antler_status done =
        antler_verdict_on(model, j->held_back, &log.curve, (int)j->settings.threads, &j->floors, verdict);
    cli_loss_log_free(&log);
    antler_model_free(model);
    return done;
}

static int judge_run(judged *j, const char *run, bool quiet)
{
    char path[1600];
    antler_verdict verdict;
    const antler_status status = judge(j, run, &verdict);
    if (status != ANTLER_OK)
        return cli_fail(status);
    if (!quiet)
        printf("%s: %s. %s %s\n", run, antler_verdict_name(verdict.kind), verdict.text, verdict.advice);
    snprintf(path, sizeof path, "%s/verdict.json", run);
    json_t *json = cli_verdict_json(&verdict);
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    const int code = text == NULL ? CLI_MACHINE : cli_write_file(path, text);
    free(text);
    json_decref(json);
    return code;
}

/* The settings of the runs, and the rows that their training did not see; held_back stays NULL without
 * validation. */
static antler_status open_training(judged *j, const char *run)
{
    char path[1600];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    antler_status status = antler_settings_load(path, &j->settings);
    if (status != ANTLER_OK || (j->settings.validation == 0.0 && j->settings.validation_data[0] == '\0'))
        return status;
    status = antler_settings_series(&j->settings, &j->series);
    return status == ANTLER_OK ? antler_settings_held_back(&j->settings, j->series, &j->held_back) : status;
}

int cli_train_verdicts(const antler_train_result *result, bool quiet)
{
    judged *j = calloc(1, sizeof *j);
    char run[1500];
    int code = CLI_DONE;
    if (j == NULL)
        return CLI_MACHINE;
    const size_t first = result->run > 0 ? result->run : 1;
    snprintf(run, sizeof run, "%s/%03zu", result->folder, first);
    const antler_status status = open_training(j, run);
    if (status != ANTLER_OK)
        code = cli_fail(status);
    const size_t last = result->run > 0 ? result->run : j->settings.runs;
    for (size_t i = first; i <= last && code == CLI_DONE && j->held_back != NULL; i++) {
        snprintf(run, sizeof run, "%s/%03zu", result->folder, i);
        code = judge_run(j, run, quiet);
    }
    antler_series_free(j->held_back);
    antler_series_free(j->series);
    free(j);
    return code;
}
