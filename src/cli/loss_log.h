/* loss_log.h - the loss of a training from the log.csv of a run folder. */
#ifndef ANT_CLI_LOSS_LOG_H
#define ANT_CLI_LOSS_LOG_H

#include "cli/command.h"

typedef struct cli_loss_log {
    antler_loss_curve curve;
    double *numbers; /* (3, rows), owned: what the curve points to */
} cli_loss_log;

/*
 * The curve is empty when the run is no folder, or has no log with the columns update, loss and lr.  Returns
 * CLI_DONE to continue, or the exit code.
 */
int cli_loss_log_read(const char *run, cli_loss_log *log);
void cli_loss_log_free(cli_loss_log *log);

#endif
