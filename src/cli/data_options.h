/* data_options.h - options of every command with data files. */
#ifndef ANT_CLI_LOAD_H
#define ANT_CLI_LOAD_H

#include "cli/command.h"

typedef struct cli_load {
    bool transpose;
    const char *columns, *inputs, *header;
    double dt;
    size_t max_bytes;
    cli_list missing;
    const char *missing_values, *time, *resample, *resample_method, *subject, *key;
} cli_load;

extern const char *const cli_load_headers[], *const cli_load_resamplings[];

/*
 * Rows for an option table; `field` is the settings member of type cli_load.  All but --header are settings
 * of a training, too.
 */
#define CLI_TABLE_OPTIONS(type, field)                                                                       \
    {"transpose",                                                                                            \
     CLI_FLAG,                                                                                               \
     NULL,                                                                                                   \
     "The file has variables in rows (N x T).",                                                              \
     offsetof(type, field) + offsetof(cli_load, transpose),                                                  \
     NULL},                                                                                                  \
        {"columns",                                                                                          \
         CLI_TEXT,                                                                                           \
         "LIST",                                                                                             \
         "Variables to take, by name or number: x,z or 1-3; or those to leave out: -status,-7.",             \
         offsetof(type, field) + offsetof(cli_load, columns),                                                \
         NULL},                                                                                              \
        {"inputs",                                                                                           \
         CLI_TEXT,                                                                                           \
         "LIST",                                                                                             \
         "Columns that are known inputs, not variables.",                                                    \
         offsetof(type, field) + offsetof(cli_load, inputs),                                                 \
         NULL},                                                                                              \
        {"max-bytes",                                                                                        \
         CLI_COUNT,                                                                                          \
         "N",                                                                                                \
         "What archives and pipes may take in memory beyond their size, in bytes. Default 8e9.",             \
         offsetof(type, field) + offsetof(cli_load, max_bytes),                                              \
         NULL},                                                                                              \
        {"missing",                                                                                          \
         CLI_TEXTS,                                                                                          \
         "VALUE",                                                                                            \
         "A number or word that stands for a missing value, such as -9999; may be repeated.",                \
         offsetof(type, field) + offsetof(cli_load, missing),                                                \
         NULL},                                                                                              \
        {"time",                                                                                             \
         CLI_TEXT,                                                                                           \
         "NAME|none",                                                                                        \
         "Column with the times of the rows, or none. Default: recognised.",                                 \
         offsetof(type, field) + offsetof(cli_load, time),                                                   \
         NULL},                                                                                              \
        {"resample",                                                                                         \
         CLI_TEXT,                                                                                           \
         "DT",                                                                                               \
         "Interpolate to even times this far apart: 0.5 or 10min.",                                          \
         offsetof(type, field) + offsetof(cli_load, resample),                                               \
         NULL},                                                                                              \
        {"resample-method",                                                                                  \
         CLI_CHOICE,                                                                                         \
         "linear|cubic",                                                                                     \
         "How to interpolate. Default linear.",                                                              \
         offsetof(type, field) + offsetof(cli_load, resample_method),                                        \
         cli_load_resamplings},                                                                              \
        {"subject",                                                                                          \
         CLI_TEXT,                                                                                           \
         "NAME",                                                                                             \
         "Column that tells trajectories apart.",                                                            \
         offsetof(type, field) + offsetof(cli_load, subject),                                                \
         NULL},                                                                                              \
        {"key",                                                                                              \
         CLI_TEXT,                                                                                           \
         "NAMES",                                                                                            \
         "Arrays of an .npz to take: train, or a,b, or run_*.",                                              \
         offsetof(type, field) + offsetof(cli_load, key),                                                    \
         NULL},                                                                                              \
    {                                                                                                        \
        "dt", CLI_REAL, "TIME", "Time between rows, where the file does not contain it.",                    \
            offsetof(type, field) + offsetof(cli_load, dt), NULL                                             \
    }

#define CLI_LOAD_OPTIONS(type, field)                                                                        \
    {"header",                                                                                               \
     CLI_CHOICE,                                                                                             \
     "auto|yes|no",                                                                                          \
     "Whether a text file begins with names. Default auto.",                                                 \
     offsetof(type, field) + offsetof(cli_load, header),                                                     \
     cli_load_headers},                                                                                      \
        CLI_TABLE_OPTIONS(type, field)

/*
 * The settings of the training of a run folder, of a model or checkpoint in one, or of the model of a fit.
 * *found is false where there are none.  Returns CLI_DONE, or the exit code after a message.
 */
int cli_settings_of_run(const char *run, antler_settings *settings, bool *found);

/*
 * What the command line does not say about columns, time, missing values and subjects is taken from that
 * training, if there is one.  `load` then points into `settings`.
 */
int cli_load_from_run(const char *run, antler_settings *settings, cli_load *load);

/*
 * Settings of a training on these files without a settings file: the defaults, `data`, and the experiment
 * named after the first file.  Returns CLI_DONE, or the exit code after a message.
 */
int cli_settings_of_files(char *const *files, size_t count, antler_settings *settings);

/* What the command line says about the table takes the place of what the settings of a training have. */
antler_status cli_load_to_settings(const cli_load *load, antler_settings *settings);

/* The library's options for these settings.  They share a text: one set of settings at a time. */
antler_load_opts cli_load_opts(const cli_load *load);

/* "-9999,-999" of repeated --missing; NULL without any. */
const char *cli_load_missing(const cli_list *missing);

/* Print what loading decided or found to stderr. */
void cli_load_notes(const antler_series *series);

/* Beside a verdict that is not good: the notes on what may be a fault of the data, once more. */
void cli_load_suspicions(const antler_series *series);

/* Whether the command line says anything about the table. */
bool cli_load_given(const cli_load *load);

#endif
