/* help.c - --help and man pages, from the tables of the commands. */
#include "cli/command.h"

#include <string.h>

static const char overview[] = "Antler reconstructs dynamical systems from time series. Data are tables with "
                               "time running down the rows; "
                               ".npy, .npz, .csv and .tsv are read and written.";

static const char extensions[] =
    "Any other COMMAND runs the program antler-COMMAND beside antler or on the "
    "PATH, with the same arguments. 'antler report', which draws runs on a page for the "
    "browser, is one; it comes with Antler's Python package.";

static const char *const exit_codes[][2] = {
    {"0", "done"},
    {"1", "numerical failure: diverged, not converged, not finite"},
    {"2", "bad usage or bad input; the message names the place and a remedy"},
    {"3", "failure of the machine: disk, memory, device"},
    {"130", "stopped by Ctrl-C; no half-written file is left"},
};
enum { EXIT_CODES = sizeof exit_codes / sizeof exit_codes[0], WIDTH = 79 };

/* Print words wrapped to WIDTH, indented; the cursor is at `column`. */
static void wrap(FILE *out, const char *text, int indent, int column)
{
    while (*text != '\0') {
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] == '\n' || text[1] == '\0' ? 0 : indent, "");
            column = indent;
            text++;
            continue;
        }
        if (*text == ' ') {
            text++;
            continue;
        }
        const int length = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        (void)fwrite(text, 1, (size_t)length, out);
        column += length;
        text += length;
    }
    fputc('\n', out);
}

static void entry(FILE *out, const char *head, const char *text, int indent)
{
    const int used = fprintf(out, "  %s", head);
    if (used + 1 >= indent)
        fprintf(out, "\n%*s", indent, "");
    else
        fprintf(out, "%*s", indent - used, "");
    wrap(out, text, indent, indent);
}

void cli_help_overview(FILE *out)
{
    fputs("Usage: antler COMMAND [OPTIONS] [ARGUMENTS]\n\n", out);
    wrap(out, overview, 0, 0);
    fputs("\nCommands:\n", out);
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        entry(out, cli_commands[i]->name, cli_commands[i]->summary, 16);
    fputc('\n', out);
    wrap(out, extensions, 0, 0);
    fputs("\nOptions:\n", out);
    entry(out, "--help", "This page; 'antler COMMAND --help' for one command.", 16);
    entry(out, "--version", "Version, revision, compiler and flags, on one line.", 16);
    fputs("\nExit codes:\n", out);
    for (size_t i = 0; i < EXIT_CODES; i++)
        entry(out, exit_codes[i][0], exit_codes[i][1], 16);
}

void cli_help_command(const cli_command *command, FILE *out)
{
    fprintf(out, "Usage: antler %s [OPTIONS]%s%s\n\n", command->name, command->arguments[0] ? " " : "",
            command->arguments);
    wrap(out, command->description, 0, 0);
    fputs("\nOptions:\n", out);
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        char head[80];
        snprintf(head, sizeof head, "--%s%s%s", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        entry(out, head, option->help, 26);
    }
    entry(out, "--help", "This page.", 26);
    if (command->examples != NULL)
        fprintf(out, "\nExamples:\n%s", command->examples);
}

/* roff interprets backslashes, and dots and quotes at the start of a line. */
static void roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (text[0] == '\n' && text[1] == '\n')
            fputs("\n.PP", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
    fputc('\n', out);
}

static void man_options(const cli_command *command, FILE *out)
{
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        fputs(".TP\n\\fB\\-\\-", out);
        for (const char *c = option->name; *c != '\0'; c++)
            fputs(*c == '-' ? "\\-" : (char[]){*c, '\0'}, out);
        fputs("\\fR", out);
        if (option->value != NULL)
            fprintf(out, " \\fI%s\\fR", option->value);
        fputc('\n', out);
        roff(out, option->help);
    }
}

static void man_exit_codes(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < EXIT_CODES; i++) {
        fprintf(out, ".TP\n%s\n", exit_codes[i][0]);
        roff(out, exit_codes[i][1]);
    }
}

static void man_overview(FILE *out)
{
    fprintf(out, ".TH ANTLER 1 \"\" \"Antler %s\" \"User Commands\"\n", antler_version());
    fputs(".SH NAME\nantler \\- reconstruct dynamical systems from time series\n", out);
    fputs(".SH SYNOPSIS\n\\fBantler\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n", out);
    fputs(".SH DESCRIPTION\n", out);
    roff(out, overview);
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        fprintf(out, ".TP\n\\fBantler\\-%s\\fR(1)\n", cli_commands[i]->name);
        roff(out, cli_commands[i]->summary);
    }
    fputs(".PP\n", out);
    roff(out, extensions);
    fputs(".SH ENVIRONMENT\n.TP\nANTLER_CPU\n", out);
    roff(out, "base, avx2 or avx512: the highest instruction set to use, for tests and bug reports.");
    fputs(".TP\nOMP_NUM_THREADS\nThreads to use where \\-\\-threads is not given.\n", out);
    fputs(".TP\nANTLER_MPI\n", out);
    roff(out, "Below mpiexec or srun: the MPI library to open; none: each process trains alone.");
    man_exit_codes(out);
}

void cli_man_page(const cli_command *command, FILE *out)
{
    if (command == NULL) {
        man_overview(out);
        return;
    }
    fprintf(out, ".TH ANTLER\\-%s 1 \"\" \"Antler %s\" \"User Commands\"\n", command->name, antler_version());
    fprintf(out, ".SH NAME\nantler\\-%s \\- ", command->name);
    roff(out, command->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fBantler %s\\fR [\\fIOPTIONS\\fR] %s\n.SH DESCRIPTION\n", command->name,
            command->arguments);
    roff(out, command->description);
    man_options(command, out);
    if (command->examples != NULL) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        roff(out, command->examples);
        fputs(".fi\n", out);
    }
    man_exit_codes(out);
    fputs(".SH SEE ALSO\n\\fBantler\\fR(1)\n", out);
}
