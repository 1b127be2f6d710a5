/* evaluation.h - the result of `antler evaluate` as lines, as JSON and as a row of metrics. */
#ifndef ANT_CLI_EVALUATION_H
#define ANT_CLI_EVALUATION_H

#include "cli/command.h"
#include "cli/stamp.h"

#include <jansson.h>

/* One run: what was evaluated, how, and what came out. */
typedef struct cli_evaluation {
    const char *run; /* as given */
    const antler_model *model;
    const antler_series *truth;
    const antler_evaluate_opts *opts;
    const antler_evaluate_result *result;
    cli_stamp stamp;
} cli_evaluation;

json_t *cli_evaluation_json(const cli_evaluation *evaluation);
json_t *cli_verdict_json(const antler_verdict *verdict);

/* metrics.json beside the model; nothing when the run is no folder.  Returns CLI_DONE to continue, or the
 * exit code.
 */
int cli_evaluation_write(const cli_evaluation *evaluation, const json_t *json);

/* The metrics in the metrics.json of a folder.  False: there is none that has all that the options request
   and bears this stamp.  values: (ANTLER_MEASURE_MAX), as in antler_evaluate_result */
bool cli_evaluation_read(const char *folder, const cli_stamp *stamp, const antler_evaluate_opts *opts,
                         double *values, bool *diverged);

void cli_evaluation_print(const cli_evaluation *evaluation);

#endif
