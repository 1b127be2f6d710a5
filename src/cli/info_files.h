/* info_files.h - what is in the files and folders that Antler writes, apart from series and models. */
#ifndef ANT_CLI_INFO_FILES_H
#define ANT_CLI_INFO_FILES_H

#include "cli/command.h"

#include <jansson.h>

/*
 * {"file": ..., "what": "log of a training", facts...} of a settings file, a grid, log.csv, trials.csv,
 * plan.csv, metrics.csv, statistics.csv, metrics.json, verdict.json, the facts of a table, diverged.txt or a
 * report; NULL: it is none of them.  The caller drops it.
 */
json_t *cli_info_file(const char *path);

/* The same of a folder with runs below it: of a name, an experiment or all results; NULL: there is none. */
json_t *cli_info_folder(const char *path);

/* What a training has left beside the model of a run folder: its log and its verdict. */
json_t *cli_info_run(const char *path);

/* As text: "file: what" and one line per fact. */
void cli_info_print(json_t *description);

#endif
