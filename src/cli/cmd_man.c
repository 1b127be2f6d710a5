/* cmd_man.c - `antler man`: the manual pages, made from the same tables as --help. */
#include "cli/command.h"

#include <string.h>

static int run(const cli_command *self, int argc, char **argv)
{
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, NULL, &count, &code))
        return code;
    if (count == 0) {
        cli_man_page(NULL, stdout);
        return CLI_DONE;
    }
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, argv[0]) == 0) {
            cli_man_page(cli_commands[i], stdout);
            return CLI_DONE;
        }
    }
    return cli_usage_error("there is no command '%s'; see 'antler --help'", argv[0]);
}

static const char *complete(size_t index)
{
    return cli_commands[index] == NULL ? NULL : cli_commands[index]->name;
}

const cli_command cli_man = {
    .name = "man",
    .summary = "write a manual page in roff, for packagers",
    .arguments = "[COMMAND]",
    .description = "Write the manual page of a command to standard output, or that of antler itself. "
                   "'make install' installs all of them.",
    .examples = "  $ antler man measure | man -l -\n",
    .maximum = 1,
    .complete = complete,
    .run = run,
};
