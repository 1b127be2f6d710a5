/* train_verdict.h - the verdict on trained models, where rows were held back. */
#ifndef ANT_CLI_TRAIN_VERDICT_H
#define ANT_CLI_TRAIN_VERDICT_H

#include "cli/command.h"

/*
 * Evaluate the best model of every run of a training on its held-back rows: one line each, and verdict.json
 * in the run's folder.  Nothing without validation.  Returns the exit code.
 */
int cli_train_verdicts(const antler_train_result *result, bool quiet);

#endif
