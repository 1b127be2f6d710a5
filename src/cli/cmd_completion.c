/* cmd_completion.c - `antler completion SHELL`: completion scripts, made from the commands' tables. */
#include "cli/command.h"

#include <string.h>

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static bool takes_files(const cli_option *option)
{
    return option->kind == CLI_FILE || option->kind == CLI_FILES;
}

static void command_words(FILE *out)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        fprintf(out, "%s%s", i ? " " : "", cli_commands[i]->name);
}

static void option_words(const cli_command *command, FILE *out)
{
    for (size_t i = 0; i < command->option_count; i++)
        fprintf(out, "--%s ", command->options[i].name);
    fputs("--help", out);
}

/* One case per option with choices or a file; other options complete to nothing. */
static void bash_values(const cli_command *command, FILE *out)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (option->kind == CLI_FLAG)
            continue;
        fprintf(out, "        %s:--%s) ", command->name, option->name);
        if (option->kind == CLI_ASSIGN) {
            fputs("_antler_setting \"$word\" \"${word%%=*}=\" ;;\n", out);
        } else if (takes_files(option)) {
            fputs("COMPREPLY=($(compgen -f -- \"$word\")) ;;\n", out);
        } else if (option->kind == CLI_CHOICE) {
            fputs("COMPREPLY=($(compgen -W '", out);
            for (size_t j = 0; option->choices[j] != NULL; j++)
                fprintf(out, "%s ", option->choices[j]);
            fputs("' -- \"$word\")) ;;\n", out);
        } else {
            fputs("COMPREPLY=() ;;\n", out);
        }
    }
}

static void bash_arguments(const cli_command *command, FILE *out)
{
    fprintf(out, "        %s:*) ", command->name);
    fputs("if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '", out);
    option_words(command, out);
    fputs("' -- \"$word\")); ", out);
    if (command->complete != NULL) {
        fputs("else COMPREPLY=($(compgen -W '", out);
        for (size_t i = 0; command->complete(i) != NULL; i++)
            fprintf(out, "%s ", command->complete(i));
        fputs("' -- \"$word\")); ", out);
    } else if (command->maximum > 0) {
        fputs("else COMPREPLY=($(compgen -f -- \"$word\")); ", out);
    }
    fputs("fi ;;\n", out);
}

static bool is_path(const antler_setting_info *info)
{
    return strcmp(info->kind, "list of paths") == 0 || strcmp(info->name, "results") == 0;
}

/* Print the words that a setting can have; false: any number or text. */
static bool setting_values(const antler_setting_info *info, const char *before, FILE *out)
{
    static const char *const truth[] = {"true", "false", NULL};
    const char *const *values = strcmp(info->kind, "true or false") == 0 ? truth : info->choices;
    for (size_t i = 0; values != NULL && values[i] != NULL; i++)
        fprintf(out, "%s%s ", before, values[i]);
    return values != NULL;
}

/*
 * A function that completes NAME or NAME=VALUE, $1; $2 goes before every value of the reply.  bash takes =
 * for the end of a word, and other shells do not.
 */
static void bash_settings(FILE *out)
{
    fputs("_antler_setting() {\n    local values=\n    compopt +o filenames 2>/dev/null\n"
          "    if [[ $1 != *=* ]]; then\n        compopt -o nospace 2>/dev/null\n"
          "        COMPREPLY=($(compgen -S = -W '",
          out);
    for (size_t i = 0; i < antler_setting_count(); i++)
        fprintf(out, "%s ", antler_setting_at(i)->name);
    fputs("' -- \"$1\"))\n        return\n    fi\n    case ${1%%=*} in\n", out);
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const antler_setting_info *info = antler_setting_at(i);
        if (is_path(info)) {
            fprintf(out, "        %s) COMPREPLY=($(compgen -P \"$2\" -f -- \"${1#*=}\")); return ;;\n",
                    info->name);
        } else if (info->choices != NULL || strcmp(info->kind, "true or false") == 0) {
            fprintf(out, "        %s) values='", info->name);
            setting_values(info, "", out);
            fputs("' ;;\n", out);
        }
    }
    fputs("    esac\n    COMPREPLY=($(compgen -P \"$2\" -W \"$values\" -- \"${1#*=}\"))\n}\n", out);
}

