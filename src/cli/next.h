/* next.h - the commands that follow a training, printed as lines that a shell takes as they are. */
#ifndef ANT_CLI_NEXT_H
#define ANT_CLI_NEXT_H

#include "cli/command.h"

typedef struct cli_next {
    const char *evaluate; /* a run, a model or a folder of runs to judge on its held-back rows; NULL: none */
    const char *report;   /* a run or a folder of runs to draw; NULL: none */
    const char *generate; /* a run or a model to run free */
    const char *out;      /* folder for the free run */
} cli_next;

/* `settings`: of the training; its data, and whether it held rows back. */
void cli_next_print(const cli_next *next, const antler_settings *settings);

/*
 * For the runs of <folder>/001, ...: `run` is the one that generates, 0 for the first that has a model.  Does
 * nothing where none has.
 */
void cli_next_of_runs(const char *folder, size_t run, size_t runs);

#endif
