/*
 * held_back.h - rows that training does not see, and the validations of runs on them (spec 14).
 *
 * A validation only observes: it neither draws random numbers of the training nor changes its state.
 */
#ifndef ANT_TRAIN_HELD_BACK_H
#define ANT_TRAIN_HELD_BACK_H

#include "base/hash.h"
#include "measure/validation.h"
#include "train/run.h"

/* What a training keeps of its held-back rows. */
typedef struct ant_held_back {
    antler_series *series; /* a copy in double of the rows that are measured */
    ant_validation_opts opts;
    ant_validation_measures floor;
    char hash[ANT_HASH_TEXT]; /* of the rows: a run resumes on these alone */
} ant_held_back;

/* The data of a training, divided.  The sets share the values of the series that they come from. */
typedef struct ant_division {
    const antler_series *training; /* all rows that training may use */
    const antler_series *held_back;
    antler_series *owned[4];
    size_t missing, values; /* of the rows for training, before they were treated; values of the variables */
    size_t filled;          /* by interpolation */
    bool gaps;              /* missing values are allowed */
} ant_division;

/*
 * Divide by `validation`, or load `validation_data`.  Without either: all rows are for training.  Then treat
 * missing values of both parts by `missing`.
 */
antler_status ant_division_create(const antler_settings *settings, const antler_series *series,
                                  ant_division *division);
void ant_division_free(ant_division *division);

/* Copy what is measured, and find the floor.  The model gives the units. */
antler_status ant_held_back_create(const ant_division *division, size_t warmup, const antler_model *model,
                                   ant_held_back **held_back);
void ant_held_back_free(ant_held_back *held_back);

/*
 * Updates between two validations when the settings leave it open: at most 15 validations in a training, and
 * so few that they take a small part of its time; a multiple of log_interval where that is possible.
 * `engine`: the training is on a device, where a step takes less time beside a validation on the CPU.
 */
size_t ant_validation_interval(const antler_settings *settings, const ant_held_back *held_back, bool engine);

/* Keep a validation of the present model of a run: for the next row of the log, and as the best. */
void ant_run_keep_validation(ant_run *run, size_t total, const ant_validation_measures *measures,
                             double score);

#endif