static void bash_script(FILE *out)
{
    fputs("# bash completion for antler\n", out);
    bash_settings(out);
    fputs("_antler() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
          "command=${COMP_WORDS[1]}\n"
          "    if [[ $COMP_CWORD -gt 3 && $word == = && ${COMP_WORDS[COMP_CWORD-2]} == --set ]]; then\n"
          "        _antler_setting \"$before=\" ''\n        return\n    fi\n"
          "    if [[ $COMP_CWORD -gt 4 && $before == = && ${COMP_WORDS[COMP_CWORD-3]} == --set ]]; then\n"
          "        _antler_setting \"${COMP_WORDS[COMP_CWORD-2]}=$word\" ''\n        return\n    fi\n"
          "    if [[ $COMP_CWORD == 1 ]]; then\n        COMPREPLY=($(compgen -W '",
          out);
    command_words(out);
    fputs(" help --help --version' -- \"$word\"))\n        return\n    fi\n"
          "    case $command:$before in\n",
          out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        bash_values(cli_commands[i], out);
        bash_arguments(cli_commands[i], out);
    }
    fputs("    esac\n}\ncomplete -o filenames -F _antler antler\n", out);
}

/* Quote for a single-quoted shell word. */
static void quoted(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
}

/* NAME=VALUE for choices, NAME= for others. */
static void fish_settings(FILE *out)
{
    for (size_t i = 0; i < antler_setting_count(); i++) {
        const antler_setting_info *info = antler_setting_at(i);
        char before[80];
        snprintf(before, sizeof before, "%s=", info->name);
        if (!setting_values(info, before, out))
            fprintf(out, "%s ", before);
    }
}

static void fish_script(FILE *out)
{
    fputs("# fish completion for antler\ncomplete -c antler -n __fish_use_subcommand -f -a help -d 'explain "
          "a command'\n",
          out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const cli_command *command = cli_commands[i];
        fprintf(out, "complete -c antler -n __fish_use_subcommand -f -a %s -d '", command->name);
        quoted(command->summary, out);
        fputs("'\n", out);
        for (size_t j = 0; j < command->option_count; j++) {
            const cli_option *option = &command->options[j];
            fprintf(out, "complete -c antler -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                    option->name);
            if (takes_files(option))
                fputs(" -r -F", out);
            else if (option->kind != CLI_FLAG)
                fputs(" -x", out);
            if (option->kind == CLI_CHOICE) {
                fputs(" -a '", out);
                for (size_t k = 0; option->choices[k] != NULL; k++)
                    fprintf(out, "%s ", option->choices[k]);
                fputc('\'', out);
            }
            if (option->kind == CLI_ASSIGN) {
                fputs(" -a '", out);
                fish_settings(out);
                fputc('\'', out);
            }
            fputs(" -d '", out);
            quoted(option->help, out);
            fputs("'\n", out);
        }
        for (size_t j = 0; command->complete != NULL && command->complete(j) != NULL; j++)
            fprintf(out, "complete -c antler -n '__fish_seen_subcommand_from %s' -f -a %s\n", command->name,
                    command->complete(j));
    }
}

static int run(const cli_command *self, int argc, char **argv)
{
    size_t count = 0;
    int code = CLI_DONE;
    if (!cli_parse(self, argc, argv, NULL, &count, &code))
        return code;
    if (strcmp(argv[0], "bash") == 0) {
        bash_script(stdout);
    } else if (strcmp(argv[0], "zsh") == 0) {
        fputs("#compdef antler\nautoload -U +X bashcompinit && bashcompinit\n", stdout);
        bash_script(stdout);
    } else if (strcmp(argv[0], "fish") == 0) {
        fish_script(stdout);
    } else {
        return cli_usage_error("there is no completion for '%s'; there is one for bash, zsh and fish",
                               argv[0]);
    }
    return CLI_DONE;
}

static const char *complete(size_t index)
{
    return shells[index];
}

const cli_command cli_completion = {
    .name = "completion",
    .summary = "write a completion script for bash, zsh or fish",
    .arguments = "SHELL",
    .description = "Write a script that completes commands, options, file names, and settings after --set, "
                   "in the shell. "
                   "'make install' installs the scripts; without it, load the script by hand.",
    .examples = "  $ source <(antler completion bash)\n  $ antler completion fish > "
                "~/.config/fish/completions/antler.fish\n",
    .minimum = 1,
    .maximum = 1,
    .complete = complete,
    .run = run,
};
