/* extension.h - programs antler-NAME as commands `antler NAME`. */
#ifndef ANT_CLI_EXTENSION_H
#define ANT_CLI_EXTENSION_H

#include "cli/command.h"

#include <limits.h>

/* Is there a program antler-`name`, beside this one or on the PATH?  Its path is in `path` then. */
bool cli_extension_find(const char *name, char path[PATH_MAX]);

/* Where one gets the extension `name` when it is one of Antler's own; NULL when it is not. */
const char *cli_extension_source(const char *name);

/* Become that program.  arguments[0] is overwritten, the rest is passed on; NULL ends it.  Returns on failure
 * only. */
int cli_extension_run(char *path, char **arguments);

#endif
