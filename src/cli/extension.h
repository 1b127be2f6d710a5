/* extension.h - programs antler-NAME as commands `antler NAME`. */
#ifndef ANT_CLI_EXTENSION_H
#define ANT_CLI_EXTENSION_H

#include "cli/command.h"

#include <limits.h>

/* True: there is a program antler-`name` beside this one or on the PATH, and `path` is its path. */
bool cli_extension_find(const char *name, char path[PATH_MAX]);

/* A hint on how to install the extension `name` of Antler; NULL: it is not Antler's. */
const char *cli_extension_source(const char *name);

/* Replace this process by that program.  arguments[0] is overwritten, the rest is passed on; NULL ends it.
 * Returns on failure only. */
int cli_extension_run(char *path, char **arguments);

#endif
