/*
 * progress.h - the progress of a long call, and its stop by Ctrl-C.
 *
 * On a terminal a bar with the time left is redrawn on stderr; elsewhere a plain line appears every ten
 * seconds.  Nothing is shown for work that takes less than a second.
 */
#ifndef ANT_CLI_PROGRESS_H
#define ANT_CLI_PROGRESS_H

#include <antler/antler.h>

typedef struct cli_progress {
    bool quiet;
    bool terminal;
    bool drawn;       /* a bar is on the current line */
    const char *what; /* the stage that is being timed */
    double begun;     /* when it began, in seconds */
    double last_line; /* when the last plain line was written */
} cli_progress;

/* Also installs the handlers of `cli_stop_install`. */
antler_progress cli_progress_begin(cli_progress *state, bool quiet);

/* The first SIGINT or SIGTERM sets a flag, the second ends the process at once.  SIGUSR1, by which clusters
   warn of the end, is counted: a training writes a checkpoint and goes on. */
void cli_stop_install(void);
bool cli_stop_requested(void);
int cli_saves_requested(void);

/* "47 s", "3 min 05 s", "2 h 10 min" */
void cli_duration(double seconds, char text[32]);

/* Seconds of a monotonic clock. */
double cli_now(void);

/* Clear the bar.  Call before printing anything else. */
void cli_progress_end(cli_progress *state);

#endif
