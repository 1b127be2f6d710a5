/* runs.h - which runs a command line names: run folders, model files, or folders that hold runs. */
#ifndef ANT_CLI_RUNS_H
#define ANT_CLI_RUNS_H

#include "cli/command.h"

typedef struct cli_runs {
    size_t count;
    char **paths; /* (count), owned */
} cli_runs;

/* A folder without a model.npz means the runs in it, in alphabetical order.  Returns CLI_DONE to continue, or
 * the exit code. */
int cli_runs_find(char *const *arguments, size_t count, cli_runs *runs);
void cli_runs_free(cli_runs *runs);

/* Returns CLI_DONE to continue, or the exit code: a name that cannot be examined is not a missing one. */
int cli_run_is_folder(const char *path, bool *is_folder);

/* Whether a folder holds a model.npz that can be read.  Returns CLI_DONE to continue, or the exit code. */
int cli_run_has_model(const char *path, bool *has);

/* The folder above a run folder; false when its name is too long. */
bool cli_run_parent(const char *path, char *parent, size_t bytes);

#endif
