/* metrics.h - metrics of many runs: a table of them, and their statistics (antler_statistics_of). */
#ifndef ANT_CLI_STATISTICS_H
#define ANT_CLI_STATISTICS_H

#include "cli/command.h"

/* Metrics of some runs; infinite where a run diverged, NaN where nothing was measured. */
typedef struct cli_metrics {
    size_t metrics;
    const char *const *names; /* (metrics) */
    size_t count;
    char *const *runs;                   /* (count) */
    const bool *diverged;                /* (count) */
    const double *values;                /* (count, metrics) */
    const antler_verdict_kind *verdicts; /* (count); NULL: none */
} cli_metrics;

/* Statistics of metric `index` over the runs. */
antler_statistics cli_metrics_statistics(const cli_metrics *metrics, size_t index);

/* Write FOLDER/metrics.csv and FOLDER/statistics.csv.  Returns CLI_DONE to continue, or the exit code. */
int cli_metrics_write(const cli_metrics *metrics, const char *folder);

/* One line per run. */
void cli_metrics_print_runs(const cli_metrics *metrics);

/* One line per metric: median +- MAD, mean +- standard error, runs, diverged. */
void cli_metrics_print(const cli_metrics *metrics);

#endif
