/* info_model.h - `antler info` of a model file or a run folder. */
#ifndef ANT_CLI_INFO_MODEL_H
#define ANT_CLI_INFO_MODEL_H

#include "cli/command.h"

#include <jansson.h>

/* Whether the arrays of this file are those of a model. */
bool cli_info_is_model(const antler_file_info *info);

/*
 * Describe the model of a run folder or a file: in *json, or where that is NULL on standard output.  Returns
 * CLI_DONE to continue, or the exit code.
 */
int cli_info_model(const char *path, json_t **json);

#endif
