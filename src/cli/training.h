/* training.h - reports of a training on the terminal, for `train` and `sweep`. */
#ifndef ANT_CLI_TRAINING_H
#define ANT_CLI_TRAINING_H

#include "cli/command.h"

typedef struct cli_training {
    bool quiet, terminal;
    bool shared;       /* runs are claimed: say which */
    bool drawn;        /* a line is on the terminal */
    bool solver_shown; /* the solver is the same for all runs: shown once */
    size_t runs;       /* to do in this call */
    size_t begun, ended;
    double begun_at, last_line;
    double done;    /* updates done in this call, over all runs */
    double left;    /* updates left, over all runs that have begun */
    size_t updates; /* of each run */
    size_t *at;     /* (runs_max): last update seen of each run, by number; grown as needed */
    size_t at_count;
    const char *label;    /* before every line; "" for none */
    size_t validated_run; /* whose validation was the last; 0: none yet */
    char validated[96];   /* ", held back: D_stsp 0.12, D_H 0.08, PE 0.003" */
} cli_training;

void cli_training_begin(cli_training *state, bool quiet, const char *label);
antler_train_events cli_training_events(cli_training *state);
void cli_training_end(cli_training *state);

/* Print the counts, the resume line when stopped, or the fault; returns the exit code. */
int cli_training_conclude(const cli_training *state, antler_status status, const antler_train_result *result);

#endif
