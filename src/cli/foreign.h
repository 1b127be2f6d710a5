/*
 * foreign.h - data files that the library does not read itself: other formats, through the program
 * antler-convert of the Python package, and standard input for commands that read their data twice.
 */
#ifndef ANT_CLI_FOREIGN_H
#define ANT_CLI_FOREIGN_H

#include "cli/command.h"
#include "cli/data_options.h"

/*
 * As antler_series_load, where a file of another format is converted to a temporary one first.  Returns
 * CLI_DONE, or the exit code after a message.
 */
int cli_series_load(const cli_list *files, const cli_load *load, antler_series **series);

/* A text of the library, where the name of a temporary copy becomes that of the file. */
const char *cli_foreign_shown(const char *text);

/*
 * For a training, which names its data in config.yaml: files of other formats and standard input become
 * files in <results>/<experiment>, and settings->data names those.
 */
int cli_foreign_settle(antler_settings *settings, bool quiet);

#endif
