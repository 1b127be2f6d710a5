/*
 * forcing_rule.h - what settings and data say about forcing (spec 2, spec 10): its strength by schedule, and
 * the interval of sparse forcing; the rows of scheduled sampling (spec 15).
 */
#ifndef ANT_TRAIN_FORCING_RULE_H
#define ANT_TRAIN_FORCING_RULE_H

#include "train/dataset.h"

/* Whether forcing is sparse: every forcing_interval-th step alone. */
bool ant_forcing_is_sparse(const antler_settings *settings);

/* The strength of update number `update`, from 1, where it is not estimated. */
double ant_alpha_scheduled(const antler_settings *settings, size_t update);

/* Whether a lssm or mamba2 takes its own predictions in by scheduled sampling (spec 15). */
bool ant_settings_sample(const antler_settings *settings);

/* Draw the rows of update number `update`, from 1, of a run, in which it does.  drawn: (batch, T) */
void ant_sampling_draw(const antler_settings *settings, uint32_t run, uint32_t update, unsigned char *drawn);

/* Set forcing_interval where it is found from the data or from the Lyapunov exponent. */
antler_status ant_forcing_resolve(antler_settings *settings, const ant_dataset *dataset);

/* "; sparse forcing every 17 steps (autocorrelation)", or nothing. */
void ant_forcing_remark(const antler_settings *settings, char *text, size_t bytes);

/*
 * The first lag k >= 1 at which a function of the lag is not above its neighbours, 0 where there is none
 * below `limit`.  values: the rows of one variable in `count` trajectories, trajectory i from first[i] to
 * first[i + 1].
 */
size_t ant_lag_of_autocorrelation(const double *values, const size_t *first, size_t count, size_t limit);
size_t ant_lag_of_mutual_information(const double *values, const size_t *first, size_t count, size_t limit);

#endif
