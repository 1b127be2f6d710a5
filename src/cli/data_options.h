/* data_options.h - options of every command with data files. */
#ifndef ANT_CLI_LOAD_H
#define ANT_CLI_LOAD_H

#include "cli/command.h"

typedef struct cli_load {
    bool transpose;
    const char *columns, *inputs, *header;
    double dt;
} cli_load;

extern const char *const cli_load_headers[];

/* Rows for an option table; `field` is the settings member of type cli_load. */
#define CLI_LOAD_OPTIONS(type, field)                                                                        \
    {"transpose",                                                                                            \
     CLI_FLAG,                                                                                               \
     NULL,                                                                                                   \
     "The file has variables in rows (N x T).",                                                              \
     offsetof(type, field) + offsetof(cli_load, transpose),                                                  \
     NULL},                                                                                                  \
        {"columns",                                                                                          \
         CLI_TEXT,                                                                                           \
         "LIST",                                                                                             \
         "Variables to take, by name or number: x,z or 1-3.",                                                \
         offsetof(type, field) + offsetof(cli_load, columns),                                                \
         NULL},                                                                                              \
        {"inputs",                                                                                           \
         CLI_TEXT,                                                                                           \
         "LIST",                                                                                             \
         "Columns that are known inputs, not variables.",                                                    \
         offsetof(type, field) + offsetof(cli_load, inputs),                                                 \
         NULL},                                                                                              \
        {"header",                                                                                           \
         CLI_CHOICE,                                                                                         \
         "auto|yes|no",                                                                                      \
         "Whether a text file begins with names. Default auto.",                                             \
         offsetof(type, field) + offsetof(cli_load, header),                                                 \
         cli_load_headers},                                                                                  \
    {                                                                                                        \
        "dt", CLI_REAL, "TIME", "Time between rows, where the file does not contain it.",                    \
            offsetof(type, field) + offsetof(cli_load, dt), NULL                                             \
    }

/* Where the command line names no columns or inputs, take those in the settings of a run, if it has any. */
int cli_load_from_run(const char *run, antler_settings *settings, cli_load *load);

/* The library's options for these settings. */
antler_load_opts cli_load_opts(const cli_load *load);

#endif
