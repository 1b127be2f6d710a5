/*
 * stamp.h - a hash of an evaluation's inputs in sixteen hexadecimal digits: the bytes of the model, the
 * values of the data, every option that changes a measure, the version.  The same stamp means the same
 * evaluation.
 */
#ifndef ANT_CLI_STAMP_H
#define ANT_CLI_STAMP_H

#include "cli/command.h"

#include <stdint.h>

typedef struct cli_stamp {
    char text[17]; /* "": there is no such model */
} cli_stamp;

/* The part from data and options, which many runs have in common.  Returns CLI_DONE to continue, or the exit
 * code. */
int cli_stamp_begin(const antler_series *truth, const antler_evaluate_opts *opts, uint64_t *common);

/* RUN is a folder with a model.npz, or a model.  Returns CLI_DONE to continue, or the exit code. */
int cli_stamp_run(uint64_t common, const char *run, cli_stamp *stamp);

#endif
