/* main.c - selects the command, or a program antler-NAME. */
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/extension.h"
#include "cli/show.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {&cli_fit,      &cli_tune,       &cli_train,    &cli_sweep,
                                           &cli_simulate, &cli_generate,   &cli_evaluate, &cli_lyapunov,
                                           &cli_measure,  &cli_info,       &cli_convert,  &cli_bench,
                                           &cli_man,      &cli_completion, NULL};

static int unknown_command(const char *word)
{
    const char *source = cli_extension_source(word);
    if (source != NULL)
        return cli_usage_error("there is no program antler-%s beside antler or on the PATH; %s", word,
                               source);
    const char *names[sizeof cli_commands / sizeof cli_commands[0]];
    size_t count = 0;
    for (; cli_commands[count] != NULL; count++)
        names[count] = cli_commands[count]->name;
    return cli_usage_error("there is no command '%s'%s; see 'antler --help'", word,
                           cli_did_you_mean(word, names, count));
}

static const cli_command *find_command(const char *word)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (strcmp(cli_commands[i]->name, word) == 0)
            return cli_commands[i];
    }
    return NULL;
}

/* Not a built-in command: a program antler-`word`, or an error. */
static int other_program(const char *word, char **arguments)
{
    char path[PATH_MAX];
    return cli_extension_find(word, path) ? cli_extension_run(path, arguments) : unknown_command(word);
}

/* Without memory or threads libgomp calls exit(1), in the middle of the work. */
static void end_for_gomp(void)
{
    if (cli_show_gomp()[0] == '\0')
        return;
    fflush(stdout);
    fprintf(stderr, "antler: no memory or no threads (libgomp: %s); use fewer threads or free some memory\n",
            cli_show_gomp());
    _exit(CLI_MACHINE);
}

/* A page of a mapped file cannot be read: another program has made the file shorter, or the disk failed. */
static void end_for_lost_page(int number)
{
    static const char words[] =
        "antler: a file became shorter while it was in use, or its disk failed; leave data as they are until "
        "the work is done\n";
    (void)number;
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(CLI_MACHINE);
}

/* Whether the arguments request JSON from a command that offers it. */
static bool wants_json(const cli_command *command, int argc, char *const *argv)
{
    bool has = false, wants = false;
    for (size_t i = 0; i < command->option_count; i++)
        has = has || strcmp(command->options[i].name, "json") == 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        wants = wants || strcmp(argv[i], "--json") == 0;
    return has && wants;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    if (wants_json(command, argc, argv)) /* parsing moves arguments */
        cli_json_want();
    const int code = command->run(command, argc, argv);
    cli_json_conclude(code);
    return cli_finish(code);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* for the characters of sketches; numbers stay in the C locale */
    if (!cli_show_begin())
        return cli_no_memory("the output");
    atexit(end_for_gomp);
    cli_json_begin();
    signal(SIGBUS, end_for_lost_page);
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the size limit is an error with a message, not a signal */
    if (argc < 2) {
        cli_help_overview(stderr);
        return CLI_USAGE;
    }
    static char help_option[] = "--help";
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cli_help_overview(stdout);
        return cli_finish(CLI_DONE);
    }
    if (strcmp(word, "help") == 0) {
        const cli_command *about = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && about == NULL)
            return other_program(argv[2], (char *[]){NULL, help_option, NULL});
        if (about != NULL)
            cli_help_command(about, stdout);
        else
            cli_help_overview(stdout);
        return cli_finish(CLI_DONE);
    }
    if (strcmp(word, "--version") == 0) {
        puts(antler_build_info());
        return cli_finish(CLI_DONE);
    }
    const cli_command *command = find_command(word);
    if (command == NULL)
        return other_program(word, argv + 1);
    return run_command(command, argc - 2, argv + 2);
}
