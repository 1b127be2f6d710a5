/* initialisation.h - `initialisation: auto`: initial values by sizes and data (spec 10). */
#ifndef ANT_TRAIN_INITIALISATION_H
#define ANT_TRAIN_INITIALISATION_H

#include "train/dataset.h"

/*
 * Set initialisation and kappa where they are to be chosen, so that config.yaml has what was taken.  reason:
 * of a choice by the data, otherwise "".  All runs of a training get the same.
 */
void ant_initialisation_resolve(antler_settings *settings, const ant_dataset *dataset, char *reason,
                                size_t bytes);

/*
 * Rows after which the autocorrelation of a variable has fallen below 1/e, the longest of all variables, from
 * the first trajectory; most + 1 when it has not after `most` rows.  Lags are tried in steps of a twentieth.
 */
size_t ant_memory_rows(const ant_dataset *dataset, antler_precision precision, size_t most);

#endif
