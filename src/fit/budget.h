/* budget.h - a budget in minutes, divided into rungs of trials with numbers of runs and updates. */
#ifndef ANT_FIT_BUDGET_H
#define ANT_FIT_BUDGET_H

#include "fit/trial.h"

enum { ANT_FIT_RUNGS = 3 };

typedef struct ant_fit_rung {
    size_t trials, runs, updates; /* runs of each trial, updates of each run */
} ant_fit_rung;

typedef struct ant_fit_plan {
    ant_fit_rung rung[ANT_FIT_RUNGS];
} ant_fit_plan;

/*
 * seconds: (count) of one update of each candidate of the first rung with all of its runs side by side; later
 * rungs are planned with their mean.  parallel: runs that take no longer together than one.
 */
ant_fit_plan ant_fit_plan_make(double budget, const double *seconds, size_t count, size_t parallel);

/* One trial in the last rung, with the runs of the first one, and longer by what that saves. */
void ant_fit_plan_focus(ant_fit_plan *plan);

/* Seconds of one update of these settings with their runs side by side, rounded to a power of the root of 2.
 * budget: of the whole fit, in seconds. */
antler_status ant_fit_time(const antler_settings *settings, const antler_series *series, double budget,
                           double *seconds);

/* The plan as a table in the fit's folder: a fit that continues does what it began. */
antler_status ant_fit_plan_write(const ant_fit_plan *plan, const char *folder);
antler_status ant_fit_plan_read(ant_fit_plan *plan, const char *folder, bool *found);

#endif
