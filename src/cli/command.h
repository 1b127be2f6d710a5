/*
 * command.h - a command is a table; parser, --help, man page and shell completion all read it.
 *
 * To add a command: write src/cli/<name>.c with a `const cli_command cli_<name>`, and name it in the
 * table of main.c.  Commands use the public header only.
 */
#ifndef ANT_CLI_COMMAND_H
#define ANT_CLI_COMMAND_H

#include <antler/antler.h>

#include <stdio.h>

/* What an option stores, at `offset` in the command's own struct of settings. */
typedef enum cli_kind {
    CLI_FLAG,   /* bool: true when given */
    CLI_TEXT,   /* const char * */
    CLI_FILE,   /* const char *, completed as a file name */
    CLI_CHOICE, /* const char *, one of `choices` */
    CLI_COUNT,  /* size_t; 100000, 1e5 and 100_000 are the same */
    CLI_INT,    /* int, >= 0 */
    CLI_REAL,   /* double, finite */
    CLI_SEED,   /* uint64_t */
    CLI_TEXTS,  /* cli_list: may be repeated */
    CLI_FILES,  /* cli_list, completed as file names */
    CLI_ASSIGN, /* cli_list of NAME=VALUE for settings, completed by name and value */
} cli_kind;

enum { CLI_LIST_MAX = 256 };

typedef struct cli_list {
    const char *items[CLI_LIST_MAX]; /* point into argv */
    size_t count;
} cli_list;

typedef struct cli_option {
    const char *name; /* without the dashes */
    cli_kind kind;
    const char *value;          /* placeholder of the value in --help; NULL for a flag */
    const char *help;           /* one sentence, with the default */
    size_t offset;              /* in the settings struct */
    const char *const *choices; /* NULL-terminated, for CLI_CHOICE */
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *summary;     /* half a line, for the list of commands */
    const char *arguments;   /* "FILE..." or "" */
    const char *description; /* paragraphs separated by empty lines */
    const char *examples;    /* lines "$ command" and lines of explanation */
    const cli_option *options;
    size_t option_count;
    size_t minimum, maximum;               /* positional arguments */
    const char *(*complete)(size_t index); /* words for the first argument; NULL: files */
    int (*run)(const struct cli_command *self, int argc, char **argv);
} cli_command;

/* All commands, NULL-terminated (main.c). */
extern const cli_command *const cli_commands[];

/* Exit codes; `antler --help` and the man page explain them. */
enum { CLI_DONE = 0, CLI_NUMBERS = 1, CLI_USAGE = 2, CLI_MACHINE = 3, CLI_INTERRUPTED = 130 };

/*
 * Fill `settings` from the arguments after the command's name; positional arguments are moved to the
 * front of argv and counted in *positional.  False: end with *code, after an error or
 * after --help.
 */
bool cli_parse(const cli_command *command, int argc, char **argv, void *settings, size_t *positional,
               int *code);

/* Print "antler: message" to stderr and return CLI_USAGE. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int cli_usage_error(const char *format, ...);

/* The last sentence that these two printed; "" before. */
const char *cli_last_error(void);

/* Print antler_message() and return the exit code that belongs to the status. */
int cli_fail(antler_status status);

/* Print "antler: PATH: cannot be DONE: reason" by errno and return CLI_MACHINE. */
int cli_file_error(const char *path, const char *done);

/* Print that there is no memory for `purpose` and return CLI_MACHINE. */
int cli_no_memory(const char *purpose);

/* End the command here, with its document where it has --json. */
_Noreturn void cli_end(int code);

/* Whether a call was good that may fail.  Without memory the command ends here, with that message. */
bool cli_ok(antler_status status);

/* Zeros for count values of `size` bytes.  Without memory the command ends here, with that message. */
void *cli_memory(size_t count, size_t size, const char *purpose);

/* Open to read; NULL: it cannot be read.  Without memory the command ends here. */
FILE *cli_open(const char *path);

/* As cli_write_file, with what was written to a stream of open_memstream, which is closed. */
int cli_write_stream(const char *path, FILE *stream, char *const *text);

/* Replace a file by this text, whole or not at all.  Returns CLI_DONE to continue, or the exit code. */
int cli_write_file(const char *path, const char *text);

/* "; did you mean 'word'?" or "" in a static buffer. */
const char *cli_did_you_mean(const char *word, const char *const *candidates, size_t count);

/* Numbers in options: whole strings only, no trailing text.  False when it is not one. */
bool cli_read_real(const char *text, double *value);
bool cli_read_count(const char *text, size_t *value);

/* Write to stdout failed (closed pipe, full disk)?  Call last; returns the exit code. */
int cli_finish(int code);

void cli_help_overview(FILE *out);
void cli_help_command(const cli_command *command, FILE *out);
void cli_man_page(const cli_command *command, FILE *out); /* NULL: the overview page */

extern const cli_command cli_fit, cli_tune, cli_generate, cli_evaluate, cli_lyapunov;
extern const cli_command cli_simulate, cli_train, cli_sweep, cli_measure, cli_info, cli_convert, cli_bench,
    cli_completion, cli_man;

#endif
