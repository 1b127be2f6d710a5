/* evaluation.h - the result of `antler evaluate` as lines, as JSON and as a row of metrics. */
#ifndef ANT_CLI_EVALUATION_H
#define ANT_CLI_EVALUATION_H

#include "cli/command.h"

#include <jansson.h>

enum { CLI_EVALUATION_METRICS = 6 };

/* dstsp, dstsp_embedded, hellinger, rmse, lyapunov_max, kaplan_yorke */
extern const char *const cli_evaluation_names[CLI_EVALUATION_METRICS];

/* One run: what was evaluated, how, and what came out. */
typedef struct cli_evaluation {
    const char *run; /* as given */
    const antler_model *model;
    const antler_series *truth;
    const antler_evaluate_opts *opts;
    const antler_evaluate_result *result;
} cli_evaluation;

/* Infinite where the run diverged, NaN where nothing was measured.  values: (CLI_EVALUATION_METRICS) */
void cli_evaluation_metrics(const cli_evaluation *evaluation, double *values);

json_t *cli_evaluation_json(const cli_evaluation *evaluation);

void cli_evaluation_print(const cli_evaluation *evaluation);

#endif
