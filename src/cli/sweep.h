/* sweep.h - the tables of a sweep: one row per run, and statistics per combination of the grid. */
#ifndef ANT_CLI_SWEEP_H
#define ANT_CLI_SWEEP_H

#include "cli/evaluation.h"

/* From the last row of log.csv, then those of `antler evaluate`, which need test data: room for all. */
enum { CLI_SWEEP_TRAINING = 4, CLI_SWEEP_METRICS = CLI_SWEEP_TRAINING + ANTLER_MEASURE_MAX };

typedef struct cli_sweep_run {
    double of[CLI_SWEEP_METRICS]; /* infinite where the run diverged, NaN where nothing was measured */
    bool diverged;
} cli_sweep_run;

typedef struct cli_sweep_table {
    const antler_grid *grid;
    size_t runs;        /* of each combination */
    cli_sweep_run *of;  /* (combinations, runs) */
    const char *folder; /* of the experiment */
} cli_sweep_table;

/* The facts of a training from the folder of its run.  Returns CLI_DONE to continue, or the exit code. */
int cli_sweep_read_run(const char *folder, cli_sweep_run *run);

/* Write FOLDER/metrics.csv and FOLDER/statistics.csv.  Returns CLI_DONE to continue, or the exit code. */
int cli_sweep_write(const cli_sweep_table *sweep);

#endif
