/*
 * dataset.h - the training data, packed once in the precision of training, and the windows drawn from it.
 *
 * Trajectories are stored one after the other.  A window of T steps takes T + 1 rows of one trajectory; all
 * admissible starts of all trajectories are numbered through, so that one uniform number is one window
 * and none ever crosses from a trajectory into the next.
 */
#ifndef ANT_TRAIN_DATASET_H
#define ANT_TRAIN_DATASET_H

#include "base/hash.h"
#include "base/lacks.h"
#include "base/status.h"

typedef struct ant_dataset {
    size_t N, K;
    size_t T;             /* steps of a window */
    size_t count;         /* trajectories that are long enough for a window */
    size_t *row;          /* (count): first packed row of each */
    uint64_t *start;      /* (count + 1): number of its first admissible start; the last entry is their sum */
    size_t rows;          /* packed */
    void *x;              /* (rows, N), float or double */
    void *s;              /* (rows, K); NULL when K = 0 */
    bool scaled;          /* user units = packed value * scale + mean */
    double *mean, *scale; /* (N) */
    double dt;
    char **names;         /* (N + K) */
    uint64_t fingerprint; /* of x and s, as checkpoints of older builds have it */
    ant_lacks lacks;      /* missing values and their patterns; empty until ant_dataset_find_gaps */
    size_t *eligible;     /* (eligible_count): rows at which windows may begin; NULL: all of `start` */
    size_t eligible_count;
    char hash[ANT_HASH_TEXT]; /* of values, trajectories, names, dt and scaling: a run resumes on these alone
                               */
} ant_dataset;

/*
 * Pack `series` for windows of `steps`; standardise: bring each variable to mean 0 and sd 1 on the way.
 * Trajectories that are too short are left out, but count for mean and sd.
 */
antler_status ant_dataset_create(const antler_series *series, size_t steps, bool standardise,
                                 antler_precision precision, ant_dataset **dataset);
void ant_dataset_free(ant_dataset *dataset);

/*
 * Count missing values and their patterns and, where there are any, list the rows at which a window may
 * begin: the first row has a value, and so has a row after the warm-up (spec 12).  ANTLER_ERROR_DATA when
 * there is none.
 */
antler_status ant_dataset_find_gaps(ant_dataset *dataset, antler_precision precision, size_t warmup);

/* The numbering of windows: fields of a dataset, which owns the arrays. */
typedef struct ant_windows {
    size_t count;
    const size_t *row;
    const uint64_t *start;
    const size_t *eligible; /* NULL: all starts */
    size_t eligible_count;
} ant_windows;

ant_windows ant_dataset_windows(const ant_dataset *dataset);

/* First packed row of window `number`, 0 .. start[count]-1. */
size_t ant_windows_row(const ant_windows *windows, uint64_t number);

/* Draw the first rows of the windows of one update.  rows: (batch). */
void ant_windows_draw(const ant_windows *windows, uint64_t seed, uint32_t run, uint32_t update, size_t batch,
                      size_t *rows);

/* Read one trajectory into the pack, scaled.  Defined in dataset_tmpl.c. */
antler_status ant_dataset_pack_f32(ant_dataset *dataset, const antler_series *series, size_t trajectory,
                                   size_t row, const double *shift, const double *divisor);
antler_status ant_dataset_pack_f64(ant_dataset *dataset, const antler_series *series, size_t trajectory,
                                   size_t row, const double *shift, const double *divisor);

#endif
