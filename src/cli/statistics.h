/*
 * statistics.h - metrics of many runs: a table of them, and their statistics.
 *
 * A run that diverged has the value infinity: it counts in median and MAD, and is never dropped.  Mean and
 * standard error are over the other runs, whose number is runs - diverged.  NaN: not measured.
 */
#ifndef ANT_CLI_STATISTICS_H
#define ANT_CLI_STATISTICS_H

#include "cli/command.h"

typedef struct cli_statistics {
    size_t runs, diverged; /* runs counts those that were measured, diverged ones included */
    double median, mad, mean, sem;
} cli_statistics;

/* values: (count), `stride` apart. */
cli_statistics cli_statistics_of(const double *values, size_t count, size_t stride);

/* Metrics of some runs: row i has the name runs[i] and values (count, metrics). */
typedef struct cli_metrics {
    size_t metrics;
    const char *const *names; /* (metrics) */
    size_t count;
    char *const *runs;    /* (count) */
    const bool *diverged; /* (count) */
    const double *values; /* (count, metrics) */
} cli_metrics;

/* Write FOLDER/metrics.csv and FOLDER/statistics.csv.  Returns -1 to go on, or the exit code. */
int cli_metrics_write(const cli_metrics *metrics, const char *folder);

/* One line per run. */
void cli_metrics_print_runs(const cli_metrics *metrics);

/* One line per metric: median +- MAD, mean +- standard error, runs, diverged. */
void cli_metrics_print(const cli_metrics *metrics);

/* Replace a file by this text, whole or not at all.  Returns -1 to go on, or the exit code. */
int cli_write_file(const char *path, const char *text);

#endif
