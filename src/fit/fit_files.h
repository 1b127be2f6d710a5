/* fit_files.h - what a fit leaves in its folder: plan.csv, trials.csv, settings.yaml, model.npz.  The command
 * adds verdict.json. */
#ifndef ANT_FIT_FIT_FILES_H
#define ANT_FIT_FIT_FILES_H

#include "fit/budget.h"

/* trials.csv: a row for every run that was judged. */
antler_status ant_fit_table_write(const ant_trial *trials, size_t count, const char *folder);

/* settings.yaml, which trains the winner again, and model.npz, its model. */
antler_status ant_fit_winner_write(const ant_trial *winner, const char *folder);

#endif
