/*
 * ranks.h - a command that several ranks share: who speaks, how it ends, and what is said when a rank dies.
 *
 * Launchers kill all ranks when one dies, so none of them can say how to continue.  A witness can: a small
 * process beside rank 0 that waits until rank 0 has ended and, where that was not in order, prints one
 * sentence and the command that continues.
 */
#ifndef ANT_CLI_RANKS_H
#define ANT_CLI_RANKS_H

#include "cli/command.h"

/* First of all: below a launcher only the first process of each machine speaks until the ranks are known. */
void cli_ranks_open(void);

/* Join the ranks of a launcher, if there is one.  folder: of --resume.  Returns CLI_DONE, or the exit code.
 */
int cli_ranks_join(const char *folder);

/* The training has a folder to continue from. */
void cli_ranks_begun(void);

/* After the training: leave the others.  False on ranks that have nothing to say.  A rank that has failed
   alone says why and ends all. */
bool cli_ranks_leave(antler_status status);

/* Last of all: the exit code of this process.  Rank 0 has that of the command, and ends last where it failed.
 */
int cli_ranks_end(int code);

#endif
