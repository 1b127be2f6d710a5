/* train_verdict.c - after `antler train` with validation: what the held-back rows say about each run. */
#include "cli/train_verdict.h"

#include "cli/answer.h"
#include "cli/data_options.h"
#include "cli/evaluation.h"
#include "cli/loss_log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A training whose runs are judged. */
typedef struct judged {
    antler_settings settings;
    antler_series *series, *held_back, *test; /* NULL: there are no such rows */
    antler_floors floors, test_floors;        /* of the first run, for all; rows is 0 before */
    cli_loss_log log;                         /* of the run at hand */
    bool doubtful;                            /* a verdict was not good */
} judged;

/* The verdict on the best model of a run or, without validation, the last. */
static antler_status judge(judged *j, const char *run, const char *file, const antler_series *truth,
                           antler_floors *floors, antler_verdict *verdict)
{
    char path[1600];
    antler_model *model = NULL;
    snprintf(path, sizeof path, "%s/%s", run, file);
    const antler_status status = antler_model_load(path, &model);
    if (status != ANTLER_OK)
        return status;
    const antler_status done =
        antler_verdict_on(model, truth, &j->log.curve, (int)j->settings.threads, floors, verdict);
    antler_model_free(model);
    return done;
}

/* Returns CLI_DONE to continue, or the exit code. */
static int has_file(const char *run, const char *file, bool *has)
{
    char path[1600];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", run, file);
    *has = stat(path, &info) == 0;
    return *has || errno == ENOENT ? CLI_DONE : cli_file_error(path, "examined");
}

/* verdict.json: the verdict on held-back rows, and below `test` that on rows that took no part at all. */
static int write_verdicts(const char *run, const antler_verdict *held_back, const antler_verdict *test)
{
    char path[1600];
    snprintf(path, sizeof path, "%s/verdict.json", run);
    json_t *json = held_back == NULL ? json_object() : cli_verdict_json(held_back);
    if (test != NULL)
        json_object_set_new(json, "test", cli_verdict_json(test));
    const int code = cli_json_write(path, json);
    json_decref(json);
    return code;
}

/* `best`: a run that diverged before its first validation, or that had none, has no best model. */
static int judge_models(judged *j, const char *run, bool best, bool last, bool quiet)
{
    antler_verdict held_back, test;
    const char *file = best ? "best.npz" : "model.npz";
    const bool validated = j->held_back != NULL && best, tested = j->test != NULL && (best || last);
    antler_status status = ANTLER_OK;
    if (validated)
        status = judge(j, run, file, j->held_back, &j->floors, &held_back);
    if (status == ANTLER_OK && tested)
        status = judge(j, run, file, j->test, &j->test_floors, &test);
    if (status != ANTLER_OK)
        return cli_fail(status);
    j->doubtful = j->doubtful || (validated && held_back.kind != ANTLER_VERDICT_GOOD);
    if (validated && !quiet)
        printf("%s: %s. %s %s\n", run, antler_verdict_name(held_back.kind), held_back.text, held_back.advice);
    if (tested && !quiet)
        printf("%s: on test rows, which took no part in training: %s. %s\n", run,
               antler_verdict_name(test.kind), test.text);
    if (!validated && !tested)
        return CLI_DONE;
    return write_verdicts(run, validated ? &held_back : NULL, tested ? &test : NULL);
}

static int judge_run(judged *j, const char *run, bool quiet)
{
    bool best = false, last = false;
    int code = has_file(run, "best.npz", &best);
    if (code == CLI_DONE)
        code = has_file(run, "model.npz", &last);
    if (code == CLI_DONE)
        code = cli_loss_log_read(run, &j->log);
    if (code == CLI_DONE)
        code = judge_models(j, run, best, last, quiet);
    cli_loss_log_free(&j->log);
    return code;
}

/* The settings of the runs, and the rows that their training did not see; held_back stays NULL without
 * validation. */
static antler_status open_training(judged *j, const char *run)
{
    char path[1600];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    antler_status status = antler_settings_load(path, &j->settings);
    if (status == ANTLER_OK)
        status = antler_settings_test(&j->settings, &j->test);
    if (status != ANTLER_OK || (j->settings.validation == 0.0 && j->settings.validation_data[0] == '\0'))
        return status;
    status = antler_settings_series(&j->settings, &j->series);
    return status == ANTLER_OK ? antler_settings_held_back(&j->settings, j->series, &j->held_back) : status;
}

int cli_train_verdicts(const antler_train_result *result, bool quiet)
{
    judged *j = cli_memory(1, sizeof *j, "the verdicts");
    char run[1500];
    int code = CLI_DONE;
    const size_t first = result->run > 0 ? result->run : 1;
    snprintf(run, sizeof run, "%s/%03zu", result->folder, first);
    const antler_status status = open_training(j, run);
    if (status != ANTLER_OK)
        code = cli_fail(status);
    const size_t last = result->run > 0 ? result->run : j->settings.runs;
    for (size_t i = first; i <= last && code == CLI_DONE && (j->held_back != NULL || j->test != NULL); i++) {
        snprintf(run, sizeof run, "%s/%03zu", result->folder, i);
        code = judge_run(j, run, quiet);
    }
    if (j->doubtful && !quiet)
        cli_load_suspicions(j->series);
    antler_series_free(j->test);
    antler_series_free(j->held_back);
    antler_series_free(j->series);
    free(j);
    return code;
}
